"""Apis of records and offsets in logs: Produce, Fetch, ListOffsets and others."""
