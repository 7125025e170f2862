"""Apis of topics, partitions and replicas."""
