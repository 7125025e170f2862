"""The goals of `kwire place` beside evenness: weights, topics, demotion, exclusion, and brokers that are replaced."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kwire.cli.main import main

BROKERS = {"1": "/A/1", "2": "/A/2", "3": "/B/1", "4": "/B/2"}


def cluster(folder: Path, topics: Mapping[str, Sequence[Sequence[int]]], brokers: Mapping[str, str] = BROKERS) -> str:
    rows = [
        {"topic": topic, "partition": index, "replicas": list(ids)}
        for topic, replicas in topics.items()
        for index, ids in enumerate(replicas)
    ]
    file = folder / "cluster.json"
    file.write_text(json.dumps({"brokers": list(brokers.items()), "partitions": rows}))
    return str(file)


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, list[int]]:
    assert main(["place", *arguments, "--json"]) == 0, capsys.readouterr().err
    rows = json.loads(capsys.readouterr().out)["partitions"]
    return {f"{row['topic']}-{row['partition']}": row["replicas"] for row in rows}


def test_weights_of_brokers_and_racks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cluster(tmp_path, {"t": [[1], [1], [3], [3], [2], [4]]}, dict.fromkeys("1234", "/A"))
    assert planned(capsys, file, "--balance") == {}
    plan = planned(capsys, file, "--balance", "--weights", "/A=1,4=3")
    assert sorted(plan.values()) == [[4], [4]]
    assert main(["place", file, "--weights", "4=3"]) == 2
    assert "--weights and --exclude are for plans" in capsys.readouterr().err
    for wrong in ("4", "4=x", "4=0", "4=1001", "4=0.001"):
        assert main(["place", file, "--balance", "--weights", wrong]) == 2
        assert "write BROKER=WEIGHT" in capsys.readouterr().err
    assert main(["place", file, "--balance", "--weights", "9=2"]) == 2
    assert "there is no live broker '9'" in capsys.readouterr().err


def test_a_topic_is_spread_over_the_brokers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cluster(tmp_path, {"hot": [[1, 3]] * 4, "cold": [[2, 4]] * 4})
    assert planned(capsys, file, "--balance") == {}
    plan = planned(capsys, file, "--by-topic")
    hot = [node_id for index in range(4) for node_id in plan.get(f"hot-{index}", [1, 3])]
    assert sorted(hot) == [1, 1, 2, 2, 3, 3, 4, 4]


def test_a_demoted_rack_leads_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cluster(tmp_path, {"t": [[1, 3], [3, 1], [2, 4]], "alone": [[1]]})
    assert planned(capsys, file, "--demote", "/A") == {"t-0": [3, 1], "t-2": [4, 2]}
    assert planned(capsys, file, "--demote", "1,3") == {}  # there is nobody else to lead t-0 and t-1


def test_topics_that_are_excluded_stay_and_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cluster(tmp_path, {"t": [[1], [1]], "__x": [[1], [1]]}, dict.fromkeys("12", "/A"))
    assert len(planned(capsys, file, "--balance", "--exclude", "__.*")) == 2
    assert {name[0] for name in planned(capsys, file, "--balance", "--exclude", "__.*")} == {"t"}
    assert main(["place", file, "--balance", "--exclude", "("]) == 2
    assert "--exclude (" in capsys.readouterr().err


def test_a_replacement_in_the_rack_of_another_replica_goes_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Found on random clusters: [10, 55] became [57, 55], both in one rack."""
    file = cluster(tmp_path, {"t": [[1, 3], [1, 2]]}, {**BROKERS, "7": "/B/1"})
    assert planned(capsys, file, "--replace", "1=7") == {"t-0": [3, 2], "t-1": [7, 2]}  # 3 has the data


