"""One member's values."""

from __future__ import annotations

from kwire.broker import Parked
from kwire.broker.groups.group import Member


def test_silence_counts_when_nothing_is_waited_for() -> None:
    member = Member("m", None, "c", "h", 10.0, 10.0, (("range", b"r"), ("sticky", b"s")))
    member.joining = Parked()
    assert member.can_expire  # it may never learn its id
    member.is_new = False
    assert not member.can_expire
    member.joining = None
    assert member.can_expire
    member.syncing = Parked()
    assert not member.can_expire


def test_what_it_says_and_takes() -> None:
    member = Member("m", None, "c", "h", 10.0, 10.0, (("range", b"r"), ("sticky", b"s")))
    assert (member.metadata("sticky"), member.metadata("none"), member.metadata(None)) == (b"s", b"", b"")
    size = member.measure()
    member.assignment = b"12345"
    assert member.measure() == size + 5
