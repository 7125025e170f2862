"""The subclasses of `DecodeError`, each with its text and hint.

DecodeError
+-- Truncated               +-- BadLength
+-- NullNotAllowed
+-- StringTooLong
+-- BadVarint
+-- BadTag                  +-- TagOfOtherVersion, UnknownTagOrder
+-- TooManyFaults, NoColumns
+-- BadFrame, UnknownApi, UnknownVersion, UnexpectedResponse
+-- BadRecords              record batches that Kafka refuses
    +-- BadBatchLength, BadRecordSize, BadRecordCount
    +-- EmptyMessageSet, NestedCompression, BadOuterOffset
    +-- UnknownMagic, UnknownCompression, BadCompression
    +-- LimitExceeded       the one refusal that is kwire's own
+-- Tolerated               refused in strict, a value and this fault in salvage
    +-- TrailingBytes, NegativeLength, OverlongVarint, BadText, BadBoolean, BadMarker
    +-- TagOrder, TagTwice, TagSize
    +-- BadChecksum, CutBatch, MixedMagic
    +-- DefaultTag          accepted in strict too: noted, and left out when encoding again
+-- NoFrame                 bytes outside frames; it and errors of frames with missing bytes
                            (CutShort, RequestNotCaptured) are in `kwire.protocol.framing`
"""

from __future__ import annotations

from . import DecodeError


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
    """Kafka refuses text of more than 32,767 bytes, in compact strings too."""

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
    """A tag that the struct has in another version only."""

    problem = "tag {found} does not belong to this version"
    hint = "try another version"


class UnknownTagOrder(BadTag):
    """Unknown tags must ascend."""

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
        """Distinguish frames above the size limit from impossible sizes."""
        return "OVERSIZE" if (self.found or 0) > (self.have or 0) else "BAD_SIZE"


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
    """A response that matches no request in flight; `need` is the correlation id of the oldest of these."""

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
    """An invalid offset of a compressed message of magic 1, which must be that of its last record."""

    problem = "offset {found} of the message around is less than {need}, that of the last one inside"


class UnknownMagic(BadRecords):
    """A record format that does not exist."""

    problem = "magic {found}; 0, 1 and 2 are known"
    hint = "a newer broker or client; or these bytes are not record batches"


class UnknownCompression(BadRecords):
    """A compression that does not exist, or not in this magic (zstd before magic 2)."""

    quotes = False
    problem = "compression {found[0]} does not exist in magic {found[1]}"


class BadCompression(BadRecords):
    """Compressed records that do not decompress."""

    quotes = False
    problem = "the records do not decompress as {found[0]}: {found[1]}"


class LimitExceeded(BadRecords):
    """Records that would take more memory than is allowed once decompressed."""

    problem = "{have} bytes of {found} hold more than {need} bytes"
    hint = "allow more with limit="


class Tolerated(DecodeError):
    """An encoding that Kafka accepts although no correct encoder writes it.

    Strict decoding raises it; salvage keeps a value and notes the fault, with the bytes in `raw`.
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

    problem = "a varint in {have} bytes where {need} would do"


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
    """A known tag given twice; the last one counts, `raw` has the first."""

    problem = "tag {found} is given twice"


class TagSize(Tolerated):
    """A known tag with a wrong size field, which Kafka ignores."""

    problem = "the tag's size field is {found}, its value takes {have} bytes"


class BadChecksum(Tolerated):
    """A batch or message whose checksum does not match its bytes; `found` has both checksums, in hex."""

    problem = "checksum {found[0]}; the bytes have {found[1]}"
    hint = "the bytes were damaged or changed after they were written"


class CutBatch(Tolerated):
    """A truncated last batch. Brokers truncate Fetch responses so, and consumers skip it; `raw` has its bytes."""

    problem = "the batch is cut off: {need} bytes needed, {have} left"


class MixedMagic(Tolerated):
    """A message of another magic than the compressed one around it."""

    problem = "a message of magic {found} in a message set of magic {need}"


class DefaultTag(Tolerated):
    """A known tag that holds its default. The protocol allows it; it is left out when encoding again."""

    problem = "tag {found} holds its default value"
