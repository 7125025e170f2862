"""The controller of the ZooKeeper era: what it knows, its state machines, topics, reassignments and failures."""
