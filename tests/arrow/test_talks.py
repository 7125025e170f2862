"""What waits for an answer, and what is forgotten."""

from __future__ import annotations

from kwire.arrow.apis import Apis
from kwire.arrow.talks import Talk
from kwire.catalog import catalog_for
from kwire.frames.peeking import MOST_WAITING

APIS = Apis(catalog_for())
METADATA = APIS.get(3 << 16 | 1)


def test_answers_overtake() -> None:
    assert METADATA is not None
    talk = Talk(None)
    for number in (1, 2, 2, 3):
        talk.add((number, METADATA, "me"))
    assert talk.later(9, None) is None
    assert talk.later(2, None) == (2, METADATA, "me")
    assert [asked[0] for asked in talk.waiting] == [2, 3]
    assert talk.later(1, False) is None


def test_memory_is_bounded() -> None:
    assert METADATA is not None
    talk = Talk(None)
    for number in range(3 * MOST_WAITING):
        talk.add((number, METADATA, None))
    assert len(talk.waiting) == MOST_WAITING
    assert len(talk.ids) <= 2 * MOST_WAITING + 1
    assert talk.awaits(3 * MOST_WAITING - 1)


def test_headers_of_requests() -> None:
    talk = Talk(None)
    head = bytes.fromhex("00000000 0003 0001 00000007")
    assert talk.request(head + b"\0\2me", APIS) == (7, METADATA, "me")
    assert talk.request(head + b"\xff\xff", APIS) == (7, METADATA, None)
    assert talk.request(head + b"\0\1\xff", APIS) == (7, METADATA, "�")
    for bad in (head, head[:-1], head + b"\0\3me", head + b"\xff\xfe", head[:4] + b"\x7f\xff" + head[6:] + b"\0\0"):
        assert talk.request(bad, APIS) is None
