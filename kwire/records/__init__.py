"""Record batches of magic 2, and the message sets of magic 0 and 1: bytes to batches to records, and back.

Knows compression and checksums; knows nothing of what keys and values mean (`kwire.embedded` does, for Kafka's own
logs and control records), nothing of topics, frames and files.
"""
