"""The exceptions of kwire, and the texts of all errors. In this tree, each class is followed by the cause of the error.

    KwireError
    +-- SpecError              the author of a JSON spec
    +-- UnknownMessage         the caller: no message, profile or release has that name
    +-- UnsupportedVersion     the caller: the message has no such version
    +-- DumpError              the input: a container or text that cannot be read
    +-- CallError              the other side: a broker is unreachable, or closes the connection
    +-- ZnodeError             the input: data of a ZooKeeper node that does not match its path
    +-- EncodeError            the caller: a value that cannot be written
    +-- Refused                the caller: an operation that a cluster refuses (`kwire.errors.refused`)
    +-- MissingExtra           the installation: an optional library is not installed
    +-- DecodeError            the bytes
        +-- Truncated, BadLength, NullNotAllowed, StringTooLong, BadVarint
        +-- BadTag, TagOfOtherVersion, UnknownTagOrder, TooManyFaults, NoColumns
        +-- BadFrame, BytesAfterFrame, UnknownApi, UnknownVersion, UnexpectedResponse, and those of
        |   `kwire.protocol.framing`
        +-- BadRecords         record batches that Kafka refuses: BadBatchLength, BadRecordSize, BadRecordCount,
        |                      EmptyMessageSet, NestedCompression, BadOuterOffset, UnknownMagic, UnknownCompression,
        |                      BadCompression; LimitExceeded is kwire's own limit
        +-- Tolerated          raised in strict mode, a value and this fault in salvage: TrailingBytes, NegativeLength,
                               OverlongVarint, BadText, BadBoolean, BadMarker, TagOrder, TagTwice, TagSize,
                               BadChecksum, CutBatch, MixedMagic; DefaultTag is accepted in strict mode too

An error carries data (position, expected and actual values); its text is formatted here from that data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

MOST_COMPARED = 1000  # known words that are compared; a hostile spec may contain any number of names
Segments = tuple[str | int, ...]


def without_password(uri: str) -> str:
    """Return a URI without user and password, so that they are neither shown nor stored.

    >>> without_password("s3://key:secret@taps/a.pcap"), without_password("abfss://taps@host/a.pcap")
    ('s3://taps/a.pcap', 'abfss://taps@host/a.pcap')
    """
    return re.sub(r"(?<=://)[^/@:]*:[^/@]*@", "", uri)


def path_text(segments: Iterable[str | int]) -> str:
    """Format a path as in errors, traces and `kwire explain`.

    >>> path_text(["topics", 3, "partitions", 0, "isr"])
    'topics[3].partitions[0].isr'
    """
    text = ""
    for segment in segments:
        text += f"[{segment}]" if isinstance(segment, int) else f".{segment}" if text else segment
    return text


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known word that was probably meant, in any case; an empty string if there is none.

    >>> suggestion("METADATARESPONS", ["MetadataResponse", "FetchResponse"])
    'did you mean MetadataResponse?'
    """
    from difflib import get_close_matches  # needed by errors alone

    folded = {name.casefold(): name for name in islice(known, MOST_COMPARED)}
    close = get_close_matches(word.casefold(), folded, n=1)
    return f"did you mean {folded[close[0]]}?" if close else ""


def version_hint(first: int | None, last: int | None = None, version: int | None = None) -> str:
    """Return a hint that names the first or last version with a field, for a `version` without it."""
    gone = last is not None and version is not None and version > last
    text = f"the {'last' if gone else 'first'} version that has it is {last if gone else first}"
    return "no version has it" if first is None else text


def excerpt(value: Any, most: int = 80) -> str:
    """Format a value for the text of an error, with a limited length.

    >>> excerpt("topic"), excerpt(b"x" * 100, 12)
    ("'topic'", "b'xxxxxxx...")
    """
    try:
        text = repr(value)
    except Exception:  # an integer with more than 4300 digits, or an object whose __repr__ fails
        text = f"<{type(value).__name__}>"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def json_problem(error: ValueError | RecursionError) -> str:
    """Return why `json` refused a text: besides syntax, the depth, or a number with more than 4300 digits.

    >>> import json
    >>> try:
    ...     json.loads("9" * 5000)
    ... except ValueError as error:
    ...     json_problem(error)
    'a number has too many digits'
    """
    if isinstance(error, RecursionError):
        return "nested too deep"
    problem = getattr(error, "msg", "")  # of a JSONDecodeError
    return f"{error}" if problem else "a number has too many digits"


