"""The history of a cluster: timelines of partitions and brokers, and the tables derived from them."""
