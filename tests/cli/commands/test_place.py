"""`kwire place` places, raises, and looks at what there is."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kwire.cli.main import main
from kwire.cluster import Broker, add_partitions, assign_multi_level, broker_metadatas, generate_assignment, is_even
from kwire.cluster.java.random import Random
from kwire.cluster.placement.multi_level import Rings, increase_replication_factor
from kwire.cluster.placement.rack_tree import RackTree
from kwire.cluster.placement.replica_assignors import ASSIGNORS
from kwire.testing import Kafka
from tests.cli.test_commands import out
from tests.cli.test_main import DUMP, ran
from tests.seeds import seeded

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
    assert text.count("each partition is spread as evenly as possible over this level") == 2
    assert "no single failure leaves a partition without a majority" in text
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


def test_a_plan_is_looked_at_and_gets_more_replicas(
    brokers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(out(capsys, "place", "--brokers", brokers, *new("--topic", "orders", "--json", rf=2)))
    before = plan(file.read_text())
    there = ("place", "--brokers", brokers, "--current", str(file))
    assert "6 partitions as they are" in out(capsys, *there)
    after = plan(out(capsys, *there, "--rf", "4", "--json"))
    assert {id: replicas[:2] for id, replicas in after.items()} == before
    assert all(len({id % 3 for id in replicas}) == 3 for replicas in after.values())
    loads = Counter(one for replicas in after.values() for one in replicas)
    assert set(loads.values()) == {4}
    assert out(capsys, *there, "--rf", "4", "--disable-rack-awareness").startswith("6 of 6 partitions change: 12 ")
    # KIP-879's own rule goes on where the rings left off
    seeded = (*there, "--rf", "4", "--assignor", "multi-level", "--seed", "7", "--json")
    listed = [Broker(int(id), rack=rack) for id, rack in RACKS.items()]
    rings = increase_replication_factor(listed, before, 4, rng=Random(7), rings=Rings.TURNED)
    assert plan(out(capsys, *seeded)) == rings


def test_a_plan_that_could_be_more_even_is_1(brokers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.json"
    rows = [{"topic": "orders", "partition": 0, "replicas": [0, 3]}, {"topic": "u", "partition": 0, "replicas": [1, 9]}]
    file.write_text(json.dumps({"version": 1, "partitions": rows}))
    assert main(["place", "--brokers", brokers, "--current", str(file)]) == 1
    seen = capsys.readouterr()
    assert "not spread as evenly as possible: 1 partition: orders-0" in seen.out
    assert seen.err == "kwire: taken without rack: brokers 9, which hold replicas and are not listed\n"
    arguments = ("--topic", "orders", "--report", "--json")
    report = json.loads(out(capsys, "place", "--brokers", brokers, "--current", str(file), *arguments, code=1))
    assert report["levels"][0]["uneven"] == [{"topic": "orders", "partition": 0}]


def test_a_dump_and_what_kwire_cluster_says_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "place", "--from", DUMP)
    assert text.startswith("4 partitions as they are, on 3 brokers\n")
    assert "without /dc1 no replica of 2 partitions: lonely-0, lonely-2" in text
    file = tmp_path / "cluster.json"
    file.write_text(out(capsys, "cluster", DUMP, "--json"))
    assert out(capsys, "place", "--brokers", str(file), "--current", str(file)) == text
    assert len(plan(out(capsys, "place", "--from", DUMP, *new("--topic", "orders", "--json")))) == 6


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "are required: SOURCE, --brokers FILE or --from DUMP"),
        (["--brokers", "B", "--from", DUMP], "SOURCE, --brokers and --from: give one of them"),
        (["B", "--brokers", "B"], "SOURCE, --brokers and --from: give one of them"),
        (["--from", DUMP, "--remove", "1,9"], "there is no broker '9'; known: 1, 2, 3"),
        (["--from", DUMP, "--remove", "1,2,3"], "no broker is left to hold replicas"),
        (["--from", DUMP, "--remove", "one"], "--remove one: write ids separated by commas"),
        (["--from", DUMP, "--replace", "1"], "--replace 1: write OLD=NEW"),
        (["--from", DUMP, "--add", "4="], "--add 4=: write ids and racks"),
        (["--from", DUMP, "--repair", "--apply"], "SOURCE must be HOST:PORT"),
        (["--from", DUMP, "--generate", "--repair"], "--plan and --generate say where all replicas are to be"),
        (["--from", DUMP, "--verify"], "--verify and --cancel need the plan"),
        (["--from", DUMP, "--plan", "B", "--verify", "--cancel"], "give one of them"),
        (["--from", DUMP, "--repair", "--batch", "0"], "numbers from 1 on"),
        (["--from", DUMP, "--repair", "--fewest", "bytes"], "bytes need the sizes of partitions"),
        (["--from", DUMP, "--rf", "0"], "replication factor 0 places nothing"),
        (["--from", DUMP, "--balance", "--by", "bytes"], "bytes need the sizes of partitions"),
        (["--from", DUMP, "--repair", "--sizes", "B"], "it has no sizes of partitions"),
        (["--from", DUMP, "--topic", "lonely", "--partitions", "2"], "has 3 partitions already and 2 are wanted"),
        (["--from", DUMP, "--topic", "lonely", "--partitions", "4", "--rf", "2"], "--rf is for new topics"),
        (["127.0.0.1:1", "--repair"], "127.0.0.1:1: cannot connect"),
        (["--brokers", "B"], "say how many: --partitions and --rf, or --current FILE"),
        (["--brokers", "B", "--partitions", "3"], "it needs --rf"),
        (["--brokers", "-", "--current", "-"], "cannot both be standard input"),
        (["--brokers", "B", *new(), "--json"], "which needs --topic"),
        (["--brokers", "B", *new("--broker-list", "1;2")], "write ids separated by commas"),
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
    name = "tests.cluster.placement.test_replica_assignors:all_on_the_first"
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
    name = f"tests.cluster.placement.test_replica_assignors:{function}"
    assert main(["place", "--brokers", brokers, *new("--assignor", name)]) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert problem in " ".join(seen.err.split())


LEVELS = [{"nodeId": id, "rack": f"/DC{id % 3}/R{id % 6 // 3}"} for id in range(12)]


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """Write a cluster of three levels, whose partitions lie at random, as `kwire cluster --json` does."""
    rng = seeded("place")
    rows = [
        {"topic": topic, "partition": index, "replicas": rng.sample(range(12), 3)}
        for topic in ("orders", "payments")
        for index in range(20)
    ]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"kwire": 1, "brokers": LEVELS, "partitions": rows}))
    return str(file)


def placed(text: str) -> dict[tuple[str, int], list[int]]:
    return {(row["topic"], row["partition"]): row["replicas"] for row in json.loads(text)["partitions"]}


def write_plan(file: Path, placement: dict[tuple[str, int], list[int]]) -> None:
    rows = [{"topic": topic, "partition": index, "replicas": ids} for (topic, index), ids in placement.items()]
    file.write_text(json.dumps({"version": 1, "partitions": rows}))


def in_rack(placement: Iterable[list[int]], rack: str) -> int:
    """Count the replicas in a rack of LEVELS."""
    there = {row["nodeId"] for row in LEVELS if row["rack"] == rack}
    return sum(len(there & set(replicas)) for replicas in placement)


def test_a_repair_is_shown_before_and_after_in_80_columns(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["place", cluster]) == 1
    capsys.readouterr()
    text = out(capsys, "place", cluster, "--repair")
    assert re.match(r"[0-9]+ of 40 partitions change: [0-9]+ replicas move; 0 other preferred leaders\n", text)
    assert max(map(len, text.splitlines())) <= 80
    assert len(re.findall(r"spread as evenly as possible over this level \([0-9]+ were not\)", text)) == 2
    assert re.search(r"/DC0 +[0-9]+( -> 0)? +[0-9]+ -> 0\n", text)
    found = placed(out(capsys, "place", cluster, "--repair", "--json"))
    tree = RackTree([Broker(row["nodeId"], rack=row["rack"]) for row in LEVELS])  # type: ignore[arg-type]
    before = placed(Path(cluster).read_text())
    for rack in {str(row["rack"]) for row in LEVELS}:
        count, after = in_rack(before.values(), rack), in_rack({**before, **found}.values(), rack)
        assert re.search(f"{rack} +2 +{count}" + (f" -> {after} " if after != count else " "), text)
    assert found.keys() == {key for key, replicas in before.items() if not is_even(tree, replicas)}
    assert all(is_even(tree, replicas) for replicas in found.values())
    report = json.loads(out(capsys, "place", cluster, "--repair", "--report", "--json"))
    moved = sum(len(set(replicas) - set(before[key])) for key, replicas in found.items())
    assert (report["changed"], report["replicasMoved"], report["bytesMoved"]) == (len(found), moved, None)
    assert [bool(level["uneven"]) for level in report["before"]["levels"]] == [True, True, False]
    assert [level["uneven"] for level in report["after"]["levels"]] == [[], [], []]


def test_brokers_come_go_and_take_the_place_of_others(
    cluster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = tmp_path / "good.json"
    generated = placed(out(capsys, "place", cluster, "--generate", "--assignor", "multi-level", "--json"))
    write_plan(good, {**placed(Path(cluster).read_text()), **generated})  # a plan leaves out what stays as it is
    there = ("place", "--brokers", cluster, "--current", str(good))
    before = placed(good.read_text())
    gone = placed(out(capsys, *there, "--remove", "4,5", "--json"))
    assert gone.keys() == {key for key, replicas in before.items() if {4, 5} & set(replicas)}
    assert not any({4, 5} & set(replicas) for replicas in gone.values())
    swapped = placed(out(capsys, *there, "--replace", "4=20", "--json"))
    assert swapped == {key: [20 if one == 4 else one for one in ids] for key, ids in before.items() if 4 in ids}
    more = {**before, **placed(out(capsys, *there, "--add", "20=/DC1/R0,21=/DC2/R1", "--json"))}
    loads = Counter(one for replicas in more.values() for one in replicas)
    assert {loads[20], loads[21]} == {8}
    assert "level 1" in out(capsys, *there, "--add", "20=/DC1/R0")


def test_one_topic_changes_and_others_count(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = placed(out(capsys, "place", cluster, "--topic", "orders", "--balance", "--leaders", "--json"))
    assert {topic for topic, _ in found} == {"orders"}
    before = placed(Path(cluster).read_text())

    def spread(placement: dict[Any, list[int]]) -> int:
        loads = Counter(one for replicas in placement.values() for one in replicas)
        return max(loads.values()) - min(loads.values())

    assert spread({**before, **found}) <= spread(before)  # the other topics stay, so it may not be even


def test_replicas_on_brokers_that_are_not_there_stay_unless_they_are_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.json"
    rows = [{"topic": "t", "partition": 0, "replicas": [1, 9]}, {"topic": "t", "partition": 1, "replicas": [1, 2]}]
    racks = [
        {"id": 1, "rack": "a"},
        {"id": 2, "rack": "a"},
        {"id": 3, "rack": "b"},
        {"id": 4, "rack": "b", "fenced": True},
    ]
    file.write_text(json.dumps({"brokers": racks, "partitions": rows}))
    assert main(["place", str(file), "--repair", "--json"]) == 0
    seen = capsys.readouterr()
    assert placed(seen.out) == {("t", 1): [1, 3]}
    assert "left as they are: 1 partition with replicas on brokers that are not listed or fenced (9)" in seen.err


def test_a_plan_that_is_there_is_compared_and_can_be_undone(
    cluster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, back = tmp_path / "p.json", tmp_path / "back.json"
    file.write_text(out(capsys, "place", cluster, "--balance", "--json", "--rollback", str(back)))
    title = out(capsys, "place", cluster, "--balance").splitlines()[0]
    assert out(capsys, "place", cluster, "--plan", str(file)).splitlines()[0] == title
    before = placed(Path(cluster).read_text())
    assert placed(back.read_text()) == {key: before[key] for key in placed(file.read_text())}
    assert main(["place", cluster, "--balance", "--rollback", str(back)]) == 2  # it is there
    capsys.readouterr()
    good = tmp_path / "good.json"
    rows = [
        {"topic": topic, "partition": index, "replicas": replicas}
        for (topic, index), replicas in {**before, **placed(file.read_text())}.items()
    ]
    good.write_text(json.dumps({"brokers": LEVELS, "partitions": rows}))
    assert "40 partitions, and nothing to change" in out(capsys, "place", str(good), "--balance")
    assert placed(out(capsys, "place", str(good), "--balance", "--json")) == {}


def test_the_fewest_bytes_move_where_sizes_are_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, sizes = tmp_path / "c.json", tmp_path / "sizes.txt"
    rows = [{"topic": "t", "partition": index, "replicas": [1]} for index in range(4)]
    file.write_text(json.dumps({"brokers": [[1, None], [2, None]], "partitions": rows}))
    listed = [{"partition": f"t-{index}", "size": size} for index, size in enumerate((5000, 20, 3000, 10))]
    dirs = {
        "version": 1,
        "brokers": [{"broker": 1, "logDirs": [{"logDir": "/d", "error": None, "partitions": listed}]}],
    }
    sizes.write_text(f"Received log directory information from brokers 1,2\n{json.dumps(dirs)}\n")
    found = out(capsys, "place", str(file), "--balance", "--sizes", str(sizes))
    assert found.startswith("2 of 4 partitions change: 2 replicas move, 30 B; 2 other preferred leaders\n")
    assert re.search(r"t-1 +1 +2 +1 -> 2\n.*t-3 +1 +2 +1 -> 2\n", found, re.DOTALL)
    some = out(capsys, "place", str(file), "--balance", "--sizes", str(sizes), "--fewest", "replicas")
    assert some.startswith("2 of 4 partitions change: 2 replicas move; 2 other preferred leaders\n")


@pytest.mark.parametrize("name", ["rack-aware", "simple", "multi-level", "striped", "even"])
def test_partitions_that_a_topic_gets_in_addition(name: str, cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("place", cluster, "--topic", "orders", "--partitions", "24", "--assignor", name, "--seed", "5")
    found = plan(out(capsys, *arguments, "--json"))
    assert list(found) == [20, 21, 22, 23]
    brokers = broker_metadatas([Broker(row["nodeId"], rack=row["rack"]) for row in LEVELS])  # type: ignore[arg-type]
    there = {
        index: replicas for (topic, index), replicas in placed(Path(cluster).read_text()).items() if topic == "orders"
    }
    if name == "rack-aware":
        assert found == add_partitions(there, brokers, 24)
    if name == "multi-level":
        rings = assign_multi_level(brokers, 4, 3, rng=Random(5), rings=Rings.TURNED, existing=there)
        assert found == rings
    assert all(len(set(replicas)) == 3 for replicas in found.values())


def test_placing_anew_as_kafkas_tool_generates(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--generate", "--assignor", "rack-aware", "--broker-list", "0,1,2,3", "--seed", "9", "--json")
    found = placed(out(capsys, "place", cluster, *arguments))
    topics: dict[str, dict[int, list[int]]] = {}
    for (topic, index), replicas in placed(Path(cluster).read_text()).items():
        topics.setdefault(topic, {})[index] = replicas
    brokers = [Broker(row["nodeId"], rack=row["rack"]) for row in LEVELS]  # type: ignore[arg-type]
    proposed = generate_assignment(topics, list(topics), brokers, [0, 1, 2, 3], Random(9)).proposed
    assert all(proposed[topic][index] == replicas for (topic, index), replicas in found.items())
    assert len(found) > 30


@pytest.mark.parametrize(
    ("brokers", "message"),
    [
        ("5", "there is no list of brokers in it"),
        ('{"1": 5}', "is not a broker"),
        ('{"1": "/a"}', "say how many: --partitions and --rf"),
    ],
)
def test_an_object_with_brokers_is_a_description_of_brokers(
    brokers: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was read as a log of requests unless it had a list."""
    file = tmp_path / "odd.json"
    file.write_text(f'{{"brokers": {brokers}}}')
    assert main(["place", str(file), "--repair"]) == 2
    seen = capsys.readouterr().err
    assert message in seen
    assert "log of requests" not in seen
    assert " it has " not in seen


