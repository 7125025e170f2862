"""Apis of groups: members, heartbeats and committed offsets."""
