"""`kwire place` places, raises, and looks at what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kwire.cli import main
from kwire.cluster import Broker
from kwire.cluster.java_compat import Random
from kwire.cluster.replica_assignors import ASSIGNORS
from tests.cli.test_commands import out
from tests.cli.test_main import DUMP, ran

RACKS = {str(id): f"/DC{id % 3}/R{id // 3}" for id in range(6)}


@pytest.fixture
def brokers(tmp_path: Path) -> str:
    file = tmp_path / "b.json"
    file.write_text(json.dumps(RACKS))
    return str(file)


def plan(text: str) -> dict[int, list[int]]:
    value = json.loads(text)
    assert value["version"] == 1
    assert {row["topic"] for row in value["partitions"]} == {"orders"}
    return {row["partition"]: row["replicas"] for row in value["partitions"]}


def new(*more: str, rf: int = 3) -> list[str]:
    return ["--partitions", "6", "--rf", str(rf), *more]


@pytest.mark.parametrize("name", ASSIGNORS)
def test_each_assignor_as_json_for_kafkas_tool(name: str, brokers: str, capsys: pytest.CaptureFixture[str]) -> None:
    listed = [Broker(int(id), rack=rack) for id, rack in RACKS.items()]
    arguments = ("place", "--brokers", brokers, *new("--topic", "orders", "--json", "--seed", "7"))
    found = plan(out(capsys, *arguments, "--assignor", name))
    assert found == ASSIGNORS[name](listed, 6, 3, Random(7))
    if name == "simple":
        assert plan(out(capsys, *arguments, "--disable-rack-awareness", "--assignor", "striped")) == found


def test_text_tells_the_assignor_the_partitions_and_the_spread(
    brokers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = out(capsys, "place", "--brokers", brokers, *new("--seed", "0"))
    assert text.startswith(
        "6 partitions with 3 replicas each, placed by multi-level, seed 0, on 6 brokers\n\npartition"
    )
    assert text.count("each partition is spread as evenly as can be over this level") == 2
    assert "no partition loses its majority" in text
    report = out(capsys, "place", "--brokers", brokers, *new("--report", "--seed", "0"))
    assert "partition  replicas" not in report
    assert set(report.splitlines()) < set(text.splitlines())
    assert max(map(len, text.splitlines())) <= 80


def test_some_brokers_and_flat_racks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "flat.json"
    file.write_text(json.dumps([[id, "abc"[id % 3]] for id in range(6)]))
    arguments = ("place", "--brokers", str(file), *new("--topic", "orders", "--json", rf=2))
    found = plan(out(capsys, *arguments, "--broker-list", "0, 3,4"))
    assert {frozenset(replicas) for replicas in found.values()} == {frozenset((0, 4)), frozenset((3, 4))}
    assert "placed by rack-aware" in out(capsys, "place", "--brokers", str(file), *new())


def test_a_plan_is_looked_at_and_raised(brokers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.json"
    file.write_text(out(capsys, "place", "--brokers", brokers, *new("--topic", "orders", "--json", rf=2)))
    before = plan(file.read_text())
    assert "6 partitions as they are" in out(capsys, "place", "--brokers", brokers, "--current", str(file))
    after = plan(out(capsys, "place", "--brokers", brokers, "--current", str(file), "--rf", "4", "--json"))
    assert {id: replicas[:2] for id, replicas in after.items()} == before
    assert all(len({id % 3 for id in replicas}) == 3 for replicas in after.values())
    bare = out(capsys, "place", "--brokers", brokers, "--current", str(file), "--rf", "4", "--disable-rack-awareness")
    assert re.match("6 partitions with 4 replicas each now, seed [0-9]+, on 6 brokers\n", bare)


def test_a_plan_that_could_be_more_even_is_1(brokers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.json"
    rows = [{"topic": "orders", "partition": 0, "replicas": [0, 3]}, {"topic": "u", "partition": 0, "replicas": [1, 9]}]
    file.write_text(json.dumps({"version": 1, "partitions": rows}))
    assert main(["place", "--brokers", brokers, "--current", str(file)]) == 1
    seen = capsys.readouterr()
    assert "not spread as evenly as can be: 1 partition: orders-0" in seen.out
    assert seen.err == "kwire: taken without rack: brokers 9, which hold replicas and are not listed\n"
    arguments = ("--topic", "orders", "--report", "--json")
    report = json.loads(out(capsys, "place", "--brokers", brokers, "--current", str(file), *arguments, code=1))
    assert report["levels"][0]["uneven"] == [{"topic": "orders", "partition": 0}]


def test_a_dump_and_what_kwire_cluster_says_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "place", "--from", DUMP)
    assert text.startswith("4 partitions as they are, on 3 brokers\n")
    assert "without /dc1 nothing is left of 2 partitions: lonely-0, lonely-2" in text
    file = tmp_path / "cluster.json"
    file.write_text(out(capsys, "cluster", DUMP, "--json"))
    assert out(capsys, "place", "--brokers", str(file), "--current", str(file)) == text
    assert len(plan(out(capsys, "place", "--from", DUMP, *new("--topic", "orders", "--json")))) == 6


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "one of the arguments --brokers --from is required"),
        (["--brokers", "B", "--from", DUMP], "not allowed with argument"),
        (["--brokers", "B"], "say how many: --partitions and --rf, or --current FILE"),
        (["--brokers", "B", "--partitions", "3"], "it needs --rf"),
        (["--brokers", "-", "--current", "-"], "cannot both be standard input"),
        (["--brokers", "B", *new(), "--json"], "which needs --topic"),
        (["--brokers", "B", *new("--broker-list", "1;2")], "write ids with commas between"),
        (["--brokers", "B", *new("--broker-list", "1,9")], "there are no brokers [9]"),
        (["--brokers", "B", *new("--assignor", "multi")], "there is no replica assignor 'multi'"),
        (["--brokers", "B", *new(rf=7)], "replication factor 7 needs as many brokers, and there are 6"),
        (["--brokers", "B", "--partitions", "2000000000", "--rf", "3"], "are more than 1000000 replicas"),
        (["--from", DUMP, "--rf", "4"], "replication factor 4 needs as many brokers"),
        (["--from", DUMP, "--rf", "2000000000"], "are more than 1000000 replicas"),
        (["--from", DUMP, "--topic", "lonly"], "did you mean lonely?"),
        (["--from", DUMP, "--assignor", "simple"], "--broker-list and --assignor are for new partitions"),
    ],
)
def test_what_cannot_be_done(
    arguments: list[str], problem: str, brokers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["place", *(brokers if word == "B" else word for word in arguments)]) == 2
    assert problem in " ".join(capsys.readouterr().err.split())


def test_brokers_from_standard_input() -> None:
    done = ran("place", "--brokers", "-", *new("--report"), data=json.dumps(RACKS).encode())
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_assignor_of_ones_own(brokers: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = "tests.cluster.test_replica_assignors:all_on_the_first"
    arguments = new("--topic", "orders", "--json", "--assignor", name)
    found: Any = plan(out(capsys, "place", "--brokers", brokers, *arguments))
    assert found == {partition: [0, 1, 2] for partition in range(6)}


def test_a_seed_that_is_drawn_is_printed_and_places_the_same_again(
    brokers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["place", "--brokers", brokers, "--partitions", "1", "--rf", "1", "--topic", "orders"]
    leaders = set()
    for _ in range(30):
        text = out(capsys, *arguments)
        found = re.search("placed by multi-level, seed ([0-9]+), on", text)
        assert found is not None
        assert out(capsys, *arguments, "--seed", found[1]) == text
        assert main([*arguments, "--json", "--seed", found[1]]) == 0
        seen = capsys.readouterr()
        assert seen.err == ""
        leaders |= {plan(seen.out)[0][0]}
    assert len(leaders) > 1  # one chance in 6 ** 29 that it fails
    assert main([*arguments, "--json"]) == 0
    seen = capsys.readouterr()
    assert main([*arguments, "--json", *seen.err.split()[-2:]]) == 0
    assert capsys.readouterr() == (seen.out, "")


def test_racks_on_some_brokers_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "b.json"
    file.write_text(json.dumps([[1, "a"], [2, "b"], [3, None]]))
    arguments = ["place", "--brokers", str(file), *new("--seed", "1", "--topic", "orders", "--json", rf=2)]
    assert main(arguments) == 2
    assert "brokers [3] have no rack" in capsys.readouterr().err
    safe = plan(out(capsys, *arguments, "--assignor", "rack-aware-safe"))
    assert safe == plan(out(capsys, *arguments, "--assignor", "simple"))


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("raises", "raised ValueError: 'no idea'"),
        ("returns_too_few", "returned partitions [0], not 0 to 5"),
        ("knows_another_broker", "returned partition 0 on brokers [0, 1, 99]"),
        ("returns_a_list", "raised AttributeError"),
        ("ASSIGNED", "raised TypeError"),
    ],
)
def test_an_assignor_of_ones_own_that_fails(
    function: str, problem: str, brokers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"tests.cluster.test_replica_assignors:{function}"
    assert main(["place", "--brokers", brokers, *new("--assignor", name)]) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert problem in " ".join(seen.err.split())
