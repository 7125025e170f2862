"""Clusters, consumer groups and placements of replicas, as text and as JSON."""
