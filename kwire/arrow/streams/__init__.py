"""Streams of captures: files that arrive and grow, and state from batch to batch."""
