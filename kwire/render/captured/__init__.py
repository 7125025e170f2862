"""Lines of a capture, written from captured bytes without objects of messages."""
