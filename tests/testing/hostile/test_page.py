"""The page about hostile peers has each kind, as the commands list it."""

from __future__ import annotations

from kwire.testing.hostile import BROKER_KINDS, CLIENT_KINDS
from tests.docs.pages import text_of


def test_the_page_has_a_row_for_each_kind_and_no_other() -> None:
    rows = [line for line in text_of("docs/how-to/hostile-peers.md").splitlines() if line.startswith("| `")]
    brokers = [(kind.name, kind.does, kind.sound) for kind in BROKER_KINDS.values()]
    clients = [(kind.name, kind.does, kind.sound) for kind in CLIENT_KINDS.values()]
    assert rows == [f"| `{name}` | {does} | {sound} |" for name, does, sound in brokers + clients]
