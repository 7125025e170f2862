"""Reads golden fixtures: annotated hexdumps whose first lines name the message and the writer of the bytes.

    # fixture: MetadataResponse v12 body
    # writer: Apache Kafka 4.4.0
    00000000  00 00 00 05  throttle_time_ms = 5

With `frame` instead of `body`, the bytes include size and header; `# profile: KIP-36` marks a draft. Other lines with
`#` are comments.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import DumpError
from ...runtime.lazy_patterns import lazy_pattern
from .parser import parse_hex_text

_FIRST = lazy_pattern(r"# fixture: ([A-Za-z0-9]+) v([0-9]{1,5}) (frame|body)")
_LINE = lazy_pattern(r"# (profile|writer): (\S.*)")


@dataclass(frozen=True, slots=True)
class Fixture:
    """The bytes of a message, with their origin. `head` holds the lines with `#`, which a rewrite keeps."""

    message: str
    version: int
    bare: bool
    profile: str | None
    writer: str
    data: bytes
    head: tuple[str, ...]


def parse_fixture(text: str, file: str = "") -> Fixture | None:
    """Read a fixture; None if the text does not begin as one.

    Raises:
        DumpError: the text begins like a fixture but is not one, or its writer is missing or is kwire.
    """
    head = tuple(line.rstrip() for line in text.splitlines() if line.startswith("#"))
    if not head or not head[0].startswith("# fixture:"):
        return None
    first = _FIRST.fullmatch(head[0])
    if first is None:
        raise DumpError("the first line is invalid", file=file, line=1, hint="# fixture: NAME vN body (or: frame)")
    about = [(match[1], match[2]) for match in map(_LINE.fullmatch, head) if match]
    writers = [value for key, value in about if key == "writer"]
    for writer in writers or [""]:
        check_writer(writer, file)
    has_bytes = any(line.strip() and not line.startswith("#") for line in text.splitlines())  # some have none at all
    data = parse_hex_text(text, file)[0] if has_bytes else b""
    return Fixture(first[1], int(first[2]), first[3] == "body", dict(about).get("profile"), writers[0], data, head)


def check_writer(writer: str, file: str = "") -> None:
    """Raise DumpError for bytes without a writer, and for bytes that kwire wrote, which would prove nothing."""
    if not writer.strip():
        raise DumpError("no line names the writer of the bytes", file=file, hint="# writer: Apache Kafka 3.9.2")
    if "kwire" in writer.lower():
        problem = "kwire wrote these bytes, so they verify nothing"
        raise DumpError(problem, file=file, hint="take bytes that another implementation wrote, or write them by hand")
