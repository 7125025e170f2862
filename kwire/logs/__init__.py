"""Decodes log segments, metadata logs, snapshots and the other files of a broker's disk.

Sans-IO: no files are opened. `segment_reader` finds batches, even after damaged bytes, and identifies the topic of a
log; `spans` maps bytes to fields; `disk_files` reads indexes, snapshots and checkpoints, and `checks` compares them
with the segments.
"""

from .disk_files import DiskEntry
from .segment_reader import INTERNAL, Log, LogBatch, LogBytes, LogRecord, looks_like_log, topic_of_folder

__all__ = ["INTERNAL", "DiskEntry", "Log", "LogBatch", "LogBytes", "LogRecord", "looks_like_log", "topic_of_folder"]