class KwireError(Exception):
    """Base of all errors that kwire raises intentionally. `hint` suggests what to try."""

    hint: str = ""

    @property
    def args(self) -> tuple[str]:  # type: ignore[override]
        """The text of the error, for programs that print an exception's arguments."""
        return (str(self),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class SpecError(KwireError):
    """A JSON spec that is not valid.

    `file`, `line` (from 1) and `json_path` locate it; `problem` describes it; `hint` says what to write instead;
    `others` contains further errors of the same file.
    """

    def __init__(
        self, problem: str = "", *, file: str = "", line: int = 0, json_path: str = "$", hint: str = ""
    ) -> None:
        super().__init__()
        self.problem: str = problem
        self.file: str = without_password(file)
        self.line: int = line
        self.json_path: str = json_path
        self.hint = hint
        self.others: tuple[SpecError, ...] = ()

    def __str__(self) -> str:
        where = f":{self.line}: {self.json_path}" if self.line or self.json_path != "$" else ""
        return f"{self.file or 'spec'}{where}: {self.problem}" + (f"; {self.hint}" if self.hint else "")


class UnknownMessage(KwireError):
    """There is no message, profile, release, api or value with that name."""

    def __init__(self, kind: str = "message", name: str = "", known: Sequence[str] = ()) -> None:
        super().__init__()
        self.kind: str = kind
        self.name: str = name
        self.known: tuple[str, ...] = tuple(known)
        self.hint: str = suggestion(name, known) or (f"known: {', '.join(known)}" if 0 < len(known) < 12 else "")

    def __str__(self) -> str:
        return f"there is no {self.kind} {self.name!r}" + (f"; {self.hint}" if self.hint else "")


class UnsupportedVersion(KwireError):
    """The message exists, but has no such version."""

    def __init__(self, message: str = "", version: int = 0, supported: str = "", where: str = "") -> None:
        super().__init__()
        self.message: str = message
        self.version: int = version
        self.supported: str = supported
        self.where: str = where
        self.hint: str = f"versions: {supported or 'none'}"

    def __str__(self) -> str:
        place = f" in {self.where}" if self.where else ""
        return f"{self.message} has no version {self.version}{place}; {self.hint}"


class DumpError(KwireError):
    """A dump that cannot be read in its detected format: `file`, `problem`, `hint`, and if known `line` (from 1, for
    text) or `offset` (in bytes from the start, for anything else).
    """

    def __init__(
        self, problem: str = "", *, file: str = "", line: int | None = None, offset: int | None = None, hint: str = ""
    ) -> None:
        super().__init__()
        self.problem: str = problem
        self.file: str = without_password(file)
        self.line: int | None = line
        self.offset: int | None = offset
        self.hint = hint

    def __str__(self) -> str:
        place = (self.file or "dump") + (f":{self.line}" if self.line else "")
        return f"{place}: {self.reason}"

    @property
    def reason(self) -> str:
        """The problem with its offset and the hint, without the file."""
        offset = "" if self.offset is None else f" (offset {self.offset})"
        return f"{self.problem}{offset}" + (f"; {self.hint}" if self.hint else "")


class CallError(KwireError):
    """A broker that cannot be reached, or that closes the connection: `address` as given, `problem`, `hint`."""

    def __init__(self, address: str = "", problem: str = "", hint: str = "") -> None:
        super().__init__()
        self.address: str = address
        self.problem: str = problem
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.address}: {self.problem}"


class ZnodeError(KwireError):
    """Data of a ZooKeeper node that does not match its path: `znode` (the path), `json_path`, `problem`."""

    def __init__(self, problem: str = "", *, znode: str = "", json_path: str = "$") -> None:
        super().__init__()
        self.problem: str = problem
        self.znode: str = znode
        self.json_path: str = json_path

    def __str__(self) -> str:
        return f"{self.znode}: {self.json_path}: {self.problem}".removeprefix(": ")


