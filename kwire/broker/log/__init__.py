"""The logs of replicas: batches, producers, compaction, and the disks that store them."""
