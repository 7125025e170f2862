"""What happened in a cluster and at its clients, as events in order of time."""
