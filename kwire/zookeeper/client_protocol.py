"""Decodes the parts of ZooKeeper's client protocol that concern znodes: path, data, version, children.

`ZooKeeperConnection` takes the packets of a connection and yields znodes. Requests and replies are matched by their
xid. Replies without a captured request and packets that do not decode are ignored. Source: `zookeeper.jute` of Apache
ZooKeeper 3.8 (records), and `ZooDefs.OpCode` (operations).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .znode import Znode

CREATE, DELETE, EXISTS, GET_DATA, SET_DATA, GET_CHILDREN = 1, 2, 3, 4, 5, 8
GET_CHILDREN_2, CHECK, MULTI, CREATE_2, CREATE_CONTAINER, CREATE_TTL = 12, 13, 14, 15, 19, 21
_CREATES = (CREATE, CREATE_2, CREATE_CONTAINER, CREATE_TTL)
CLOSE_SESSION, ERROR = -11, -1
NO_NODE = -101
_NOTIFICATION = -1  # the xid of a notification
_EPHEMERAL = 1  # flag of a create request
_SET_BY = 1000  # milliseconds in a second


class _Cut(Exception):
    """A record ends before its last field."""


class _Jute:
    """Reads values of jute's types from a packet."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def numbers(self, layout: str) -> tuple[Any, ...]:
        size = struct.calcsize(layout)
        if self._at + size > len(self._data):
            raise _Cut
        numbers = struct.unpack_from(layout, self._data, self._at)
        self._at += size
        return numbers

    def buffer(self) -> bytes | None:
        (size,) = self.numbers(">i")
        if size < 0:
            return None
        if self._at + size > len(self._data):
            raise _Cut
        data = self._data[self._at : self._at + size]
        self._at += size
        return data

    def text(self) -> str:
        return (self.buffer() or b"").decode("utf-8", "replace")

    def texts(self) -> tuple[str, ...]:
        (count,) = self.numbers(">i")
        return tuple(self.text() for _ in range(min(max(count, 0), len(self._data))))

    def stat(self) -> tuple[int, int, int]:
        """Return the mzxid, mtime and version of a Stat: czxid, mzxid, ctime, mtime, version and six others."""
        _, mzxid, _, mtime, version, *_ = self.numbers(">qqqqiiiqiiq")
        return mzxid, mtime, version


class _ZkRequest(NamedTuple):
    """A request, or one operation of a transaction."""

    kind: int
    path: str = ""
    data: bytes | None = None
    is_ephemeral: bool = False
    parts: tuple[_ZkRequest, ...] = ()


def _read_request(kind: int, body: _Jute) -> _ZkRequest:
    if kind in _CREATES:
        return _read_create(kind, body)
    if kind == MULTI:
        parts = []
        while not (head := body.numbers(">i?i"))[1]:
            if head[0] == MULTI:  # a transaction contains no other transaction
                raise _Cut
            parts.append(_read_request(head[0], body))
        return _ZkRequest(kind, parts=tuple(parts))
    if kind in (DELETE, CHECK, SET_DATA):
        request = _ZkRequest(kind, body.text(), body.buffer() if kind == SET_DATA else None)
        body.numbers(">i")  # the expected version
        return request
    if kind in (EXISTS, GET_DATA, GET_CHILDREN, GET_CHILDREN_2):
        return _ZkRequest(kind, body.text())
    return _ZkRequest(kind)


def _read_create(kind: int, body: _Jute) -> _ZkRequest:
    path = body.text()
    data = body.buffer()
    (count,) = body.numbers(">i")
    for _ in range(max(count, 0)):
        body.numbers(">i")  # permissions
        body.buffer(), body.buffer()  # scheme and id, which may contain the hash of a password: not stored
    (flags,) = body.numbers(">i")
    if kind == CREATE_TTL:
        body.numbers(">q")
    return _ZkRequest(kind, path, data, bool(flags & _EPHEMERAL))


class ZooKeeperSessions:
    """The sessions of one ensemble; ephemeral nodes are deleted with their session."""

    def __init__(self) -> None:
        self.ephemerals: dict[object, dict[str, int]] = {}  # by session: path -> the transaction that created it