class MissingExtra(KwireError):
    """An optional library is not installed: `library`, which the extra `extra` installs."""

    def __init__(self, need: str = "this", library: str = "", extra: str = "") -> None:
        super().__init__()
        self.need: str = need
        self.library: str = library
        self.extra: str = extra
        self.hint: str = f"pip install 'kwire[{extra}]'"

    def __str__(self) -> str:
        return f"{self.need} needs the library {self.library}; {self.hint}"


class _PlacedError(KwireError):
    """An error at a position in a message; `problem` is a template for the error's own attributes."""

    problem = "something is wrong"

    def __init__(self, *, segments: Iterable[str | int] = (), **facts: Any) -> None:
        super().__init__()
        self.segments: Segments = tuple(segments)
        self.message: str | None = None
        self.version: int | None = None
        self.found: Any = None
        self.__dict__.update(facts)

    @property
    def path(self) -> str:
        """The position as text: `topic_states[0].partition_states[3].isr[1]`; empty for the message itself."""
        return path_text(self.segments)

    @property
    def reason(self) -> str:
        """The description of the error, without the position."""
        return self.problem.format_map(vars(self))

    def _where(self) -> str:
        name = f"{self.message} v{self.version}: " if self.message else ""
        return name + (f"{self.path}: " if self.segments else "")


class EncodeError(_PlacedError):
    """A value that the message cannot carry at this version: `path`, `found`, `message`, `version`."""

    problem = "{found!r} cannot be written"

    def __str__(self) -> str:
        text = f"{self._where()}{self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class WrongType(EncodeError):
    """A value of the wrong type; `OutOfRange` is one outside the range of its type."""

    problem = "{need} is needed, not {found}"


class OutOfRange(WrongType):
    """An integer that the type cannot hold: `found`, `need` (the type), `low` and `high`, both included."""

    problem = "{need}: {found} is out of range ({low} to {high})"

    def __init__(self, *, low: int | None = None, high: int | None = None, **facts: Any) -> None:
        super().__init__(low=low, high=high, **facts)


class HiddenValue(EncodeError):
    """JSON in which a secret was masked."""

    problem = "the value was hidden when this JSON was written"
    hint = "write it with kwire decode --show-secrets, or put the value in"


class NullNotWritable(EncodeError):
    """None in a field that is not nullable at this version."""

    problem = "null is not allowed here"


class TooLong(EncodeError):
    """Text, bytes or an array longer than its length field can hold."""

    problem = "{found} is too long; at most {need} can be written"


class NotInVersion(EncodeError):
    """A field that this version lacks holds something other than its default (KIP-482: not ignorable)."""

    problem = "{found} would be lost: version {version} does not have this field"

    def __init__(self, *, first: int | None = None, last: int | None = None, **facts: Any) -> None:
        super().__init__(first=first, last=last, **facts)
        self.hint: str = version_hint(first, last, self.version)


class BadUnknownTags(EncodeError):
    """Unknown tagged fields that cannot be written: out of order, truncated, or with the number of a known tag."""

    problem = "the unknown tagged fields cannot be written: {found}"


class MissingField(EncodeError):
    """JSON without a required field."""

    problem = "the field is missing"


class UnknownField(EncodeError):
    """JSON with a field that the message does not have."""

    problem = "there is no such field"


class DecodeError(_PlacedError):
    """Bytes that cannot be decoded as this message.

    Attributes: `offset` (in bytes, from the start of what was decoded: of the body for a codec, of the
    frame's size field for a frame), `path`, `message`, `version`, `need` and `have` (bytes needed and available, if too
    few), `raw` (the bytes of the fault itself), `partial` (the fields decoded before, as a dict), `rest` (all bytes
    from `offset` on), `faults` (tolerated before it, in salvage). `quotes` says whether text among its data may repeat
    bytes of the message, which masked output then hides. For a fault in compressed bytes, `offset` is the position of
    the compressed bytes, and `inflated_offset` and `rest` refer to the decompressed bytes.
    """

    problem = "the bytes do not decode"
    quotes = True
    code = "BAD_FIELD"  # the stable name for programs: `error.code` in JSON lines, `_error.code` in Arrow and Spark
    is_failure = True  # whether complete data did not decode; otherwise bytes are missing or belong to another protocol

    def __init__(self, *, offset: int = 0, segments: Iterable[str | int] = (), **facts: Any) -> None:
        self.need: int | None = None
        self.have: int | None = None
        self.inflated_offset: int | None = None
        self.raw: bytes = b""
        self.partial: Any = None
        self.rest: bytes = b""
        self.faults: tuple[DecodeError, ...] = ()
        super().__init__(segments=segments, **facts)
        self.offset = offset

    def __str__(self) -> str:
        inside = "" if self.inflated_offset is None else f", inflated offset {self.inflated_offset}"
        return f"{self._where()}{self.reason} (offset {self.offset}{inside})"


