"""Apis of the cluster: versions, metadata, features and quorum."""
