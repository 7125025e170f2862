"""Captures by byte ranges, for many tasks: packets by connection, then frames."""
