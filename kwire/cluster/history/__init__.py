"""The history of a cluster: timelines of partitions and brokers, offline replicas, the rows of its tables."""
