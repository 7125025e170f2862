"""Groups: classic groups, consumer groups (KIP-848), share groups (KIP-932), and their coordinators."""
