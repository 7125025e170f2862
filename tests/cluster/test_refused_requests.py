"""Messages stay in their order, and what was refused is known."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.events.observation import Observation
from kwire.cluster.history.partition_timeline import LAG
from kwire.cluster.refused_requests import judged
from tests.cluster.observations import leader_and_isr, refusal, update, view


def verdicts(*messages: Observation, most: int = 100) -> list[bool]:
    found = list(judged(messages, most))
    assert [one.observation for one in found] == list(messages)
    return [one.is_refused for one in found]


def test_a_request_is_refused_by_its_own_answer() -> None:
    asked = leader_and_isr(1.0, number=4)
    assert verdicts(asked, view(1.1), refusal(1.2, number=4)) == [True, False, False]
    assert verdicts(asked, refusal(1.2, number=5)) == [False, False]
    assert verdicts(asked, refusal(1.2, to=2, number=4)) == [False, False]
    assert verdicts(asked, refusal(1.2, error=77, number=4)) == [False, False]
    assert verdicts(update(1.0, number=4), refusal(1.2, number=4)) == [False, False]


def test_requests_do_not_wait_for_ever() -> None:
    asked = leader_and_isr(1.0, number=4)
    assert verdicts(asked, view(2.0 + LAG), refusal(3.0 + LAG, number=4)) == [False, False, False]
    assert verdicts(asked, view(1.1), view(1.1), refusal(1.2, number=4), most=2) == [False, False, False, False]


def test_messages_are_yielded_as_soon_as_possible() -> None:
    given_out = judged(iter([view(1.0), leader_and_isr(1.1), refusal(1.2, error=0), *[view(1.3)] * 10**6]))
    for name in ("MetadataResponse", "LeaderAndIsrRequest"):
        seen = next(given_out).observation
        assert isinstance(seen, Observation)
        assert seen.name == name


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.sampled_from([0, 11]))), st.integers(1, 5))
def test_nothing_is_lost_or_moved(said: list[tuple[bool, int, int]], most: int) -> None:
    verdicts(
        *(
            refusal(float(at), error=error, number=number) if is_answer else leader_and_isr(float(at), number=number)
            for at, (is_answer, number, error) in enumerate(said)
        ),
        most=most,
    )
