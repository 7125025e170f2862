"""The exception hierarchy, and the texts of all errors.

    KwireError
    +-- SpecError              the author of a JSON spec
    +-- UnknownMessage         the caller: no message, profile or release of that name
    +-- UnsupportedVersion     the caller: the message has no such version
    +-- DumpError              the input: a container or text that cannot be read
    +-- CallError the other side: a broker that is unreachable, or closes the connection +-- ZnodeError the input: data
    of a ZooKeeper node that does not match its path +-- EncodeError the caller: a value that cannot be written +--
    Refused the caller: an operation that a cluster refuses; its subclasses are in `kwire.errors.refused` +--
    MissingExtra the installation: an optional library is not installed +-- DecodeError the bytes; its subclasses are in
    `kwire.errors.decode`

An error carries data (position, expected and actual values); its text is formatted here from that data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

MOST_COMPARED = 1000  # known words; a hostile spec may contain any number of names
Segments = tuple[str | int, ...]


def without_password(uri: str) -> str:
    """Leave out the user and the password of a URI, so that they are neither shown nor stored.

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
    """Return the known word that was probably meant, whatever its case, or an empty text.

    >>> suggestion("METADATARESPONS", ["MetadataResponse", "FetchResponse"])
    'did you mean MetadataResponse?'
    """
    from difflib import get_close_matches  # needed by errors alone

    folded = {name.casefold(): name for name in islice(known, MOST_COMPARED)}
    close = get_close_matches(word.casefold(), folded, n=1)
    return f"did you mean {folded[close[0]]}?" if close else ""


def version_hint(first: int | None, last: int | None = None, version: int | None = None) -> str:
    """Return a hint at the first or last version that has a field, for a `version` without it."""
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

    `file`, `line` (from 1) and `json_path` locate it; `problem` describes it; `hint` is what to write instead; `others`
    has the further errors of the same file.
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
    """There is no message, profile, release, api or value of that name."""

    def __init__(self, kind: str = "message", name: str = "", known: Sequence[str] = ()) -> None:
        super().__init__()
        self.kind: str = kind
        self.name: str = name
        self.known: tuple[str, ...] = tuple(known)
        self.hint: str = suggestion(name, known) or (f"known: {', '.join(known)}" if 0 < len(known) < 12 else "")

    def __str__(self) -> str:
        return f"there is no {self.kind} {self.name!r}" + (f"; {self.hint}" if self.hint else "")


class UnsupportedVersion(KwireError):
    """The message exists, and has no such version."""

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
    """A dump that cannot be read in its detected format: `file`, `problem`, `hint`, and where it is known `line`
    (from 1, for text) or `offset` (in bytes from the start, for anything else)."""

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
        offset = "" if self.offset is None else f" (offset {self.offset})"
        return f"{place}: {self.problem}{offset}" + (f"; {self.hint}" if self.hint else "")


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
    """An error at a place inside a message; `problem` is a template over the error's own data."""

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
        """Where, as text: `topic_states[0].partition_states[3].isr[1]`; empty for the message itself."""
        return path_text(self.segments)

    @property
    def reason(self) -> str:
        """What is wrong, without the place."""
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
    """A value of the wrong type or outside its range."""

    problem = "{need} is needed, not {found}"


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
    """Unknown tagged fields that cannot be written: out of order, cut short, or of a known number."""

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
    code = "BAD_FIELD"  # a stable name for programs: `error.code` in JSON lines, `_error.code` in Arrow and Spark
    is_failure = True  # whether something complete did not decode; else bytes are missing, or another protocol's

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
