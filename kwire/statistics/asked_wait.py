"""The time that a request lets its broker wait, apart from slowness: long polls, and members waiting for a group."""

from __future__ import annotations

from struct import Struct

from ..errors import DecodeError
from ..protocol.headers.header import Header

MILLISECOND = 1_000_000  # nanoseconds
FETCH, JOIN_GROUP, SYNC_GROUP, SHARE_FETCH = 1, 11, 14, 78
WAITING = frozenset((FETCH, JOIN_GROUP, SYNC_GROUP, SHARE_FETCH))
SYNC_TIMEOUT = 300_000  # milliseconds: `max.poll.interval.ms`, which JoinGroup sends as rebalance timeout
_INTS = Struct(">ii").unpack_from


def asked_wait(header: Header, data: bytes) -> int:
    """Return how long a request lets its broker wait, in nanoseconds; 0 if it asks for an answer at once.

    Fetch and ShareFetch wait up to `max_wait_ms` for `min_bytes` of records (`DelayedFetch`). JoinGroup waits for the
    other members, up to the rebalance timeout; in version 0, up to the session timeout (`DelayedJoin`). SyncGroup
    waits for the assignment by the leader.

    Args:
        header: the header of the request.
        data: the frame, which may be truncated.
    """
    call = header.call
    if call is None or call.api.key not in WAITING:
        return 0
    if call.api.key == FETCH:
        return _fetch_wait(header, data)
    if call.api.key == SYNC_GROUP:
        return SYNC_TIMEOUT * MILLISECOND
    codec = header.codec
    if codec is None:
        return 0
    try:
        message = codec.decode(data[header.body_start(data) :], salvage=True)[0]
    except (DecodeError, ValueError):
        return 0
    if call.api.key == SHARE_FETCH:
        return int(message.max_wait_ms) * MILLISECOND if message.max_wait_ms > 0 and message.min_bytes > 0 else 0
    timeout = message.rebalance_timeout_ms if call.version >= 1 else message.session_timeout_ms
    return int(max(timeout, 0)) * MILLISECOND


def _fetch_wait(header: Header, data: bytes) -> int:
    """Read `max_wait_ms` and `min_bytes`, the first fields of a Fetch request; before KIP-903 behind the replica id."""
    try:
        start = header.body_start(data) + (4 if (header.api_version or 0) < 15 else 0)
    except (DecodeError, ValueError):
        return 0
    if start + 8 > len(data):
        return 0
    wait, min_bytes = _INTS(data, start)
    return max(wait, 0) * MILLISECOND if min_bytes > 0 else 0
