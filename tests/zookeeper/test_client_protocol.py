"""ZooKeeper's packets say what znodes hold; these are written by hand from zookeeper.jute."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from kwire.zookeeper import Znode, ZooKeeperConnection, ZooKeeperSessions

CREATE, DELETE, GET_DATA, SET_DATA, GET_CHILDREN, MULTI, CHECK, CLOSE = 1, 2, 4, 5, 8, 14, 13, -11
ACL = struct.pack(">ii", 1, 31) + struct.pack(">i", 5) + b"world" + struct.pack(">i", 6) + b"anyone"
CONNECT = struct.pack(">iqiq", 0, 0, 30000, 0) + struct.pack(">i", 16) + bytes(16) + b"\0"
CONNECTED = struct.pack(">iiq", 0, 30000, 77) + struct.pack(">i", 16) + bytes(16) + b"\0"


def packet(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def buffer(data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">i", len(data)) + data


def stat(mzxid: int, version: int, mtime: int = 5000) -> bytes:
    return struct.pack(">qqqqiiiqiiq", 1, mzxid, 0, mtime, version, 0, 0, 0, 0, 0, 0)


def asked(xid: int, kind: int, body: bytes) -> tuple[bool, bytes]:
    return True, packet(struct.pack(">ii", xid, kind) + body)


def answered(xid: int, zxid: int, body: bytes = b"", error: int = 0) -> tuple[bool, bytes]:
    return False, packet(struct.pack(">iqi", xid, zxid, error) + body)


def created(path: str, data: str, flags: int = 0) -> bytes:
    return buffer(path) + buffer(data) + ACL + struct.pack(">i", flags)


def seen(*packets: tuple[bool, bytes], sessions: ZooKeeperSessions | None = None) -> list[Znode]:
    connection = ZooKeeperConnection(sessions or ZooKeeperSessions())
    return [one for is_client, data in packets for one in connection.packet(is_client, data, 9.0)]


def test_what_is_created_set_read_and_deleted() -> None:
    assert seen(
        (True, packet(CONNECT)),
        (False, packet(CONNECTED)),
        asked(1, CREATE, created("/a", "x")),
        asked(2, SET_DATA, buffer("/a") + buffer("y") + struct.pack(">i", 0)),
        answered(1, 11, buffer("/a")),
        answered(2, 12, stat(12, 1)),
        asked(3, GET_DATA, buffer("/b") + b"\1"),
        answered(3, 12, buffer("z") + stat(7, 4)),
        asked(4, GET_CHILDREN, buffer("/c") + b"\1"),
        answered(4, 12, struct.pack(">i", 2) + buffer("one") + buffer("two")),
        asked(5, DELETE, buffer("/a") + struct.pack(">i", -1)),
        answered(5, 13),
    ) == [
        Znode("/a", b"x", 0, 11, 9.0),
        Znode("/a", b"y", 1, 12, 5.0),
        Znode("/b", b"z", 4, 7, 5.0),
        Znode("/c", None, -1, 12, 9.0, ("one", "two")),
        Znode("/a", None, -1, 13, 9.0),
    ]


def multi(*parts: tuple[int, bytes]) -> bytes:
    return b"".join(struct.pack(">i?i", kind, False, -1) + body for kind, body in parts) + struct.pack(
        ">i?i", -1, 1, -1
    )


def test_a_transaction_is_done_whole_or_not_at_all() -> None:
    parts = multi((CHECK, buffer("/e") + bytes(4)), (SET_DATA, buffer("/a") + buffer("y") + bytes(4)))
    done = struct.pack(">i?i", CHECK, False, 0) + struct.pack(">i?i", SET_DATA, False, 0) + stat(12, 1)
    failed = struct.pack(">i?i", -1, False, -103) + struct.pack(">i", -103)
    assert seen(asked(1, MULTI, parts), answered(1, 12, done)) == [Znode("/a", b"y", 1, 12, 5.0)]
    assert seen(asked(1, MULTI, parts), answered(1, 12, failed)) == []


def test_ephemeral_nodes_go_with_their_session() -> None:
    begin = (True, packet(CONNECT)), (False, packet(CONNECTED))
    create = asked(1, CREATE, created("/brokers/ids/1", "{}", 1)), answered(1, 11, buffer("/brokers/ids/1"))
    sessions = ZooKeeperSessions()
    assert len(seen(*begin, *create, sessions=sessions)) == 1
    again = seen(*begin, asked(9, CLOSE, b""), answered(9, 20), sessions=sessions)  # on another connection
    assert again == [Znode("/brokers/ids/1", None, -1, 20, 9.0)]


def test_refusals_and_replies_without_captured_requests_are_ignored() -> None:
    assert seen(asked(1, CREATE, created("/a", "x")), answered(1, 11, error=-110)) == []
    assert seen(answered(4, 12, stat(3, 1))) == []
    assert seen(answered(-1, -1, struct.pack(">ii", 3, 3) + buffer("/a"))) == []  # a notification
    assert seen(asked(3, GET_DATA, buffer("/b") + b"\1"), answered(3, 8, error=-101)) == [Znode("/b", None, -1, 8, 9.0)]


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=80))))
def test_other_bytes_do_no_harm(packets: list[tuple[bool, bytes]]) -> None:
    seen(*((is_client, packet(data)) for is_client, data in packets))


def test_transactions_inside_transactions_do_not_exhaust_the_stack() -> None:
    assert seen(asked(1, MULTI, struct.pack(">i?i", MULTI, False, -1) * 100_000)) == []
