"""Converts TCP streams that tshark or Wireshark followed to Kafka frames.

The forms are `-z follow,tcp,hex,N`, `raw` and `yaml`. `-z follow,tls,yaml,N` has the bytes that tshark decrypted; it
names only the endpoint that sent first, or neither.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...errors import BadFrame, DumpError
from ...protocol import Frame, FrameReader, Source, cut_short
from ...runtime.lazy_patterns import lazy_pattern

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
        readers = (FrameReader(), FrameReader())
        has_frames = [True, True]  # false after an impossible size
        for node, data, time in self.portions:
            reader = readers[node].feed(data)
            if not has_frames[node]:
                continue
            try:
                for frame in reader:
                    source = self._build_source(file, numbers, frame.source.offset, time, connection)
                    yield replace(frame, source=source)
                    numbers += 1
            except BadFrame:
                has_frames[node] = False
        for node, reader in enumerate(readers):
            if reader.rest:
                fault = cut_short(reader.rest, "the stream ended") if has_frames[node] else None
                source = self._build_source(file, numbers, reader.offset, None, connection)
                yield Frame(reader.rest, source, fault=fault)
                numbers += 1

    def _build_source(self, file: str, number: int, offset: int | None, time: float | None, connection: int) -> Source:
        return Source(file, number, offset, time, *self.nodes, connection)


def parse_followed_streams(text: str, file: str = "") -> list[FollowedStream]:
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
    >>> [(node, data.hex()) for node, data, _ in parse_followed_streams(text)[0].portions]
    [(0, '00000004'), (1, '00000007')]
    """
    text = text.replace("\r\n", "\n")
    if (start := _BEFORE.match(text)) is None or _BEGIN.match(text, start.end()) is None:
        return []
    begins = list(_BEGIN.finditer(text))
    ends = [begin.start() for begin in begins[1:]] + [len(text)]
    return [_parse_stream(text, begin, end, file) for begin, end in zip(begins, ends, strict=True)]


def _parse_stream(text: str, heading: re.Match[str], end: int, file: str) -> FollowedStream:
    form = heading[1] or "yaml"
    portions: tuple[tuple[int, bytes, float | None], ...]
    if form == "yaml":
        portions = tuple(_parse_yaml(text, heading.end(), end, file))
    else:
        rows = enumerate(text[heading.end() : end].splitlines(), text.count("\n", 0, heading.end()) + 1)
        read = _parse_hex_line if form == "hex" else _parse_raw_line
        portions = tuple(read(line, number, file) for number, line in rows if line.strip("= \n"))
    ends = heading.groups()[1:5] if heading[1] else heading.groups()[5:]
    nodes = tuple(f"{host}:{port}" if host else None for host, port in (ends[:2], ends[2:]))
    if portions and portions[0][0]:  # in a TLS stream, the first node may be the one that responds
        portions = tuple((1 - node, data, time) for node, data, time in portions)
        nodes = nodes[::-1]
    return FollowedStream(form, (nodes[0], nodes[1]), portions)


def read_stream_frames(streams: list[FollowedStream], file: str) -> Iterator[Frame]:
    """Yield the frames of streams, stream by stream."""
    number = 0
    for connection, stream in enumerate(streams):
        for frame in stream.frames(file, number, connection):
            yield frame
            number += 1


def _parse_raw_line(line: str, number: int, file: str) -> tuple[int, bytes, None]:
    try:
        return int(line.startswith("\t")), bytes.fromhex(line), None
    except ValueError:
        raise DumpError("this line is not hex of a followed stream", file=file, line=number) from None


def _parse_hex_line(line: str, number: int, file: str) -> tuple[int, bytes, None]:
    is_second = line.startswith("\t")
    row = _ROW.fullmatch(line[: 58 + is_second])
    try:
        return int(is_second), bytes.fromhex(row[1] if row else "?"), None
    except ValueError:
        raise DumpError("this line is not a hexdump of a followed stream", file=file, line=number) from None


def _parse_yaml(text: str, start: int, end: int, file: str) -> Iterator[tuple[int, bytes, float]]:
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
