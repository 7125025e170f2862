"""Share groups: members, partitions with the state of each record, sessions, dead letters."""
