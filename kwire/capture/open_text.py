"""Opens text: hex text, fixtures, packets printed by tshark or tcpdump, logs of requests.

Readers of text are imported on first use, which halves the start-up of `kwire stats`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..errors import DumpError
from ..protocol import Frame, Source
from ..schema.catalog import Catalog
from .compressed_files import OpenedInput, read_up_to_damage
from .dump import Dump
from .open_file import read_whole
from .open_log import open_segment
from .raw_frames import read_raw_frames, report_damage

if TYPE_CHECKING:
    from .hex_text.parser import HexText

REQUEST_LOG = "a log of requests"  # the kind of such dumps

UTF16 = (b"\xff\xfe", b"\xfe\xff")  # as a frame's size, either is negative


def open_hex(text: str, file: str = "--hex", *, bare: bool = False, topic: str | None = None) -> Dump:
    """Open hex text that is in memory.

    Args:
        text: the text, in any dialect of `kwire.capture.hex_text`.
        file: the name for sources and errors.
        bare: the bytes are one body, without size and header.
        topic: see `open_dump`.

    Raises:
        DumpError: a line cannot be read; the error has its number.

    >>> [frame.data.hex() for frame in open_hex("00 00 00 04 00 00 00 07").frames]
    ['0000000400000007']
    """
    from .hex_text.parser import read_hex_text

    return _open_hex_text(read_hex_text(text, file), file, bare, topic)


def _open_request_log(opened: OpenedInput, file: str, catalog: Catalog) -> Dump:
    from .request_logs.request_log import RequestLogNotes, read_log_frames, split_lines

    notes = RequestLogNotes()
    remarks = list[str]()
    errors = list[DumpError]()

    def frames() -> Iterator[Frame]:
        try:
            lines = read_up_to_damage(split_lines(opened.portions(), file), errors)
            yield from read_log_frames(lines, file, catalog, notes)
        except DumpError as error:
            raise (errors or [error])[0] from None
        finally:
            remarks.extend(notes.texts())
        yield from report_damage(errors, file, remarks)

    return Dump(REQUEST_LOG, frames(), remarks)


def open_text(opened: OpenedInput, file: str, bare: bool, catalog: Catalog, topic: str | None) -> Dump:
    """Open text, in whichever form it has bytes or requests."""
    from .packet_text.tshark_json import is_tshark_json
    from .request_logs.request_log import looks_like_request_log

    if opened.head.startswith(UTF16):  # as PowerShell's > writes it
        opened = replace(opened, head=_decode_text(read_whole(opened, file), "utf-16", file).encode(), rest=iter(()))
    head = opened.head.decode("utf-8-sig", "replace")
    is_of_tshark = is_tshark_json(head)
    if looks_like_request_log(head) and not (bare or is_of_tshark):
        return _open_request_log(opened, file, catalog)
    errors = list[DumpError]()
    data = read_whole(replace(opened, rest=read_up_to_damage(opened.rest, errors)), file)
    if not errors:
        return _detect_text(data, file, bare, topic, is_of_tshark)
    try:
        dump = _detect_text(data[: data.rfind(b"\n") + 1], file, bare, topic, is_of_tshark)
    except DumpError:
        raise errors[0] from None
    return replace(dump, frames=chain(dump.frames, report_damage(errors, file, dump.remarks)))


def _detect_text(data: bytes, file: str, bare: bool, topic: str | None, is_of_tshark: bool) -> Dump:
    from .hex_text.golden_fixture import parse_fixture
    from .packet_text.followed_streams import parse_followed_streams, read_stream_frames
    from .packet_text.tshark_json import read_tshark_json

    text = data.decode("utf-8-sig", "replace")
    if is_of_tshark:
        return _open_hex_text(read_tshark_json(text, file), file, bare, topic)
    followed = [] if bare else parse_followed_streams(text, file)
    if followed:
        what = "a followed TCP stream" if len(followed) == 1 else f"{len(followed)} followed TCP streams"
        return Dump(f"{what} ({followed[0].form})", read_stream_frames(followed, file))
    fixture = parse_fixture(text, file)
    if fixture is not None:
        frame = Frame(
            fixture.data,
            Source(file, 0, 0),
            message=fixture.message,
            version=fixture.version,
            bare=fixture.bare,
            profile=fixture.profile,
        )
        return Dump("a fixture", iter([frame]))
    return open_hex(text, file, bare=bare, topic=topic)


def _decode_text(data: bytes, encoding: str, file: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise DumpError(f"not text in {encoding}: {error.reason}", file=file, offset=error.start) from None


def _open_hex_text(text: HexText, file: str, bare: bool, topic: str | None) -> Dump:
    from .logs.batch_recognition import looks_like_log
    from .packet_text.printed_packets import find_tcp_segment

    kind = f"hex text ({text.dialect})"
    segment = next(filter(None, map(find_tcp_segment, text.pieces)), None) if text.packets and not bare else None
    if segment is not None:
        remarks: list[str] = []
        return Dump(f"{kind}, packets: {segment[0]}", _read_packets(text.pieces, file, remarks), remarks)
    raw = b"".join(text.pieces)
    if looks_like_log(raw) and not bare:
        dump = open_segment(OpenedInput(raw, iter(())), file, topic)
        return replace(dump, kind=f"{kind}, {dump.kind}")
    frames = iter([Frame(raw, Source(file, 0, 0), bare=True)]) if bare else read_raw_frames(iter([raw]), file)
    remarks = ["no packet with TCP was recognised: the bytes are taken as they are"] if text.packets else []
    return Dump(kind, frames, remarks)


def _read_packets(packets: tuple[bytes, ...], file: str, remarks: list[str]) -> Iterator[Frame]:
    from .packet_text.printed_packets import PrintedPacketReader

    reader = PrintedPacketReader(file)
    for packet in packets:
        yield from reader.feed(packet)
    yield from reader.finish()
    if reader.gaps:
        remarks.append(f"{reader.gaps} bytes are missing between the packets")
    if reader.others:
        remarks.append(f"{reader.others} packets without TCP were left out")
