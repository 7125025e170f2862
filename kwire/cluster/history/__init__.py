"""The past of a cluster: timelines of partitions and brokers, and the tables that are made of them."""
