"""Frames: a size, then a request or a response. Streams are split into them here."""
