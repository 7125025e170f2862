"""Byte ranges of captures, and the states of connections where they start."""
