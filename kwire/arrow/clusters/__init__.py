"""The tables of `kwire.cluster` in Arrow: histories of clusters, consumer groups."""
