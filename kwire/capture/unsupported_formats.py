"""Names the formats of dumps that are not read, and the command that converts them."""

from __future__ import annotations

from ..errors import DumpError
from ..protocol import LEAST, LIMIT
from ..protocol.frames.frame_size import get_int32

# name -> how it begins
UNSUPPORTED: dict[str, tuple[bytes, ...]] = {
    "a Sun snoop capture": (b"snoo",),
    "a Network Monitor capture": (b"RTSS", b"GMBU"),
    "a Sniffer capture": (b"TRSN", b"XCP\0"),
    "an Observer capture": (b"Obse",),
    "a btsnoop capture": (b"btsn",),
    "an AIX iptrace capture": (b"iptr",),
    "an HP-UX nettl trace": (b"TR\0d",),
    "a 5View capture": (b"\xaa\xaa\xaa\xaa",),
    "a LANalyzer capture": (b"\x01\x10L\0\x01\x05",),
    "a Visual Networks capture": (b"\x05VNF\x0a",),
    "pcap as a modified libpcap wrote it": (b"\x34\xcd\xb2\xa1", b"\xa1\xb2\xcd\x34"),
    "a K12 text capture": (b"+---------+",),
}
# name -> (first bytes, the command that unpacks it); these may contain several files
ARCHIVES = {
    "a zip archive": (b"PK\x03\x04", "unzip -p FILE | kwire decode -"),
    "a 7-Zip archive": (b"7z\xbc\xaf\x27\x1c", "7z x -so FILE | kwire decode -"),
    "a RAR archive": (b"Rar!\x1a\x07", "unrar p -inul FILE | kwire decode -"),
}
_TAR_MAGIC, _TAR_AT = b"ustar", 257
CONVERT = "pcap and pcapng are read: editcap -F pcapng FILE NEW.pcapng"
SHOWN = 8  # first bytes that are named


def refuse_foreign(head: bytes, file: str) -> None:
    """Raise DumpError if these are the first bytes of a capture in an unsupported format."""
    for name, magics in UNSUPPORTED.items():
        if head.startswith(magics):
            raise DumpError(f"this is {name}, which is not read", file=file, hint=CONVERT)
    for name, (magic, remedy) in ARCHIVES.items():
        if head.startswith(magic):
            raise DumpError(f"this is {name}", file=file, hint=f"unpack it: {remedy}")
    if head[_TAR_AT:].startswith(_TAR_MAGIC):
        raise DumpError("this is a tar archive", file=file, hint="unpack it: tar -xOf FILE | kwire decode -")


def refuse_unknown(head: bytes, file: str) -> None:
    """Raise DumpError if these bytes cannot be the start of raw frames: the format is unknown."""
    size = get_int32(head, 0)
    if len(head) >= 4 and not LEAST <= size <= LIMIT:
        shown = f"{head[:SHOWN].hex(' ')}{' ..' if len(head) > SHOWN else ''}"
        problem = f"not a capture, log, hex dump or Kafka frame (first bytes {shown})"
        raise DumpError(problem, file=file, hint="kwire help input lists what is read")
