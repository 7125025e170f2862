"""Commits, and what they take."""

from __future__ import annotations

from kwire.broker.groups.group import Commit, Commits, Held


def test_what_is_kept_is_counted_once() -> None:
    held = Held(1 << 20)
    commits = Commits(held)
    assert not commits
    commits.put("t", 0, Commit(1, 0, "meta", bytes(16)))
    size = held.size
    commits.put("t", 0, Commit(2, 0, "metadata", bytes(16)))
    assert (held.size, commits.get("t", 0, bytes(16))) == (size + 4, Commit(2, 0, "metadata", bytes(16)))
    commits.put("t", 3, Commit(1, 0, "", b"x" * 16))
    assert (commits.get("t", 3, bytes(16)), list(commits.topics())) == (None, [("t", [0, 3])])
    commits.clear()
    assert (held.size, bool(commits)) == (0, False)
