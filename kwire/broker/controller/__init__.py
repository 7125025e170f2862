"""The controller of a served cluster: topics, partitions, replicas, and the journal of its metadata."""
