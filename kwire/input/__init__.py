"""Files become frames: `format_detection` opens a dump and chooses the reader of its format.

`files` opens local, remote and growing files, `compressed_files` decompresses; `packet_text_and_tls_keys` and
`request_log` read two kinds of text.
`kwire.capture` reads captures, `kwire.logs` logs, `kwire.hex_text` hex text.
"""

from .format_detection import (
    CAPTURES,
    UNSUPPORTED,
    Dump,
    open_dump,
    open_hex,
    open_unpacked,
    packets_of,
    raw_frames,
    read_disk,
    read_dump,
    read_log,
    read_text,
    read_znodes,
    refuse_foreign,
    znode_text,
)

__all__ = [
    "CAPTURES",
    "UNSUPPORTED",
    "Dump",
    "open_dump",
    "open_hex",
    "open_unpacked",
    "packets_of",
    "raw_frames",
    "read_disk",
    "read_dump",
    "read_log",
    "read_text",
    "read_znodes",
    "refuse_foreign",
    "znode_text",
]
