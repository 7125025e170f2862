"""The exceptions of kwire. In this tree, each class is followed by the cause of the error.

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
        |   `kwire.protocol.frames.stream_faults`
        +-- BadRecords         record batches that Kafka refuses: BadBatchLength, BadRecordSize, BadRecordCount,
        |                      EmptyMessageSet, NestedCompression, BadOuterOffset, UnknownMagic, UnknownCompression,
        |                      BadCompression; LimitExceeded is kwire's own limit
        +-- Tolerated          raised in strict mode, a value and this fault in salvage: TrailingBytes, NegativeLength,
                               OverlongVarint, BadText, BadBoolean, BadMarker, TagOrder, TagTwice, TagSize,
                               BadChecksum, CutBatch, MixedMagic; DefaultTag is accepted in strict mode too

An error carries data (position, expected and actual values); its text is formatted here from that data.
"""

from ..runtime.former_modules import attach_former_names
from .base import FieldError, KwireError
from .decode_errors import (
    BadLength,
    BadTag,
    BadVarint,
    DecodeError,
    NoColumns,
    NullNotAllowed,
    StringTooLong,
    TagOfOtherVersion,
    TooManyFaults,
    Truncated,
    UnknownTagOrder,
)
from .encode_errors import (
    BadUnknownTags,
    EncodeError,
    HiddenValue,
    MissingField,
    NotInVersion,
    NullNotWritable,
    OutOfRange,
    TooLong,
    UnknownField,
    WrongType,
)
from .frame_errors import BadFrame, BytesAfterFrame, UnexpectedResponse, UnknownApi, UnknownVersion
from .input_errors import CallError, DumpError, MissingExtra, ZnodeError
from .record_errors import (
    BadBatchLength,
    BadCompression,
    BadOuterOffset,
    BadRecordCount,
    BadRecords,
    BadRecordSize,
    EmptyMessageSet,
    LimitExceeded,
    NestedCompression,
    UnknownCompression,
    UnknownMagic,
)
from .spec_errors import SpecError, UnknownMessage, UnsupportedVersion
from .texts import MOST_COMPARED, Segments, excerpt, json_problem, path_text, suggestion, version_hint, without_password
from .tolerated_faults import (
    BadBoolean,
    BadChecksum,
    BadMarker,
    BadText,
    CutBatch,
    DefaultTag,
    MixedMagic,
    NegativeLength,
    OverlongVarint,
    TagOrder,
    TagSize,
    TagTwice,
    Tolerated,
    TrailingBytes,
)

__all__ = [
    "MOST_COMPARED",
    "BadBatchLength",
    "BadBoolean",
    "BadChecksum",
    "BadCompression",
    "BadFrame",
    "BadLength",
    "BadMarker",
    "BadOuterOffset",
    "BadRecordCount",
    "BadRecordSize",
    "BadRecords",
    "BadTag",
    "BadText",
    "BadUnknownTags",
    "BadVarint",
    "BytesAfterFrame",
    "CallError",
    "CutBatch",
    "DecodeError",
    "DefaultTag",
    "DumpError",
    "EmptyMessageSet",
    "EncodeError",
    "FieldError",
    "HiddenValue",
    "KwireError",
    "LimitExceeded",
    "MissingExtra",
    "MissingField",
    "MixedMagic",
    "NegativeLength",
    "NestedCompression",
    "NoColumns",
    "NotInVersion",
    "NullNotAllowed",
    "NullNotWritable",
    "OutOfRange",
    "OverlongVarint",
    "Segments",
    "SpecError",
    "StringTooLong",
    "TagOfOtherVersion",
    "TagOrder",
    "TagSize",
    "TagTwice",
    "Tolerated",
    "TooLong",
    "TooManyFaults",
    "TrailingBytes",
    "Truncated",
    "UnexpectedResponse",
    "UnknownApi",
    "UnknownCompression",
    "UnknownField",
    "UnknownMagic",
    "UnknownMessage",
    "UnknownTagOrder",
    "UnknownVersion",
    "UnsupportedVersion",
    "WrongType",
    "ZnodeError",
    "excerpt",
    "json_problem",
    "path_text",
    "suggestion",
    "version_hint",
    "without_password",
]

for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__  # the public name, in tracebacks and pickles

__getattr__ = attach_former_names(__name__)
