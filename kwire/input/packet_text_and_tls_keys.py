"""Converts packets and TCP streams printed as text by tshark, Wireshark or tcpdump to Kafka frames.

For a few pasted packets, not for captures: packets are read in the order of the text, and their link layer is detected.
Followed streams are those of tshark and Wireshark: `-z follow,tcp,hex,N`, `raw` and `yaml`. `-z follow,tls,yaml,N` has
the bytes that tshark decrypted; it names only the endpoint that sent first, or neither.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..caches import lazy_pattern
from ..capture.link_layers import SYN, Segment, segment_of
from ..capture.pcap import Packet
from ..capture.tcp_reassembly import MASK
from ..errors import BadFrame, DumpError
from ..hex_text import HexText
from ..protocol import Frame, FrameDecoder, FrameReader, Request, Source, cut_short

# link layer -> (its type in captures, the offset of IP in it)
LINKS = {
    "raw IP": (101, 0),
    "Ethernet": (1, 14),
    "Ethernet with a VLAN tag": (1, 18),
    "Linux cooked": (113, 16),
    "Linux cooked v2": (276, 20),
    "loopback": (0, 4),
}


_JSON = lazy_pattern(r'\s*(?:\[\s*\{\s*"_index": *"packets-|\{"index": *\{"_index": *"packets-)')
_PDML = lazy_pattern(r"\s*<\?xml[^>]*>\s*(?:<[?!][^>]*>\s*)*<pdml")
_FRAME = lazy_pattern(r'"frame_raw": *(?:\[\s*)?"([0-9a-f]*)"')
_HEADING = r"={20,}\nFollow: (?:tcp|tls),(hex|raw)\nFilter: .*\nNode 0: (\S*):(\d+)\nNode 1: (\S*):(\d+)\n"
_PEERS = (
    r"peers:\n  - peer: 0\n    host: (\S*)\n    port: (\d+)\n  - peer: 1\n    host: (\S*)\n    port: (\d+)\npackets:\n"
)
_BEGIN = lazy_pattern(rf"^(?:{_HEADING}|{_PEERS})", re.MULTILINE)
_BEFORE = lazy_pattern(r"(?:\s|#.*\n)*")
_PACKET = lazy_pattern(
    r"  - packet: \d+\n    peer: ([01])\n(?:    index: \d+\n)?    timestamp: (\d+\.\d+)\n"
    r"    data: !!binary \|\n((?:      \S+\n?)*)"
)
_ROW = lazy_pattern(r"\t?[0-9A-Fa-f]{8}  ([0-9A-Fa-f ]{2,48})")  # two groups of eight bytes


def tshark_wrote(head: str) -> bool:
    """Whether a text begins like the output of `tshark -T json`, `jsonraw`, `ek` or `pdml`."""
    return _JSON.match(head) is not None or _PDML.match(head) is not None


def packets_of_tshark(text: str, file: str) -> HexText:
    """Read the packets of `tshark -T json -x`, `-T jsonraw` or `-T ek -x`.

    Args:
        text: the whole text.
        file: its name, for errors.

    Raises:
        DumpError: tshark wrote fields, but not the bytes of packets.

    >>> packets_of_tshark('[{"_index": "packets-2026", "_source": {"layers": {"frame_raw": ["00ff", 0]}}}]', "x").pieces
    (b'\\x00\\xff',)
    """
    packets = tuple(bytes.fromhex(digits) for digits in _FRAME.findall(text) if len(digits) % 2 == 0)
    if not packets:
        hint = "read the capture itself, or what tshark -T json -x writes"
        raise DumpError("this is what tshark wrote, without the bytes of packets", file=file, hint=hint)
    return HexText(packets, "JSON of tshark", packets=True)


def tcp_segment(packet: bytes) -> tuple[str, Segment] | None:
    """Find the TCP segment in a packet with any link layer.

    Args:
        packet: the bytes from the link layer or the IP header on.

    Returns:
        The link layer, and the segment; None without an IPv4 or IPv6 packet with complete TCP headers.
    """
    for name, (link, start) in LINKS.items():
        length = _ip_length(packet[start:])
        segment = segment_of(Packet(None, link, packet, start + length)) if length else ""
        if isinstance(segment, Segment):
            return name, segment
    return None


def _ip_length(data: bytes) -> int:
    """Return the length of an IP packet: the length of `data` if the network card sets the field later; 0 for other
    bytes.
    """
    version, header = (data[0] >> 4, (data[0] & 15) * 4) if len(data) >= 20 else (0, 0)
    if version == 4 and _checksum(data[:header]) in (0, 0xFFFF):
        return _int16(data, 2) or len(data)
    return 40 + (_int16(data, 4) or len(data) - 40) if version == 6 else 0


def _int16(data: bytes, start: int) -> int:
    return int.from_bytes(data[start : start + 2], "big")


def _checksum(header: bytes) -> int:
    """Return the checksum of a header; 0xffff is correct, 0 is left by checksum offloading."""
    if header[10:12] == b"\0\0":
        return 0
    total = sum(_int16(header, at) for at in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


class PacketReader:
    """Reassembles the TCP payload of packets per direction, and splits it into frames.

    Args:
        file: the name of the text, for the frames' sources.

    Attributes:
        others: the number of packets without TCP.
        gaps: the number of bytes missing between packets, as far as known.
    """

    def __init__(self, file: str = "") -> None:
        self.file = file
        self.others: int = 0
        self.gaps: int = 0
        self._count = 0
        self._flows: dict[tuple[str, str], _Flow] = {}
        self._ends: dict[tuple[str, str], tuple[str, str]] = {}

    def feed(self, packet: bytes) -> Iterator[Frame]:
        """Add a packet; yield the frames that end in it."""
        found = tcp_segment(packet)
        if found is None:
            self.others += 1
            return
        _, segment = found
        ends = segment.source, segment.target
        flow = self._flows.setdefault(ends, _Flow())
        if segment.payload:
            gap, data = flow.next(segment)
            if gap:
                self.gaps += gap
                yield from self._rest(ends, flow)
            yield from self._frames(ends, flow, data)

    def finish(self) -> Iterator[Frame]:
        """Yield the bytes outside of complete frames, of each direction."""
        for ends, flow in self._flows.items():
            yield from self._rest(ends, flow)

    def _frames(self, ends: tuple[str, str], flow: _Flow, data: bytes) -> Iterator[Frame]:
        try:
            for frame in flow.reader.feed(data):
                yield self._placed(ends, frame.data, frame.source.offset)
        except BadFrame:
            yield from self._rest(ends, flow)

    def _rest(self, ends: tuple[str, str], flow: _Flow) -> Iterator[Frame]:
        if flow.reader.rest:
            yield self._placed(ends, flow.reader.rest, flow.reader.offset)
        flow.reader = FrameReader()

    def _placed(self, ends: tuple[str, str], data: bytes, offset: int | None) -> Frame:
        """Return a frame with client and broker: the broker is the endpoint to which a request goes."""
        source, target = ends
        if ends not in self._ends:
            asks = isinstance(FrameDecoder().decode(Frame(data)), Request)
            client, broker = (source, target) if asks else (target, source)
            self._ends[source, target] = self._ends[target, source] = client, broker
        self._count += 1
        client, broker = self._ends[ends]
        direction = "request" if source == client else "response"
        return Frame(data, Source(self.file, self._count - 1, offset, None, client, broker, direction=direction))


class _Flow:
    """One direction of a connection."""

    def __init__(self) -> None:
        self.reader = FrameReader()
        self.expected: int | None = None

    def next(self, segment: Segment) -> tuple[int, bytes]:
        """Return the number of bytes missing before a segment, and the new bytes in it."""
        start = segment.sequence + bool(segment.flags & SYN)  # a SYN counts as a byte
        ahead = 0 if self.expected is None else (start - self.expected) & MASK
        again = 0x100000000 - ahead if ahead >> 31 else 0
        data = segment.payload[again:]
        if data:
            self.expected = (start + len(segment.payload)) & MASK
        return (0 if again else ahead), data


@dataclass(frozen=True, slots=True)
class FollowedStream:
    """A followed stream: its two endpoints as ip:port, and the portions in order.

    Attributes:
        form: hex, raw or yaml.
        nodes: the two endpoints, beginning with the one that sent first; None for one that the text does not name.
        portions: the sender of each, its bytes, and its time in seconds since 1970, if the form has times.
    """

    form: str
    nodes: tuple[str | None, str | None]
    portions: tuple[tuple[int, bytes, float | None], ...]

    def frames(self, file: str, numbers: int = 0, connection: int = 0) -> Iterator[Frame]:
        """Yield the frames of both directions in the order of their last bytes, then the incomplete rest of each
        direction.

        Args:
            file: its name.
            numbers: the number of frames before these.
            connection: the number of the stream.
        """
        readers, whole = (FrameReader(), FrameReader()), [True, True]
        for node, data, time in self.portions:
            reader = readers[node].feed(data)
            try:
                for frame in reader if whole[node] else ():
                    yield replace(frame, source=self._source(file, numbers, frame.source.offset, time, connection))
                    numbers += 1
            except BadFrame:
                whole[node] = False
        for node, reader in enumerate(readers):
            if reader.rest:
                fault = cut_short(reader.rest, "the stream ended") if whole[node] else None
                yield Frame(reader.rest, self._source(file, numbers, reader.offset, None, connection), fault=fault)
                numbers += 1

    def _source(self, file: str, number: int, offset: int | None, time: float | None, connection: int) -> Source:
        return Source(file, number, offset, time, *self.nodes, connection)


def followed_streams(text: str, file: str = "") -> list[FollowedStream]:
    """Read one or more followed streams in sequence.

    Args:
        text: the whole text.
        file: its name, for errors.

    Returns:
        The streams; an empty list if the text has another format.

    Raises:
        DumpError: a line does not match the form; the error has its number.

    >>> text = "=" * 67 + "\\nFollow: tcp,raw\\nFilter: tcp.stream eq 0\\n"
    >>> text += "Node 0: 10.0.0.1:5000\\nNode 1: 10.0.0.2:9092\\n00000004\\n\\t00000007\\n"
    >>> [(node, data.hex()) for node, data, _ in followed_streams(text)[0].portions]
    [(0, '00000004'), (1, '00000007')]
    """
    text = text.replace("\r\n", "\n")
    if (start := _BEFORE.match(text)) is None or _BEGIN.match(text, start.end()) is None:
        return []
    begins = list(_BEGIN.finditer(text))
    ends = [begin.start() for begin in begins[1:]] + [len(text)]
    return [_stream(text, begin, end, file) for begin, end in zip(begins, ends, strict=True)]


def _stream(text: str, heading: re.Match[str], end: int, file: str) -> FollowedStream:
    form = heading[1] or "yaml"
    found: tuple[tuple[int, bytes, float | None], ...]
    if form == "yaml":
        found = tuple(_yaml(text, heading.end(), end, file))
    else:
        rows = enumerate(text[heading.end() : end].splitlines(), text.count("\n", 0, heading.end()) + 1)
        read = _hex if form == "hex" else _raw
        found = tuple(read(line, number, file) for number, line in rows if line.strip("= \n"))
    ends = heading.groups()[1:5] if heading[1] else heading.groups()[5:]
    nodes = tuple(f"{host}:{port}" if host else None for host, port in (ends[:2], ends[2:]))
    if found and found[0][0]:  # in a TLS stream, the first node may be the one that responds
        found = tuple((1 - node, data, time) for node, data, time in found)
        nodes = nodes[::-1]
    return FollowedStream(form, (nodes[0], nodes[1]), found)


def frames_of(streams: list[FollowedStream], file: str) -> Iterator[Frame]:
    """Yield the frames of streams, stream by stream."""
    number = 0
    for connection, stream in enumerate(streams):
        for frame in stream.frames(file, number, connection):
            yield frame
            number += 1


def _raw(line: str, number: int, file: str) -> tuple[int, bytes, None]:
    try:
        return int(line.startswith("\t")), bytes.fromhex(line), None
    except ValueError:
        raise DumpError("this line is not hex of a followed stream", file=file, line=number) from None


def _hex(line: str, number: int, file: str) -> tuple[int, bytes, None]:
    is_second = line.startswith("\t")
    row = _ROW.fullmatch(line[: 58 + is_second])
    try:
        return int(is_second), bytes.fromhex(row[1] if row else "?"), None
    except ValueError:
        raise DumpError("this line is not a hexdump of a followed stream", file=file, line=number) from None


def _yaml(text: str, start: int, end: int, file: str) -> Iterator[tuple[int, bytes, float]]:
    while not _BEFORE.fullmatch(text, start, end):
        packet = _PACKET.match(text, start, end)
        if packet is None:
            line = text.count("\n", 0, start) + 1
            raise DumpError(
                "this is not a packet of a followed stream", file=file, line=line, hint="is the text complete?"
            )
        try:
            data = b64decode("".join(packet[3].split()), validate=True)
        except ValueError:
            line = text.count("\n", 0, packet.start(3)) + 1
            raise DumpError("this is not base64", file=file, line=line, hint="is the text complete?") from None
        yield int(packet[1]), data, float(packet[2])
        start = packet.end()


MOST_DECRYPTED = 1 << 28  # bytes of a capture: tshark writes decrypted data as text, which is held in memory
MOST_CONNECTIONS = 10_000  # each is an argument of tshark


def decrypted(path: str, keys: str) -> tuple[str, Iterator[Frame]]:
    """Decrypt the TLS connections of a capture with tshark (Wireshark); no library does this.

    The connections are in the order of their first bytes' times.

    Args:
        path: a capture that has the beginning of each connection.
        keys: a file of keys, as SSLKEYLOGFILE names one.

    Returns:
        A description of the decrypted data, and the frames.

    Raises:
        DumpError: tshark is missing, the capture has no TLS, or no key matches.
        OSError: a file cannot be read.
    """
    capture, key_file = Path(path).resolve(strict=True), Path(keys).resolve(strict=True)
    if not any(line and not line.startswith("#") for line in key_file.read_text("utf-8", "replace").splitlines()):
        raise DumpError("there are no keys in this file", file=keys, hint="clients write them with SSLKEYLOGFILE")
    if capture.stat().st_size > MOST_DECRYPTED:
        raise DumpError(
            f"more than {MOST_DECRYPTED >> 20} MiB to decrypt", file=path, hint="cut the capture with editcap"
        )
    found = _tshark(path, ["-r", str(capture), "-Y", "tls", "-T", "fields", "-e", "tcp.stream"])
    numbers = sorted(set(map(int, found.split())))
    if not numbers:
        raise DumpError("there is no TLS in this capture", file=path, hint="leave out --keylog")
    if len(numbers) > MOST_CONNECTIONS:
        raise DumpError(f"more than {MOST_CONNECTIONS} TLS connections", file=path, hint="cut the capture with editcap")
    follow = [word for number in numbers for word in ("-z", f"follow,tls,yaml,{number}")]
    text = _tshark(path, ["-r", str(capture), "-o", f"tls.keylog_file:{key_file}", "-q", *follow])
    streams = [stream for stream in followed_streams(text, path) if stream.portions]
    streams.sort(key=lambda stream: stream.portions[0][2] or 0.0)  # tshark prints them in the order of its release
    what = f"{len(numbers)} TLS connection{'s' * (len(numbers) != 1)}"
    if not streams:
        hint = "the keys must be of these sessions, and the capture must hold their beginning"
        raise DumpError(f"the keys of {keys} decrypt none of {what}", file=path, hint=hint)
    part = what if len(streams) == len(numbers) else f"{len(streams)} of {what}"
    return f"{part}, decrypted by tshark", frames_of(streams, path)


def _tshark(path: str, arguments: list[str]) -> str:
    """Run tshark; return its output."""
    program = shutil.which("tshark")
    if program is None:
        hint = "install Wireshark's tshark, or run the command of kwire help tls where it is"
        raise DumpError("--keylog needs tshark, which is not on the PATH", file=path, hint=hint)
    done = subprocess.run([program, *arguments], capture_output=True, text=True, errors="replace")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise DumpError(f"tshark fails: {last}", file=path)
    return done.stdout