class Truncated(DecodeError):
    """The bytes end inside a value."""

    problem = "{need} bytes needed, {have} left"
    code = "TRUNCATED"
    hint = "the bytes are cut short, or they are another message or version"


class BadLength(Truncated):
    """A length or count claims more than the bytes that are left."""

    problem = "length {found} needs {need} bytes, {have} left"


class NullNotAllowed(DecodeError):
    """A negative length where null is not allowed."""

    problem = "null (length {found}) is not allowed here"
    hint = "another version of the message may allow it"


class StringTooLong(DecodeError):
    """Text of more than 32,767 bytes, which Kafka rejects even in compact strings."""

    problem = "text of {found} bytes; at most 32767 are allowed"
    hint = "probably another message or version"


class BadVarint(DecodeError):
    """A varint that is longer than its type allows."""

    problem = "a varint of more than {need} bytes"
    hint = "probably another message or version"


class BadTag(DecodeError):
    """A tag number that no writer can write."""

    problem = "tag {found} is outside 0 to 2147483646"


class TagOfOtherVersion(BadTag):
    """A tag that the struct has only in another version."""

    problem = "tag {found} does not belong to this version"
    hint = "try another version"


class UnknownTagOrder(BadTag):
    """Unknown tags that are not in ascending order."""

    problem = "unknown tag {found} comes after tag {need}"


class TooManyFaults(DecodeError):
    """Salvage stopped: too many faults for bytes of this message."""

    problem = "more than {need} faults"
    hint = "probably another message or version; the error's rest has the bytes from here on"


class NoColumns(DecodeError):
    """A valid message that is too large for Arrow columns."""

    problem = "a body of {found} bytes cannot be made into columns"
    hint = "decode it"


