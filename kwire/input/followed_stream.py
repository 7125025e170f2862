"""Reads followed TCP streams as tshark and Wireshark print them: `-z follow,tcp,hex,N`, `raw` and `yaml`.

`-z follow,tls,yaml,N` is what tshark has decrypted; it names only the end that sent first, or none.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..caches import lazy_pattern
from ..errors import DumpError
from ..errors.decode import BadFrame
from ..protocol import Frame, FrameReader, Source, cut_short

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
        nodes: the two endpoints, the first of which sent first; None where the text does not name it.
        portions: the sender of each, its bytes, and its time in seconds since 1970, if the form has times.
    """

    form: str
    nodes: tuple[str | None, str | None]
    portions: tuple[tuple[int, bytes, float | None], ...]

    def frames(self, file: str, numbers: int = 0, connection: int = 0) -> Iterator[Frame]:
        """Yield the frames of both directions in the order of their last bytes, then the incomplete rest of each one.

        Args:
            file: its name.
            numbers: how many frames are in front of these.
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
        text: all of them.
        file: its name, for errors.

    Returns:
        The streams; none if the text has another format.

    Raises:
        DumpError: a line does not match the form; with its number.

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
    if found and found[0][0]:  # of a TLS stream, the first node may be the one that answers
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
        raise DumpError("this line is no hex of a followed stream", file=file, line=number) from None


def _hex(line: str, number: int, file: str) -> tuple[int, bytes, None]:
    is_second = line.startswith("\t")
    row = _ROW.fullmatch(line[: 58 + is_second])
    try:
        return int(is_second), bytes.fromhex(row[1] if row else "?"), None
    except ValueError:
        raise DumpError("this line is no hexdump of a followed stream", file=file, line=number) from None


def _yaml(text: str, start: int, end: int, file: str) -> Iterator[tuple[int, bytes, float]]:
    while not _BEFORE.fullmatch(text, start, end):
        packet = _PACKET.match(text, start, end)
        if packet is None:
            line = text.count("\n", 0, start) + 1
            raise DumpError(
                "this is no packet of a followed stream", file=file, line=line, hint="is the text complete?"
            )
        try:
            data = b64decode("".join(packet[3].split()), validate=True)
        except ValueError:
            line = text.count("\n", 0, packet.start(3)) + 1
            raise DumpError("this is no base64", file=file, line=line, hint="is the text complete?") from None
        yield int(packet[1]), data, float(packet[2])
        start = packet.end()