class ZooKeeperConnection:
    """One connection of a client to ZooKeeper.

    Args:
        sessions: the sessions of the ensemble; a session may outlive its connection.

    >>> connection = ZooKeeperConnection(ZooKeeperSessions())
    >>> asked = bytes.fromhex("00000010 00000001 00000004 00000003 2f612f 00".replace(" ", ""))
    >>> list(connection.packet(True, asked, 1.0))
    []
    """

    def __init__(self, sessions: ZooKeeperSessions) -> None:
        self._sessions = sessions
        self._session: object = self
        self._in_flight: dict[int, _ZkRequest] = {}
        self._is_new = [True, True]

    def packet(self, is_client: bool, data: bytes, time: float | None) -> Iterator[Znode]:
        """Process the next packet; yield the znodes that it contains.

        Args:
            is_client: whether the packet was sent by the client.
            data: the packet, including its length.
            time: when it was captured, in seconds since 1970.
        """
        body = _Jute(data[4:])
        is_new = self._is_new[is_client]
        self._is_new[is_client] = False
        try:
            if is_new and data[4:8] == bytes(4):
                self._connect(is_client, body)
            elif is_client:
                xid, kind = body.numbers(">ii")
                self._in_flight[xid] = _read_request(kind, body)
            else:
                yield from self._apply_reply(body, time)
        except _Cut:
            return

    def _connect(self, is_client: bool, body: _Jute) -> None:
        if not is_client:
            _, _, self._session = body.numbers(">iiq")

    def _apply_reply(self, body: _Jute, time: float | None) -> Iterator[Znode]:
        """Process a ReplyHeader and what follows it; yield the znodes.

        1. The xid names the request; a watch event has xid -1 and no request.
        2. A transaction (multi) is applied as a whole, or not at all.
        3. The end of a session deletes its ephemeral nodes.
        4. The error NoNode means that a node does not exist; after other errors nothing is known.
        """
        xid, zxid, error = body.numbers(">iqi")
        request = self._in_flight.pop(xid, None)
        if request is None or xid == _NOTIFICATION:
            return
        if request.kind == MULTI:
            if not error:
                yield from self._apply_transaction(request, body, zxid, time)
        elif request.kind == CLOSE_SESSION:
            for path in self._sessions.ephemerals.pop(self._session, {}):
                yield Znode(path, None, -1, zxid, time)
        elif error == NO_NODE and request.kind in (EXISTS, GET_DATA):
            yield Znode(request.path, None, -1, zxid, time)
        elif not error:
            yield from self._apply_result(request, body, zxid, time)

    def _apply_transaction(self, request: _ZkRequest, body: _Jute, zxid: int, time: float | None) -> Iterator[Znode]:
        znodes: list[Znode] = []
        for part in request.parts:
            kind, is_last, error = body.numbers(">i?i")
            if is_last or error or kind == ERROR:
                return  # if one operation of a transaction fails, none is applied
            znodes += self._apply_result(part, body, zxid, time)
        yield from znodes

    def _apply_result(self, request: _ZkRequest, body: _Jute, zxid: int, time: float | None) -> Iterator[Znode]:
        act = _RESULTS.get(request.kind)
        if act is not None:
            yield from act(self, request, body, zxid, time)

    def _apply_create(self, request: _ZkRequest, body: _Jute, zxid: int, time: float | None) -> Iterator[Znode]:
        path = body.text()
        if request.kind != CREATE:
            _, mtime, _ = body.stat()
            time = mtime / _SET_BY
        if request.is_ephemeral:
            self._sessions.ephemerals.setdefault(self._session, {})[path] = zxid
        yield Znode(path, request.data or b"", 0, zxid, time)

    def _apply_set_data(self, request: _ZkRequest, body: _Jute, zxid: int, time: float | None) -> Iterator[Znode]:
        mzxid, mtime, version = body.stat()
        yield Znode(request.path, request.data or b"", version, mzxid, mtime / _SET_BY)

    def _apply_get_data(self, request: _ZkRequest, body: _Jute, zxid: int, time: float | None) -> Iterator[Znode]:
        data = body.buffer()
        mzxid, mtime, version = body.stat()
        yield Znode(request.path, data or b"", version, mzxid, mtime / _SET_BY)

    def _apply_delete(self, request: _ZkRequest, body: _Jute, zxid: int, time: float | None) -> Iterator[Znode]:
        for paths in self._sessions.ephemerals.values():
            paths.pop(request.path, None)
        yield Znode(request.path, None, -1, zxid, time)

    def _apply_get_children(self, request: _ZkRequest, body: _Jute, zxid: int, time: float | None) -> Iterator[Znode]:
        yield Znode(request.path, None, -1, zxid, time, body.texts())


_Result = Callable[[ZooKeeperConnection, _ZkRequest, _Jute, int, float | None], Iterator[Znode]]


_RESULTS: dict[int, _Result] = {
    **dict.fromkeys(_CREATES, ZooKeeperConnection._apply_create),
    SET_DATA: ZooKeeperConnection._apply_set_data,
    GET_DATA: ZooKeeperConnection._apply_get_data,
    DELETE: ZooKeeperConnection._apply_delete,
    GET_CHILDREN: ZooKeeperConnection._apply_get_children,
    GET_CHILDREN_2: ZooKeeperConnection._apply_get_children,
}
