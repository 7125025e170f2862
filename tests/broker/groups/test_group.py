"""One group's values."""

from __future__ import annotations

from kwire.broker.groups.group import Group, Held, Member


def member(name: str, *protocols: str, instance: str | None = None) -> Member:
    return Member(name, instance, "c", "h", 10.0, len(name), tuple((one, b"") for one in protocols))


def test_votes_are_for_what_all_can_go_by() -> None:
    group = Group("g", Held(1 << 20))
    first, second, third = member("a", "x", "y", "z"), member("bb", "z", "y"), member("c", "z", "y", "z")
    for one in (first, second, third):
        group.add(one)
    assert (group.choose_protocol(), group.rebalance_timeout) == ("z", 2)
    group.update(second, (("y", b""),))
    assert (group.choose_protocol(), group.supports((("z", b""),))) == ("y", False)
    group.remove(second)
    assert (group.supports((("z", b""),)), group.leader) == (True, "a")
    group.remove(first)
    group.remove(third)
    assert (group.supported, group.leader, group.held.size, group.rebalance_timeout) == ({}, None, group.size, 0)


def test_a_static_member_with_a_new_id_keeps_its_place() -> None:
    group = Group("g", Held(1 << 20))
    for one in (member("a", "x", instance="i"), member("b", "x")):
        group.add(one)
    group.rename(group.members["a"], "new")
    assert (list(group.members), group.leader, group.static) == (["new", "b"], "new", {"i": "new"})
