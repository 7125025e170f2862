"""`kwire assign` and `kwire cluster --groups`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kwire.cli.main import main
from tests.conftest import ROOT, SHARED, needs_shared

DUMP = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")
GROUP: dict[str, Any] = {
    "assignor": "range",
    "brokers": {"1": "a", "2": "b", "3": "b"},
    "topics": {"orders": [[1], [2], [3], [1]]},
    "members": [{"id": "c1", "topics": ["orders"], "rack": "b"}, {"id": "c2", "topics": ["orders"], "rack": "a"}],
}


@pytest.fixture
def description(tmp_path: Path) -> str:
    path = tmp_path / "group.json"
    path.write_text(json.dumps(GROUP))
    return str(path)


def test_racks_count_from_3_5_on(description: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected by KIP-881: ranges 0-1 and 2-3 without racks; with them each member the two partitions of its rack."""
    assert main(["assign", description, "--release", "3.4", "--release", "3.5", "--json"]) == 0
    old, new = json.loads(capsys.readouterr().out)["assignments"]
    assert old["members"] == {"c1": ["orders-0", "orders-1"], "c2": ["orders-2", "orders-3"]}
    assert new["members"] == {"c1": ["orders-1", "orders-2"], "c2": ["orders-0", "orders-3"]}
    assert (old["inRack"], new["inRack"], new["withRack"]) == (2, 4, 4)


def test_text_and_all_assignors(description: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assign", description, "--assignor", "all"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 members, 1 topic\n\nrange, release newest\n4 of 4 partitions have a replica in their")
    assert "roundrobin, release newest\n2 of 4 partitions" in out
    assert "c1      b     orders-1 orders-2\n" in out


def test_a_description_on_standard_input_is_read_as_in_a_file(description: str) -> None:
    command = [sys.executable, "-m", "kwire", "assign", "-", "--json"]
    piped = subprocess.run(command, input=Path(description).read_bytes(), capture_output=True, check=True)
    command[-2] = description
    assert piped.stdout == subprocess.run(command, capture_output=True, check=True).stdout
    assert json.loads(piped.stdout)["assignments"]