class BadFrame(DecodeError):
    """An invalid size field of a frame."""

    problem = "a frame of {found} bytes; sizes from {need} to {have} are read"
    hint = "the input may not be frames, or begin in the middle of one"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The code, which distinguishes frames above the size limit from impossible sizes."""
        return "OVERSIZE" if (self.found or 0) > (self.have or 0) else "BAD_SIZE"


class BytesAfterFrame(BadFrame):
    """Bytes after a frame where one frame is needed: `found` is its size field, `behind` says what follows."""

    problem = "{behind}"
    hint = "split the bytes: kwire.FrameReader().feed(data)"

    def __init__(self, *, behind: str = "bytes follow the frame", **facts: Any) -> None:
        super().__init__(behind=behind, **facts)


class UnknownApi(DecodeError):
    """An api key that is not in the catalog."""

    problem = "api key {found} is not known"
    code = "UNSUPPORTED_API"
    hint = "the key may belong to a profile or to a vendor's specs"


class UnknownVersion(DecodeError):
    """A version that the message does not have."""

    quotes = False
    problem = "{found[0]} has no version {found[1]}; versions: {found[2]}"
    code = "UNSUPPORTED_VERSION"
    hint = "a newer broker or client; or these bytes are not a Kafka frame"


class UnexpectedResponse(DecodeError):
    """A response that matches no request in flight; `need` is the correlation id of the oldest request in flight."""

    problem = "no request with correlation id {found} is in flight"
    code = "NO_REQUEST"
    hint = "name what it answers: --as Metadata:12"


class BadRecords(DecodeError):
    """Record batches, or records in them, that Kafka refuses."""


class BadBatchLength(BadRecords):
    """A length field that is smaller than a batch of its magic can be."""

    problem = "length {found}; a batch has {need} bytes at least"
    hint = "these bytes are not record batches, or do not begin at the start of one"


class BadRecordSize(BadRecords):
    """A record whose size field does not match its fields."""

    problem = "the record's size field is {found}, its fields take {have} bytes"


class BadRecordCount(BadRecords):
    """A batch whose record count is wrong; `have` is the number of records that were read, `rest` the bytes after
    them."""

    problem = "the count of {found} records and the end of the batch do not agree; {have} were read"


class EmptyMessageSet(BadRecords):
    """A compressed message of magic 0 or 1 without a complete message inside."""

    problem = "a compressed message with no message inside"


class NestedCompression(BadRecords):
    """A compressed message inside another."""

    problem = "a compressed message inside a compressed one"


class BadOuterOffset(BadRecords):
    """An invalid offset of a compressed message of magic 1, which must be the offset of its last record."""

    problem = "offset {found} of the outer message is less than {need}, the offset of the last inner one"


class UnknownMagic(BadRecords):
    """A record format that does not exist."""

    problem = "magic {found}; 0, 1 and 2 are known"
    hint = "a newer broker or client; or these bytes are not record batches"


class UnknownCompression(BadRecords):
    """A compression that does not exist, or that this magic does not support (zstd before magic 2)."""

    quotes = False
    problem = "compression {found[0]} does not exist in magic {found[1]}"


class BadCompression(BadRecords):
    """Compressed records that do not decompress."""

    quotes = False
    problem = "the records do not decompress as {found[0]}: {found[1]}"


class LimitExceeded(BadRecords):
    """Records whose decompressed size exceeds the limit."""

    problem = "{have} bytes of {found} hold more than {need} bytes"
    hint = "allow more with limit="


class Tolerated(DecodeError):
    """An encoding that Kafka accepts although no correct encoder writes it.

    Strict decoding raises it; salvage keeps a value and records the fault, with the bytes in `raw`.
    """


class TrailingBytes(Tolerated):
    """Bytes after the end of the message."""

    problem = "{have} bytes left over after the message"
    code = "TRAILING_BYTES"
    hint = "perhaps a newer version with more fields"


class NegativeLength(Tolerated):
    """A negative length other than -1, read as null."""

    problem = "length {found}; null is written as -1"


class OverlongVarint(Tolerated):
    """A varint with more bytes than its value needs, or with bits beyond its type."""

    problem = "a varint of {have} bytes; {need} would suffice"


class BadText(Tolerated):
    """Text that is not UTF-8; its value has U+FFFD for each bad part."""

    problem = "the text is not UTF-8"


class BadBoolean(Tolerated):
    """A boolean other than 0 and 1, read as true."""

    problem = "boolean byte {found}; 0 and 1 are written"


class BadMarker(Tolerated):
    """An invalid null marker of a nullable struct (KIP-893)."""

    problem = "marker {found} before a nullable struct"


class TagOrder(Tolerated):
    """A known tag after a higher one."""

    problem = "tag {found} comes after tag {need}"


class TagTwice(Tolerated):
    """A known tag that appears twice; the last one applies, and `raw` has the first."""

    problem = "tag {found} is given twice"


class TagSize(Tolerated):
    """A known tag with a wrong size field, which Kafka ignores."""

    problem = "the tag's size field is {found}, its value takes {have} bytes"


class BadChecksum(Tolerated):
    """A batch or message whose checksum does not match its bytes; `found` has both checksums, in hex."""

    problem = "checksum {found[0]}; the bytes have {found[1]}"
    hint = "the bytes were damaged or changed after they were written"


class CutBatch(Tolerated):
    """A truncated last batch. Brokers truncate Fetch responses this way, and consumers skip the batch; `raw` has its
    bytes.
    """

    problem = "the batch is cut off: {need} bytes needed, {have} left"


class MixedMagic(Tolerated):
    """A message whose magic differs from the compressed message around it."""

    problem = "a message of magic {found} in a message set of magic {need}"


class DefaultTag(Tolerated):
    """A known tag that holds its default. The protocol allows it; encoding omits it."""

    problem = "tag {found} holds its default value"
