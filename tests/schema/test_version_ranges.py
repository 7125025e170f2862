"""Version ranges as Kafka's specs write them."""

from __future__ import annotations

import pytest

from kwire.schema.version_ranges import HIGHEST_VERSION, Versions

NONE = Versions()


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("none", ()),
        ("3", ((3, 3),)),
        ("0-8", ((0, 8),)),
        ("4+", ((4, 32767),)),
        ("0+", ((0, 32767),)),
        ("0,8+", ((0, 0), (8, 32767))),
        ("0-3,5,7-9", ((0, 3), (5, 5), (7, 9))),
        ("32767", ((32767, 32767),)),
    ],
)
def test_a_range_reads_and_writes_as_the_specs_have_it(text: str, ranges: tuple[tuple[int, int], ...]) -> None:
    versions = Versions.parse(text)
    assert versions.ranges == ranges
    assert versions == Versions(ranges)
    assert str(versions) == ("32767+" if text == "32767" else text)


@pytest.mark.parametrize(
    ("text", "same"),
    [(" 0-8 ", "0-8"), (" none\n", "none"), ("5-5", "5"), ("4-32767", "4+"), ("0-1 , 3", "0-1,3"), ("007", "7")],
)
def test_another_way_to_write_a_range_is_the_same_range(text: str, same: str) -> None:
    assert Versions.parse(text) == Versions.parse(same)
    assert str(Versions.parse(text)) == same


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'' is not a version range"),
        ("-1", "'-1' is not a version range"),
        ("1-", "'1-' is not a version range"),
        ("a+", "'a+' is not a version range"),
        ("1.0", "'1.0' is not a version range"),
        ("3 - 5", "'3 - 5' is not a version range"),
        ("1+-3", "'1+-3' is not a version range"),
        ("0-2147483647", "'0-2147483647' is not a version range"),
        ("0,none", "'none' is not a version range"),
        ("0,", "'' is not a version range"),
        ("\u0663", "'\u0663' is not a version range"),
        ("0\n1", "'0\\n1' is not a version range"),
        ("3-2", "'3-2' is not a range of versions from 0 to 32767"),
        ("32768", "'32768' is not a range of versions from 0 to 32767"),
        ("0-99999", "'0-99999' is not a range of versions from 0 to 32767"),
        ("3,1", "the ranges of '3,1' do not ascend"),
        ("0-3,3", "the ranges of '0-3,3' do not ascend"),
        ("0-3,2-5", "the ranges of '0-3,2-5' do not ascend"),
        ("0+,5", "the ranges of '0+,5' do not ascend"),
    ],
)
def test_what_is_no_range_is_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        Versions.parse(text)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("none", [], [-1, 0, 1, 32767]),
        ("3", [3], [2, 4]),
        ("2-4", [2, 3, 4], [1, 5]),
        ("4+", [4, 5, 32767], [3, 32768]),
        ("0-1,5+", [0, 1, 5, 6], [-1, 2, 4]),
        ("0+", [0], ["0", 0.5, None, (0, 1)]),
    ],
)
def test_a_version_is_in_its_range_only(text: str, inside: list[object], outside: list[object]) -> None:
    versions = Versions.parse(text)
    assert [version in versions for version in inside] == [True] * len(inside)
    assert [version in versions for version in outside] == [False] * len(outside)


@pytest.mark.parametrize(
    ("text", "same"), [("0-2,3", "0-3"), ("0,1,2", "0-2"), ("0-2,3,5", "0-3,5"), ("0,2,3+", "0,2+"), ("5,6+", "5+")]
)
def test_ranges_that_touch_are_one_range(text: str, same: str) -> None:
    assert Versions.parse(text) == Versions.parse(same)
    assert Versions.parse(text).covers(Versions.parse(same))
    assert str(Versions.parse(text)) == same


def test_the_single_versions_come_in_order() -> None:
    assert list(Versions.parse("0-2,5,7-8")) == [0, 1, 2, 5, 7, 8]
    assert list(NONE) == []
    assert sum(1 for _ in Versions.parse("0+")) == HIGHEST_VERSION + 1


@pytest.mark.parametrize(
    ("text", "first", "last", "is_open"),
    [
        ("3", 3, 3, False),
        ("0-8", 0, 8, False),
        ("4+", 4, 32767, True),
        ("1-2,5-6", 1, 6, False),
        ("0,8+", 0, 32767, True),
    ],
)
def test_the_ends_of_a_range(text: str, first: int, last: int, is_open: bool) -> None:
    versions = Versions.parse(text)
    assert (versions.first, versions.last, versions.is_open) == (first, last, is_open)
    assert bool(versions)


def test_no_versions_have_no_ends() -> None:
    assert not NONE
    assert not NONE.is_open
    for end in ("first", "last"):
        with pytest.raises(ValueError, match=r"^no versions$"):
            getattr(NONE, end)


@pytest.mark.parametrize(
    ("wide", "narrow", "covered"),
    [
        ("0-8", "0-8", True),
        ("0-8", "3-5", True),
        ("0-8", "5-9", False),
        ("1-8", "0-8", False),
        ("4+", "4+", True),
        ("4+", "3+", False),
        ("0-3,5+", "1-2,6", True),
        ("0-3,5+", "3-5", False),
        ("none", "none", True),
        ("0+", "none", True),
        ("none", "0", False),
    ],
)
def test_a_range_covers_the_versions_within_it(wide: str, narrow: str, covered: bool) -> None:
    assert Versions.parse(wide).covers(Versions.parse(narrow)) is covered


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [
        ("0-8", "4+", "4-8"),
        ("0-3", "4+", "none"),
        ("0-4", "4+", "4"),
        ("none", "0+", "none"),
        ("0-3,5+", "2-6", "2-3,5-6"),
        ("0,8+", "0-9", "0,8-9"),
        ("1-2,4-5,7-8", "2-4,8+", "2,4,8"),
    ],
)
def test_two_ranges_meet_in_what_is_in_both(left: str, right: str, both: str) -> None:
    assert str(Versions.parse(left).meets(Versions.parse(right))) == both
    assert str(Versions.parse(right).meets(Versions.parse(left))) == both


@pytest.mark.parametrize(
    ("left", "right", "either"),
    [
        ("0-3", "5+", "0-3,5+"),
        ("0-3", "4-5", "0-5"),
        ("0-3", "2-9", "0-9"),
        ("0-9", "2-3", "0-9"),
        ("0-3,7", "5", "0-3,5,7"),
        ("0-3,7", "4-6", "0-7"),
        ("none", "3", "3"),
        ("none", "none", "none"),
    ],
)
def test_two_ranges_join_to_what_is_in_either(left: str, right: str, either: str) -> None:
    assert str(Versions.parse(left).joins(Versions.parse(right))) == either
    assert str(Versions.parse(right).joins(Versions.parse(left))) == either


def test_versions_are_values() -> None:
    assert {Versions.parse("0-8"), Versions(((0, 8),))} == {Versions.parse("0-8")}
    assert Versions.parse("0-8") != Versions.parse("0-7")
    with pytest.raises(AttributeError):
        Versions.parse("0-8").ranges = ()  # type: ignore[misc]
