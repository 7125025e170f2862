"""The single-file program: how it is built, and how it begins."""
