"""How nearly all connections begin and end: SYN, SYN-ACK, and a FIN from either side, each with the numbers it must have.

Leaves a connection just as `tcp` would, which knows all that else may happen; refuses whatever is not ordinary.
"""

from __future__ import annotations

from .connections import Reassembler
from .halves import MASK, Half, ahead
from .link import ACK, FIN, RST, SYN, turned
from .tcp import Connection

KIND = FIN | SYN | RST | ACK


def take_ordinary(
    reassembler: Reassembler, half: Half | None, key: bytes, numbers: tuple[int, int], flags: int, now: int
) -> bool:
    """Take a packet without payload, of which no event follows; False if it is not ordinary.

    Args:
        reassembler: whose connection it is; the packet is not one at which it looks around.
        half: the side of the connection that sent it; None if there is no such connection.
        key: as of a `Segment`.
        numbers: sequence and acknowledgement.
        flags, now: as of a `Segment`.
    """
    kind = flags & KIND
    if half is None:
        return kind == SYN and _opened(reassembler, key, numbers[0], now)
    if kind == FIN | ACK:
        return _finished(reassembler, half, *numbers, now)
    return kind == SYN | ACK and _answered(reassembler, half, *numbers, now)


def _opened(reassembler: Reassembler, key: bytes, sequence: int, now: int) -> bool:
    if reassembler.is_full:
        return False
    connection = reassembler.add(key)
    half, _ = connection.halves
    half.opened = half.begun = True
    half.first = half.sequence = sequence + 1 & MASK
    connection.opener = 0
    _seen(reassembler, connection, now)
    reassembler.stuck[connection.number] = connection
    return True


def _answered(reassembler: Reassembler, half: Half, sequence: int, acknowledged: int, now: int) -> bool:
    connection, peer = half.connection, half.peer
    fresh = connection.packets == 1 and half.sequence is None
    if not fresh or connection.opener is not peer.side or acknowledged != peer.sequence or peer.position or peer.pieces:
        return False
    half.opened = half.begun = True
    half.first = half.sequence = sequence + 1 & MASK
    peer.acked = acknowledged
    connection.calm = True
    _seen(reassembler, connection, now)
    reassembler.stuck.pop(connection.number, None)
    return True


def _finished(reassembler: Reassembler, half: Half, sequence: int, acknowledged: int, now: int) -> bool:
    connection, peer = half.connection, half.peer
    if not connection.calm or connection.closed or half.end is not None:
        return False
    if sequence != half.sequence or acknowledged != peer.sequence:
        return False
    if peer.acked is None or ahead(acknowledged, peer.acked) > 0:
        peer.acked = acknowledged
    half.end = half.position
    half.sent = max(half.sent, half.position)
    half.finished = True
    half.sequence = sequence + 1 & MASK
    _seen(reassembler, connection, now)
    if peer.end is not None:
        connection.closed = True
        reassembler.closing[connection.number] = connection, now, reassembler.packets
    return True


def _seen(reassembler: Reassembler, connection: Connection, now: int) -> None:
    reassembler.now = connection.last = now
    connection.newest = reassembler.packets
    connection.packets += 1
