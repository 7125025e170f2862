"""Faults in bytes that Kafka tolerates: errors in strict mode; in salvage, a value and this fault."""

from __future__ import annotations

from .decode_errors import DecodeError


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
