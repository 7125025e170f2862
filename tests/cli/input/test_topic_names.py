"""Names of topic ids that come later in the input."""

from __future__ import annotations

from collections.abc import Iterator

from kwire.cli.input.topic_names import LookAhead
from kwire.protocol.message_summary import MessageSummary

FIRST, SECOND, NEVER = (bytes(15) + bytes([number]) for number in (7, 8, 9))


def test_input_is_read_ahead_once_and_no_further_than_the_name() -> None:
    summary, steps = MessageSummary(), list[str]()

    def learn() -> Iterator[None]:
        for topic_id, name in ((FIRST, "orders"), (bytes(16), "x"), (SECOND, "payments"), (bytes(16), "y")):
            steps.append(name)
            assert summary.name_topic(NEVER, None) == "?00000000"  # unknown topics among what is read
            summary.name_topic(topic_id, name)
            yield

    summary.look_ahead = LookAhead(learn(), summary)
    assert summary.name_topic(FIRST, None) == "orders"
    assert steps == ["orders"]
    assert summary.name_topic(FIRST, None) == "orders"
    assert summary.name_topic(SECOND, None) == "payments"
    assert steps == ["orders", "x", "payments"]
    assert summary.name_topic(NEVER, None) == "?00000000"
    assert steps == ["orders", "x", "payments", "y"]
    assert summary.look_ahead is None
