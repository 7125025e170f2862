"""How much bytes look like a batch, and like the beginning of a log. Knows headers; keeps nothing."""

from __future__ import annotations

import re
from zlib import crc32

from ..frames import LEAST
from ..records.checksums import crc32c
from ..records.layouts import BATCH, CHECKED_FROM, COMPRESSION, LEAST_LENGTH, LOG_OVERHEAD, MESSAGE, UP_TO_MAGIC

LIMIT = 100 * 1024 * 1024  # bytes of a batch; a broker takes no request above it (socket.request.max.bytes)
NO, SHORT = -1, -2  # not so; not to be known before more bytes are there
_CODECS = {0: 4, 1: 4, 2: 5}
_NAMED_BITS = {0: 0x0F, 1: 0x0F, 2: 0x7F}
# What every header has at the same places: an offset that is not negative, a length in the limit, a magic.
_HEADER = re.compile(rb"(?=[\x00-\x7f].{7}[\x00-\x06].{7}[\x00-\x02])", re.DOTALL)
_NOT_ZERO = re.compile(rb"[^\x00]")


def stop_of(data: bytes | bytearray, at: int) -> int:
    """Return where the batch ends whose header begins at a place, going by length and magic; or NO, or SHORT."""
    left = len(data) - at
    if left < LOG_OVERHEAD:
        return SHORT
    length = int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
    if not LEAST_LENGTH[0] <= length <= LIMIT:
        return NO
    if left < UP_TO_MAGIC:
        return SHORT
    least = LEAST_LENGTH.get(data[at + 16])
    return NO if least is None or length < least else at + LOG_OVERHEAD + length


def credible_stop(data: bytes | bytearray, at: int) -> int:
    """As `stop_of`, of headers all of whose fields are what a right writer writes."""
    stop = stop_of(data, at)
    if stop < 0:
        return stop
    magic = data[at + 16]
    if len(data) - at < LOG_OVERHEAD + LEAST_LENGTH[magic]:
        return SHORT
    credible = _credible_batch if magic == 2 else _credible_message
    return stop if credible(data, at, stop) else NO


def is_sound(data: bytes | bytearray, at: int, stop: int) -> bool:
    """Whether the checksum of a whole batch is right."""
    magic = data[at + 16]
    checked = bytes(memoryview(data)[at + CHECKED_FROM[magic] : stop])
    place = at + (17 if magic == 2 else 12)
    return int.from_bytes(data[place : place + 4], "big") == (crc32c if magic == 2 else crc32)(checked)


def next_candidate(data: bytearray, at: int) -> int | None:
    """Return the next place from `at` on where a header could begin; None if there is none in these bytes."""
    while True:
        found = _HEADER.search(data, at)
        if found is None:
            return None
        place = found.start()
        del found  # or the bytes could not be fed on
        if any(data[place : place + LOG_OVERHEAD]):
            return place
        # Among zeros, a header begins so early at most that its length is the first thing in it.
        at = max(place + 1, first_not_zero(data, place) - LOG_OVERHEAD + 1)


def first_not_zero(data: bytes | bytearray, at: int) -> int:
    """Return the place of the first byte from `at` on that is not zero; the end if there is none."""
    found = _NOT_ZERO.search(data, at)
    return len(data) if found is None else found.start()


def looks_like_log(head: bytes) -> bool:
    """Say whether bytes are the beginning of a log: by a whole batch and its checksum, or by what is there of a header.

    Args:
        head: the first bytes of something, the more the better.

    A frame's size is where a log has the upper half of its first offset, so that below offset 2**34 they cannot be
    mistaken for each other; above it, only the checksum of a whole batch counts.
    """
    is_no_frame = int.from_bytes(head[:4], "big") < LEAST
    stop = credible_stop(head, 0)
    if 0 <= stop <= len(head):
        return is_no_frame or is_sound(head, 0, stop)
    if not is_no_frame:
        return False
    return stop >= 0 or (stop == SHORT and len(head) >= LOG_OVERHEAD) or _begins_damaged(head)


def _begins_damaged(head: bytes) -> bool:
    """Whether there is a good batch behind damage."""
    data, at = bytearray(head), 0
    for _ in range(100):
        place = next_candidate(data, at)
        if place is None:
            return False
        stop = credible_stop(data, place)
        if 0 <= stop <= len(data) and is_sound(data, place, stop):
            return True
        at = place + 1
    return False


def _credible_batch(data: bytes | bytearray, at: int, stop: int) -> bool:
    base, _, epoch, _, _, attributes, last, _, _, producer, producer_epoch, sequence, count = BATCH.unpack_from(
        data, at
    )
    if base < 0 or not _are_credible(attributes, 2) or not 0 <= count <= last + 1:
        return False
    numbers: list[int] = [epoch, producer, producer_epoch, sequence]
    return min(numbers) >= -1


def _credible_message(data: bytes | bytearray, at: int, stop: int) -> bool:
    offset, _, _, magic, attributes = MESSAGE.unpack_from(data, at)
    key: int = at + MESSAGE.size + 8 * magic
    value = key + 4 + max(0, _length(data, key))
    if offset < 0 or not _are_credible(attributes, magic) or _length(data, key) < -1 or value + 4 > stop:
        return False
    if value + 4 > len(data):
        return True  # not to be known yet
    return value + 4 + max(0, _length(data, value)) == stop


def _are_credible(attributes: int, magic: int) -> bool:
    return not attributes & ~_NAMED_BITS[magic] and attributes & COMPRESSION < _CODECS[magic]


def _length(data: bytes | bytearray, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big", signed=True)
