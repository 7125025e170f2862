"""Hex text becomes bytes, in the dialect of the tool that wrote it; golden fixtures are one form."""
