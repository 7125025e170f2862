"""Log segments, metadata logs and snapshots: bytes of a broker's disk become batches and records with their meaning.

Sans-IO. `log` finds batches, also behind damage; `recognition` finds out which topic a log belongs to; `spans` maps
bytes to fields; `disk_files` reads what lies beside segments, and `checks` compares them with it. Opens no files.
"""

from .disk_files import DiskEntry
from .log import Log, LogBatch, LogBytes, LogRecord
from .recognition import INTERNAL, looks_like_log, topic_of_folder

__all__ = ["INTERNAL", "DiskEntry", "Log", "LogBatch", "LogBytes", "LogRecord", "looks_like_log", "topic_of_folder"]
