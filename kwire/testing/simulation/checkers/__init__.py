"""Checkers of a simulated history: what Kafka promises about records and groups."""
