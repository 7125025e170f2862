"""Counts of frames: by client and api, latencies, unanswered requests, use of unsupported versions."""
