"""Connections: the direction of each frame, and the request of each response."""
