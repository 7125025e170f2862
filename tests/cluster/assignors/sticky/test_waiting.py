"""Members that wait, compared with a plain list that is searched from the front."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.assignors.sticky.waiting import WaitingMembers

RACKS = {f"c{number}": rack for number, rack in enumerate("abcabcaab")} | {"c9": "d"}
MEMBERS = [*RACKS, "c10"]


def searched(members: list[str], racks: set[str], start: int) -> str | None:
    turned = members[start:] + members[:start]
    return next((one for one in turned if RACKS.get(one) in racks), None)


@given(st.permutations(MEMBERS), st.lists(st.tuples(st.sets(st.sampled_from("abcdx")), st.booleans()), max_size=30))
def test_the_next_in_a_rack(members: list[str], questions: list[tuple[set[str], bool]]) -> None:
    waiting, start = WaitingMembers(members, RACKS), 0
    last: str | None = None
    for racks, leaves in questions:
        found = waiting.next_in(racks, last)
        assert found == searched(members, racks, start)
        if found is not None:
            last, start = found, members.index(found)
            if leaves:
                waiting.remove(found)
                members.remove(found)
            else:
                start += 1
            start = start % len(members) if members else 0
    assert list(waiting) == members
    assert len(waiting) == len(members)


def test_the_first_goes_and_a_new_one_waits_behind_all() -> None:
    waiting = WaitingMembers(["c3", "c1", "c2"], RACKS)
    waiting.remove("c3")
    assert waiting.pop() == "c1"
    waiting.add("c3")
    assert [waiting.pop(), waiting.pop()] == ["c2", "c3"]
    waiting.add("c5")
    waiting.clear()
    assert (len(waiting), waiting.next_in("abc")) == (0, None)
