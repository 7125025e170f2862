"""Log segments, metadata logs and snapshots: bytes on a broker's disk become batches and records with their meaning.

Sans-IO: `cutting` finds batches, also behind damage; `topics` tells whose log it is; `entries` are the values; `spans`
says which byte is which field. Knows no files.
"""

from .log import Log, LogBatch, LogBytes, LogRecord
from .recognition import INTERNAL, looks_like_log, topic_of_folder

__all__ = ["INTERNAL", "Log", "LogBatch", "LogBytes", "LogRecord", "looks_like_log", "topic_of_folder"]
