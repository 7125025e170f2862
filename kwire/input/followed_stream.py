"""Reads a followed TCP stream as tshark and Wireshark print it: `-z follow,tcp,hex,N`, `raw` and `yaml`."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..caches import lazy_pattern
from ..errors import DumpError
from ..errors.decode import BadFrame
from ..protocol import Frame, FrameReader, Source, cut_short

_HEADING = lazy_pattern(r"\s*={20,}\nFollow: tcp,(hex|raw)\nFilter: .*\nNode 0: (\S+)\nNode 1: (\S+)\n")
_PEERS = lazy_pattern(
    r"(?:#.*\n)*peers:\n  - peer: 0\n    host: (\S+)\n    port: (\d+)\n"
    r"  - peer: 1\n    host: (\S+)\n    port: (\d+)\npackets:\n"
)
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
        nodes: the two endpoints; the first one sent the first captured packet.
        portions: the sender of each, its bytes, and its time in seconds since 1970, if the form has times.
    """

    form: str
    nodes: tuple[str, str]
    portions: tuple[tuple[int, bytes, float | None], ...]

    def frames(self, file: str) -> Iterator[Frame]:
        """Yield the frames of both directions in the order of their last bytes, then the incomplete rest of each
        direction.
        """
        readers, numbers, whole = (FrameReader(), FrameReader()), 0, [True, True]
        for node, data, time in self.portions:
            reader = readers[node].feed(data)
            try:
                for frame in reader if whole[node] else ():
                    yield replace(frame, source=self._source(file, numbers, frame.source.offset, time))
                    numbers += 1
            except BadFrame:
                whole[node] = False
        for node, reader in enumerate(readers):
            if reader.rest:
                fault = cut_short(reader.rest, "the stream ended") if whole[node] else None
                yield Frame(reader.rest, self._source(file, numbers, reader.offset, None), fault=fault)
                numbers += 1

    def _source(self, file: str, number: int, offset: int | None, time: float | None) -> Source:
        return Source(file, number, offset, time, *self.nodes)


def followed_stream(text: str, file: str = "") -> FollowedStream | None:
    """Read a followed stream.

    Args:
        text: all of it.
        file: its name, for errors.

    Returns:
        The stream; None if the text has another format.

    Raises:
        DumpError: a line does not match the form; with its number.

    >>> text = "=" * 67 + "\\nFollow: tcp,raw\\nFilter: tcp.stream eq 0\\n"
    >>> text += "Node 0: 10.0.0.1:5000\\nNode 1: 10.0.0.2:9092\\n00000004\\n\\t00000007\\n"
    >>> [(node, data.hex()) for node, data, _ in followed_stream(text).portions]
    [(0, '00000004'), (1, '00000007')]
    """
    text = text.replace("\r\n", "\n")
    if (heading := _HEADING.match(text)) is not None:
        rows = enumerate(text[heading.end() :].splitlines(), text.count("\n", 0, heading.end()) + 1)
        read = _hex if heading[1] == "hex" else _raw
        found = tuple(read(line, number, file) for number, line in rows if line.strip("= \n"))
        return FollowedStream(heading[1], (heading[2], heading[3]), found)
    if (heading := _PEERS.match(text)) is not None:
        nodes = f"{heading[1]}:{heading[2]}", f"{heading[3]}:{heading[4]}"
        return FollowedStream("yaml", nodes, tuple(_yaml(text, heading.end(), file)))
    return None


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


def _yaml(text: str, start: int, file: str) -> Iterator[tuple[int, bytes, float]]:
    while start < len(text.rstrip()):
        packet = _PACKET.match(text, start)
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