def test_options_given_twice_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cluster(tmp_path, {"t": [[1], [2], [3]], "u": [[1]]})
    assert planned(capsys, file, "--remove", "1", "--remove", "2").keys() == {"t-0", "t-1", "u-0"}
    assert planned(capsys, file, "--replace", "1=7", "--replace", "2=8") == {"t-0": [7], "t-1": [8], "u-0": [7]}
    assert planned(capsys, file, "--rf", "2", "--exclude", "u", "--exclude", "x|y").keys() == {"t-0", "t-1", "t-2"}
    assert (
        main(["cluster", "fixtures/dumps/kafka-3.9-zk.pcap", "--at", "06:27:30", "--if-lost", "1", "--if-lost", "2"])
        == 1
    )
    assert "without brokers 1, 2: " in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--remove", "--add", "--replace", "--demote", "--weights", "--leave-disk"])
def test_an_empty_list_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    """As from a shell variable that is not set: an answer about no broker looks like a good one."""
    file = cluster(tmp_path, {"t": [[1], [2], [3]]})
    assert main(["place", file, option, "", "--balance"]) == 2
    assert option in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [("3=3", "broker 3 is to go"), ("3=4,4=3", "broker 4 is to go"), ("3=1,3=2", "broker 3 is replaced twice")],
)
def test_replacements_that_contradict_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, problem: str
) -> None:
    file = cluster(tmp_path, {"t": [[1], [2], [3]]})
    assert main(["place", file, "--replace", words]) == 2
    assert f"--replace {words}: {problem}" in capsys.readouterr().err


def test_a_broker_is_emptied_while_another_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Broker 9 is down: it keeps its replicas, and leads nothing that it did not lead."""
    file = cluster(tmp_path, {"t": [[1, 9], [9, 1], [9, 2]]})
    plan = planned(capsys, file, "--remove", "1")
    assert (plan["t-0"][1], plan["t-1"][0], plan.get("t-2")) == (9, 9, None)
    assert not {1} & {node_id for replicas in plan.values() for node_id in replicas}
    assert planned(capsys, file, "--replace", "1=7") == {"t-0": [7, 9], "t-1": [9, 7]}
    plan = planned(capsys, cluster(tmp_path, {"t": [[1, 9, 3]]}), "--remove", "1")
    assert (set(plan["t-0"]) >= {3, 9}, plan["t-0"][0] != 9) == (True, True)


def test_a_broker_that_is_not_emptied_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cluster(tmp_path, {"t": [[1, 3]], "u": [[1]]})
    assert main(["place", file, "--remove", "1", "--exclude", "u", "--json"]) == 1
    output = capsys.readouterr()
    assert [row["topic"] for row in json.loads(output.out)["partitions"]] == ["t"]
    assert "broker 1 is not empty after this plan: it keeps 1 replica: u-0\n" in output.err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--rollback", "undo.json"), "--apply and --rollback are for plans"),
        (("--by", "bytes"), "--by bytes says what --balance evens out"),
        (("--repair", "--by", "bytes"), "--by bytes says what --balance evens out"),
    ],
)
def test_an_option_without_effect_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], problem: str
) -> None:
    file = cluster(tmp_path, {"t": [[1], [2], [3]]})
    assert main(["place", file, *words]) == 2
    assert problem in capsys.readouterr().err


def test_a_replacement_that_nobody_knows_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cluster(tmp_path, {"t": [[1], [2], [3]]})
    assert main(["place", file, "--replace", "1=7", "--json"]) == 0
    assert "broker 7 is not in the cluster yet: planned for the rack of broker 1\n" in capsys.readouterr().err


def test_a_plan_is_held_against_the_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cluster(tmp_path, {"t": [[1], [2], [3]]})
    plan = tmp_path / "plan.json"
    plan.write_text('{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 77]}]}')
    assert main(["place", file, "--plan", str(plan)]) == 0
    assert "broker 77 gets replicas, and is not in the cluster: it is down, or the plan" in capsys.readouterr().err
    plan.write_text('{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": []}]}')
    assert main(["place", file, "--plan", str(plan)]) == 2
    assert "plan.json: partition t-0 has no replicas\n" in capsys.readouterr().err
