"""Counts, latencies and unanswered requests as tables and as JSON."""
