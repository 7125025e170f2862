"""The coordinator of share groups: stored states of their partitions, locks, sessions, dead letters."""
