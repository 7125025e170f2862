"""Hash codes, HashMap order, string order and random numbers, against what Java itself answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kwire.cluster.java.hash_order import (
    INTEGERS,
    OPTIONAL_STRINGS,
    STRINGS,
    TOPIC_PARTITIONS,
    HashOrder,
    hash_order_of,
    int32,
    string_hash,
    topic_partition_hash,
    utf16,
)
from kwire.cluster.java.random import Random
from tests.cluster.vectors import cases, check
from tests.conftest import ROOT


def pair(text: str) -> tuple[str, int]:
    topic, _, number = text.rpartition("-")
    return topic, int(number)


def hashmap_order(case: dict[str, Any]) -> list[str]:
    order = hash_order_of(case["put"], STRINGS, case.get("capacity", 16))
    for key in case.get("remove", ()):
        order.remove(key)
    for key in case.get("put_again", ()):
        order.put(key)
    return list(order.copy() if case.get("copy") else order)


def int64(value: int) -> int:
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def drawn(case: dict[str, Any]) -> list[Any]:
    random = Random(case["seed"])

    def shuffled(count: int) -> list[int]:
        numbers = list(range(count))
        random.shuffle(numbers)
        return numbers

    calls: dict[str, Any] = {
        "nextInt": lambda *bound: random.randrange(*bound) if bound else random.next_int(),
        "nextLong": lambda: str(int64((random.next_int() << 32) + random.next_int())),  # as Java makes them of ints
        "nextBoolean": lambda: random.next_int() < 0,
        "shuffle": shuffled,
    }
    return [calls[name](*bound) for name, *bound in case["calls"]]


ANSWERS: dict[str, Any] = {
    "string_hash": lambda case: string_hash(case["s"]),
    "tp_hash": lambda case: topic_partition_hash(pair(case["tp"])),
    "hashmap_order": hashmap_order,
    "tp_hashset_order": lambda case: [f"{t}-{p}" for t, p in hash_order_of(map(pair, case["put"]), TOPIC_PARTITIONS)],
    "int_hashset_order": lambda case: list(hash_order_of(case["put"], INTEGERS)),
    "sort_strings": lambda case: sorted(case["items"], key=utf16),
    "random": drawn,
}


@pytest.mark.parametrize("op", ANSWERS)
def test_vectors_of_java(op: str) -> None:
    # The optional ones have more than eight keys of one hash, which Java makes a tree of; kwire keeps them a list.
    found = [case for case in cases("java_compat", op=op) if "optional" not in case]
    check(found, lambda case: {"result": ANSWERS[op](case)})


def test_histories_of_real_hash_maps() -> None:
    histories = [json.loads(line) for line in (ROOT / "tests/data/hashmap_histories.jsonl").read_text().splitlines()]
    for history in histories:
        order = HashOrder(STRINGS, history["capacity"])
        calls = {"+": order.put, "*": order.compute_if_absent, "-": order.remove}
        for call in history["calls"]:
            calls[call[0]](call[1:])
        assert list(order) == history["keys"]
    assert len(histories) == 23


def test_a_key_that_is_there_keeps_its_place_and_one_that_is_not_can_be_removed() -> None:
    order = hash_order_of(["Aa", "BB", "Aa"], STRINGS)
    order.remove("C#")
    assert (list(order), len(order), "BB" in order) == (["Aa", "BB"], 2, True)
    order.remove("Aa")
    order.put("Aa")
    assert list(order) == ["BB", "Aa"]


def test_the_copy_of_an_empty_map_is_as_large_as_any() -> None:
    copy = HashOrder(STRINGS, 1).copy()
    for key in ("b", "q", "a"):  # q is 17 in a table of 32, 1 in one of 16
        copy.put(key)
    assert list(copy) == ["q", "a", "b"]


def test_keys_of_one_bucket_that_are_not_comparable_stay_as_they_came() -> None:
    keys = ["\0" * length for length in range(20)]  # all of hash 0, as None is
    order = hash_order_of([None, *keys], OPTIONAL_STRINGS, 64)
    assert list(order) == [None, *keys]


def test_numbers_wrap_as_in_java() -> None:
    assert (int32(2**31), int32(-(2**31) - 1), int32(-5)) == (-(2**31), 2**31 - 1, -5)


@pytest.mark.parametrize("stop", [0, -1, 2**31])
def test_a_bound_that_java_refuses(stop: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 2147483647"):
        Random(1).randrange(stop)


def test_lone_surrogates_count_as_units() -> None:
    assert string_hash("\ud83d\ude00") == string_hash("\U0001f600")