def test_brokers_that_no_source_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Znodes of a cluster that is down have no brokers: those that hold replicas are taken."""
    file = tmp_path / "c.json"
    rows = [{"topic": "t", "partition": index, "replicas": [1 + index % 2, 3]} for index in range(4)]
    file.write_text(json.dumps({"brokers": [], "partitions": rows}))
    assert main(["place", str(file), "--remove", "3", "--json"]) == 0
    seen = capsys.readouterr()
    assert {frozenset(replicas) for replicas in placed(seen.out).values()} == {frozenset((1, 2))}
    assert "taken without rack: brokers 1, 2, 3" in seen.err


def test_plans_are_carried_out_on_a_served_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Kafka(brokers=3, racks=["/A/1", "/A/2", "/B/1"]) as kafka:
        where = kafka.address(1)
        made = ("--topic", "orders", "--partitions", "3", "--rf", "2", "--assignor", "simple", "--seed", "1", "--apply")
        out(capsys, "place", where, *made)
        assert "3 partitions as they are, on 3 brokers" in out(capsys, "place", where, code=1)
        file = tmp_path / "p.json"
        file.write_text(out(capsys, "place", where, "--repair", "--json"))
        planned = placed(file.read_text())
        assert planned
        out(capsys, "place", where, "--plan", str(file), "--verify", code=1)
        out(capsys, "place", where, "--plan", str(file), "--apply", "--batch", "1")
        assert " 0 under way, 0 to come" in out(capsys, "place", where, "--plan", str(file), "--verify")
        assert main(["place", where, "--plan", str(file), "--cancel"]) == 0
        seen = capsys.readouterr()
        assert (seen.out, "throttles" in seen.err) == ("cancelled: 0 partitions\n", False)
        out(capsys, "place", where, "--topic", "many", "--partitions", "200", "--rf", "2", "--apply")
        file.write_text(out(capsys, "place", where, "--repair", "--rf", "3", "--topic", "many", "--json"))
        out(capsys, "place", where, "--plan", str(file), "--apply", "--throttle", "1000000")
        assert "throttled.r" not in out(capsys, "cluster", where, "--json")
        report = json.loads(out(capsys, "place", where, "--report", "--json"))
        assert report["levels"][0]["uneven"] == []
        out(capsys, "place", where, "--topic", "orders", "--partitions", "5", "--apply")
        state = json.loads(out(capsys, "cluster", where, "--topic", "orders", "--json"))
        assert sorted(row["partition"] for row in state["partitions"]) == [0, 1, 2, 3, 4]
        for row in state["partitions"]:
            if (row["topic"], row["partition"]) in planned:
                assert list(row["replicas"]) == planned[row["topic"], row["partition"]]
                assert row["leader"] == row["replicas"][0]
