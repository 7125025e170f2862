"""Recognises record batches in bytes: credible headers, correct checksums; whether bytes are a log."""

from __future__ import annotations

import re
from zlib import crc32

from ...codecs.records.crc32c import crc32c
from ...codecs.records.record_layouts import (
    BATCH,
    CHECKED_FROM,
    COMPRESSION,
    LEAST_LENGTH,
    LOG_OVERHEAD,
    MESSAGE,
    UP_TO_MAGIC,
)
from ...protocol import LEAST
from ...runtime.lazy_patterns import lazy_pattern

MOST_BATCH_BYTES = 100 * 1024 * 1024  # the largest batch; a broker accepts no larger request (socket.request.max.bytes)
NO, SHORT = -1, -2  # there is no batch; more bytes are needed to decide
_CODECS = {0: 4, 1: 4, 2: 5}
_NAMED_BITS = {0: 0x0F, 1: 0x0F, 2: 0x7F}
# The fields at the same position in every header: a non-negative offset, a length within the limit, a magic.
_HEADER = lazy_pattern(rb"(?=[\x00-\x7f].{7}[\x00-\x06].{7}[\x00-\x02])", re.DOTALL)
_NOT_ZERO = lazy_pattern(rb"[^\x00]")


def find_batch_end(data: bytes | bytearray, at: int) -> int:
    """Return the end of the batch whose header is at a position, by its length and magic; NO or SHORT without one."""
    left = len(data) - at
    if left < LOG_OVERHEAD:
        return SHORT
    length = int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
    if not LEAST_LENGTH[0] <= length <= MOST_BATCH_BYTES:
        return NO
    if left < UP_TO_MAGIC:
        return SHORT
    shortest = LEAST_LENGTH.get(data[at + 16])
    return NO if shortest is None or length < shortest else at + LOG_OVERHEAD + length


def find_credible_end(data: bytes | bytearray, at: int) -> int:
    """Return `find_batch_end`, but only for headers with fields that a correct writer could write."""
    stop = find_batch_end(data, at)
    if stop < 0:
        return stop
    magic = data[at + 16]
    if len(data) - at < LOG_OVERHEAD + LEAST_LENGTH[magic]:
        return SHORT
    credible = _is_credible_batch if magic == 2 else _is_credible_message
    return stop if credible(data, at, stop) else NO


def is_sound(data: bytes | bytearray, at: int, stop: int) -> bool:
    """Whether the checksum of a complete batch is correct."""
    magic = data[at + 16]
    checked = bytes(memoryview(data)[at + CHECKED_FROM[magic] : stop])
    if magic == 2:  # KIP-98 moved the checksum, and replaced CRC-32 by CRC-32C
        return int.from_bytes(data[at + 17 : at + 21], "big") == crc32c(checked)
    return int.from_bytes(data[at + 12 : at + 16], "big") == crc32(checked)


def find_candidate(data: bytearray, at: int) -> int | None:
    """Return the next position, from `at` on, at which a header could start; None if there is none."""
    while True:
        match = _HEADER.search(data, at)
        if match is None:
            return None
        candidate = match.start()
        del match  # otherwise `feed` could not append bytes
        if any(data[candidate : candidate + LOG_OVERHEAD]):
            return candidate
        # After zeros, a header starts at the earliest where its length is the first nonzero field.
        at = max(candidate + 1, find_nonzero(data, candidate) - LOG_OVERHEAD + 1)


def find_nonzero(data: bytes | bytearray, at: int) -> int:
    """Return the position of the first nonzero byte from `at` on; the end of the data if there is none."""
    match = _NOT_ZERO.search(data, at)
    return len(data) if match is None else match.start()


def looks_like_log(head: bytes) -> bool:
    """Whether bytes are the start of a log: a complete batch with a correct checksum, or a partial header.

    Args:
        head: the first bytes of a file or stream, the more the better.

    A frame has its size where a log has the upper half of its first offset, so the two cannot be confused below offset
    2**34; above it, only the checksum of a complete batch counts.
    """
    is_no_frame = int.from_bytes(head[:4], "big") < LEAST
    stop = find_credible_end(head, 0)
    if 0 <= stop <= len(head):
        return is_no_frame or is_sound(head, 0, stop)
    if not is_no_frame:
        return False
    return stop >= 0 or (stop == SHORT and len(head) >= LOG_OVERHEAD) or _holds_sound_batch(head)


def count_bytes_needed(head: bytes) -> int:
    """Return how many bytes `looks_like_log` needs, given the first bytes of an input; 0 if it cannot be a log."""
    if int.from_bytes(head[:4], "big") < LEAST:
        return BATCH.size  # impossible as a frame
    return max(0, find_credible_end(head, 0))


def _holds_sound_batch(head: bytes) -> bool:
    """Whether a valid batch follows damaged bytes."""
    data = bytearray(head)
    at = 0
    for _ in range(100):
        candidate = find_candidate(data, at)
        if candidate is None:
            return False
        stop = find_credible_end(data, candidate)
        if 0 <= stop <= len(data) and is_sound(data, candidate, stop):
            return True
        at = candidate + 1
    return False


def _is_credible_batch(data: bytes | bytearray, at: int, stop: int) -> bool:
    base, _, epoch, _, _, attributes, last, _, _, producer, producer_epoch, sequence, count = BATCH.unpack_from(
        data, at
    )
    if base < 0 or not _are_credible_attributes(attributes, 2) or not 0 <= count <= last + 1:
        return False
    numbers: list[int] = [epoch, producer, producer_epoch, sequence]
    return min(numbers) >= -1


def _is_credible_message(data: bytes | bytearray, at: int, stop: int) -> bool:
    offset, _, _, magic, attributes = MESSAGE.unpack_from(data, at)
    key: int = at + MESSAGE.size + 8 * magic
    value = key + 4 + max(0, _read_int32(data, key))
    if offset < 0 or not _are_credible_attributes(attributes, magic) or _read_int32(data, key) < -1 or value + 4 > stop:
        return False
    if value + 4 > len(data):
        return True  # not known yet
    return value + 4 + max(0, _read_int32(data, value)) == stop


def _are_credible_attributes(attributes: int, magic: int) -> bool:
    return not attributes & ~_NAMED_BITS[magic] and attributes & COMPRESSION < _CODECS[magic]


def _read_int32(data: bytes | bytearray, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big", signed=True)