def test_whether_the_leader_rebalances(description: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["assign", description, "--release", "3.4", "--release", "3.9"]
    assert main([*asked, "--rack", "2=a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rebalances"] == {"3.4": False, "3.9": True}
    assert main([*asked, "--rack", "2=b", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rebalances"] == {"3.4": False, "3.9": False}
    assert main([*asked, "--rack", "2=a"]) == 0
    out = capsys.readouterr().out
    assert "a leader (release 3.4, client.rack b) requests no rebalance" in out
    assert "a leader (release 3.9, client.rack b) requests a rebalance\n" in out


def test_the_last_rebalance_of_a_capture(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assign", DUMP, "--group", "kcat-group"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("group kcat-group, generation 1, range, 1 member\n")
    assert " orders-0 orders-1\n" in out
    assert out.endswith(" orders-2 orders-3\nthe leader sent the same assignment\n")


def test_assignors_of_brokers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By hand: partitions go out in the order of topics, which is that of their ids' hash codes, 2 and 1."""
    path = tmp_path / "group.json"
    ids = {"a": "00000000-0000-0000-0000-000000000002", "b": "00000000-0000-0000-0000-000000000001"}
    members = [{"id": "c1", "topics": ["a", "b"], "owned": []}, {"id": "c2", "topics": ["a", "b"], "owned": ["b-1"]}]
    group = {"topics": {"a": 2, "b": 2}, "members": members}
    path.write_text(json.dumps(group | {"ids": ids}))
    assert main(["assign", str(path), "--assignor", "uniform", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["assignments"]
    assert found["members"] == {"c1": ["a-0", "b-0"], "c2": ["a-1", "b-1"]}
    assert main(["assign", str(path), "--assignor", "all", "--release", "3.9"]) == 0
    assert "uniform" not in capsys.readouterr().out
    path.write_text(json.dumps(group))
    assert main(["assign", str(path), "--assignor", "uniform"]) == 0
    out = capsys.readouterr().out
    assert "uniform, release newest, without racks (KIP-848)\n" in out
    assert "c1      -     a-0 a-1\n" in out
    path.write_text(json.dumps(group | {"ids": {"a": ids["a"]}}))
    assert main(["assign", str(path), "--assignor", "uniform"]) == 2
    assert "topic b has no id" in capsys.readouterr().err


@needs_shared
def test_another_answer_than_the_leaders_is_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(SHARED / "captures/kafka-1.1-zk.clients.pcap")
    assert main(["assign", capture, "--group", "sticky-group", "--generation", "2"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith("the leader sent another assignment: lab-sticky-group-0-")
    assert lines[-1] == "which is what release 2.4 gives: try --release 2.4"
    assert main(["assign", capture, "--group", "sticky-group", "--generation", "2", "--release", "2.4"]) == 0


@needs_shared
def test_the_release_of_a_leader_that_states_its_software(capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(SHARED / "captures/kafka-2.4-zk.clients.pcap")
    assert main(["assign", capture, "--group", "sticky-group", "--generation", "2"]) == 0
    out = capsys.readouterr().out
    assert "\nsticky, release 2.4.1, general algorithm, without racks (KIP-881 is in 3.5)\n" in out
    assert out.endswith("\nthe leader sent the same assignment\n")


def test_long_assignments_are_wrapped(description: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(description).write_text(json.dumps(GROUP | {"topics": {"orders": 40}}))
    assert main(["assign", description]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    rows = lines[lines.index("member  rack  partitions") + 1 :]
    assert [row.split()[0] for row in rows if not row.startswith(" ")] == ["c1", "c2"]
    assert sum(word.startswith("orders-") for row in rows for word in row.split()) == 40


def test_what_members_of_a_description_own_is_kept(description: str, capsys: pytest.CaptureFixture[str]) -> None:
    group = {"assignor": "sticky", "topics": {"t": 2}, "members": [{"id": "c1", "topics": ["t"], "owned": ["t-1"]}]}
    group["members"].append({"id": "c2", "topics": ["t"]})  # type: ignore[attr-defined]
    Path(description).write_text(json.dumps(group))
    for release in ("newest", "2.8", "2.4"):
        assert main(["assign", description, "--release", release]) == 0
        assert "\nc1      -     t-1\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({"members": []}, [], "there are no members"),
        ({"members": [GROUP["members"][0]] * 2}, [], "members occur twice: c1"),
        ({"topics": {"orders": "many"}}, [], "it does not describe a group: Expected `int | array`"),
        ({"topics": {"orders": 10**9}}, [], "1000000000 partitions of a topic"),
        ({"colour": 1}, [], "unknown field `colour`"),
        ({"members": [{"id": "c1", "topics": [], "owned": ["orders"]}]}, [], "'orders' is not a partition"),
        ({}, ["--assignor", "fair"], "fair"),
        ({}, ["--assignor", "sticky", "--release", "2.6"], "release whose sticky assignor is known"),
        ({}, ["--release", "trunk"], "trunk"),
        ({}, ["--rack", "9=a"], "no partition has a replica on broker 9"),
        ({}, ["--rack", "b"], "write NODE=RACK"),
        ({}, ["--group", "g"], "this is a description"),
    ],
)
def test_bad_input_is_named(
    change: dict[str, Any], options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "group.json"
    path.write_text(json.dumps(GROUP | change))
    assert main(["assign", str(path), *options]) == 2
    assert words in capsys.readouterr().err


def test_captures_without_rebalances(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assign", str(ROOT / "fixtures/dumps/kafka-4.4-metadata.bin")]) == 2
    assert "no rebalance of a group is in it" in capsys.readouterr().err
    assert main(["assign", DUMP]) == 2
    assert "choose one with --group: kcat-group, py-group-orders" in capsys.readouterr().err
    assert main(["assign", DUMP, "--group", "nobody"]) == 2
    assert main(["assign", DUMP, "--group", "kcat-group", "--generation", "9"]) == 2
    assert "group kcat-group has 1" in capsys.readouterr().err


def test_groups_of_a_dump_as_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "--groups", DUMP]) == 0
    out = capsys.readouterr().out
    assert "kcat-group: classic group, generation 1, range, 0 members\n" in out
    assert "orders-1   30         96   66   2       -          /dc1/r2 /dc2/r1 /dc1/r1\n" in out
    assert main(["cluster", "--group", "kcat-group", DUMP, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [group["group"] for group in found["groups"]] == ["kcat-group"]
    assert found["members"][0]["partitions"] == ["orders-0", "orders-1", "orders-2", "orders-3"]
    assert main(["cluster", "--group", "nobody", DUMP]) == 2
    assert "nobody" in capsys.readouterr().err
    assert main(["cluster", "--groups", str(ROOT / "fixtures/dumps/kafka-4.4-metadata.bin")]) == 2
    assert "no message describes a consumer group" in capsys.readouterr().err
