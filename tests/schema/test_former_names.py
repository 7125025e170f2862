"""What older releases called fields and messages is understood when it is read, and never written."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.codecs import wire
from kwire.schema.catalog import Catalog, catalog_for
from kwire.schema.former_field_names import FORMER_MESSAGES, FORMER_NAMES
from kwire.schema.message_spec import MessageSpec, StructSpec
from tests.conftest import ROOT
from tests.golden.test_golden import CORPUS, cases, without_ours

# Not among the drifts of the facts: these leave out AlterIsr, as AlterPartition was called up to 3.1, and compare the
# names of schemas, in which lastKnownELR and lastKnownElr are the same.
NOT_IN_DRIFT = {
    ("AlterPartitionRequest.PartitionData", "currentIsrVersion"),
    ("AlterPartitionResponse.PartitionData", "currentIsrVersion"),
    ("PartitionChangeRecord", "lastKnownELR"),
    ("PartitionRecord", "lastKnownELR"),
}


@cache
def bodies() -> dict[str, list[tuple[kwire.Codec, dict[str, Any]]]]:
    """Return message -> codec and JSON of each of Kafka's own cases, for messages with a former name."""
    found: dict[str, list[tuple[kwire.Codec, dict[str, Any]]]] = defaultdict(list)
    wanted = {owner.partition(".")[0] for owner, _ in FORMER_NAMES}
    for case in cases(CORPUS):
        if case["message"] in wanted:
            codec = kwire.codec(case["message"], case["version"])
            found[case["message"]].append((codec, codec.to_json(codec.decode(bytes.fromhex(case["hex"])))))
    return found


def with_name(node: Any, value: Any, struct: str, now: str, former: str) -> Any:
    """Return a JSON value with one field of one struct under another name."""
    if isinstance(node, wire.NullableStruct):
        node = node.subcon
    if isinstance(node, wire.Array) and value is not None:
        return [with_name(node.element, item, struct, now, former) for item in value]
    if not isinstance(node, wire.Struct) or value is None:
        return value
    nodes = {field.json_name: field.subcon for field in node.all_fields}
    here = node.message_class.__name__ == struct
    return {
        former if here and name == now else name: with_name(nodes.get(name), item, struct, now, former)
        for name, item in value.items()
    }


@pytest.mark.parametrize("entry", FORMER_NAMES, ids=lambda entry: ".".join(entry))
def test_a_former_name_is_read_as_the_name_of_now(entry: tuple[str, str]) -> None:
    owner, former = entry
    message, _, struct = owner.partition(".")
    tried = 0
    for codec, members in bodies()[message]:
        renamed = with_name(codec.schema, members, struct or message, FORMER_NAMES[entry], former)
        if renamed != members:
            assert codec.from_json(renamed) == codec.from_json(members)
            tried += 1
    assert tried


def test_json_that_kafka_wrote_under_former_names_is_read() -> None:
    """The jars of 2.7 to 4.3 wrote it, the last of each that had the names; before 2.7 Kafka had no such JSON."""
    kept: Counter[str] = Counter()
    for case in cases(ROOT / "tests/data/former_names.jsonl.gz"):
        codec = kwire.codec(case["message"], case["version"])
        message = codec.decode(bytes.fromhex(case["hex"]))
        written = without_ours(codec.to_json(message))
        assert without_ours(codec.to_json(codec.from_json(case["json"]))) == written
        assert written != case["json"]
        kept[case["message"]] += 1
    assert (len(kept), kept.total()) == (19, 63)


def test_the_table_explains_every_renaming_of_the_facts_and_has_nothing_else(shared: Path) -> None:
    used: set[tuple[str, str]] = set()
    for drift in json.loads((shared / "kafka/facts/_drift.json").read_bytes()):
        spec = catalog_for().spec(drift["message"])
        for step in drift["steps"] if drift["kind"] == "names only" else ():
            before = [now_named(spec, drift["version"], path, used) for path in step["removed"]]
            assert before == [now_named(spec, drift["version"], path, used) for path in step["added"]], drift
            assert before
    assert used == FORMER_NAMES.keys() - NOT_IN_DRIFT
    assert len(FORMER_NAMES) == 52


def now_named(spec: MessageSpec, version: int, path: str, used: set[tuple[str, str]]) -> str:
    """Return a path in the names of now, and note what the table was asked for."""
    struct: StructSpec | None = spec.struct
    names = []
    for name in path.split("."):
        assert struct is not None
        owner = spec.name if struct is spec.struct else f"{spec.name}.{struct.name}"
        fields = {field.json_name: field for field in struct.fields if version in field.versions}
        if name not in fields:
            used.add((owner, name))
            name = FORMER_NAMES[owner, name]
        names.append(name)
        struct = fields[name].struct
    return ".".join(names)


def test_no_former_name_means_two_fields() -> None:
    """Each stands for a field of the struct, and where the struct has it as a name of now, that is another version."""
    also_now = []
    for (owner, former), now in FORMER_NAMES.items():
        message, _, struct = owner.partition(".")
        (found,) = [s for s in catalog_for().spec(message).structs() if s.name == (struct or message)]
        fields = {field.json_name: field for field in found.fields}
        assert now in fields
        if former in fields:
            also_now.append((owner, former))
            assert not fields[former].versions.meets(fields[now].versions)
    assert also_now == [("StreamsGroupHeartbeatResponse", "acceptableRecoveryLag")]


def test_former_names_are_never_written() -> None:
    codec = kwire.codec("FetchRequest", 7)
    members = codec.to_json(codec.message_class(max_wait_ms=5, topics=(codec.message_class.FetchTopic(topic="t"),)))
    assert not {"maxWait", "epoch", "forgotten"} & members.keys()
    assert members["topics"] == [{"topic": "t", "partitions": []}]


def test_the_name_of_now_wins_over_the_former_name_of_another_field(tmp_path: Path) -> None:
    old, new = kwire.codec("StreamsGroupHeartbeatResponse", 0), kwire.codec("StreamsGroupHeartbeatResponse", 1)
    members = old.to_json(old.message_class())
    del members["acceptableRecoveryLagLegacy"]
    assert old.from_json({**members, "acceptableRecoveryLag": 7}).acceptable_recovery_lag_legacy == 7
    members = new.to_json(new.message_class())
    assert new.from_json({**members, "acceptableRecoveryLag": 7}).acceptable_recovery_lag == 7
    # Two fields of one version, one called as the other once was: a user's own spec.
    fields = ", ".join(f'{{"name": "{name}", "type": "int32", "versions": "0+"}}' for name in ("MaxWaitMs", "MaxWait"))
    (tmp_path / "FetchRequest.json").write_text(
        '{"apiKey": 1, "type": "request", "name": "FetchRequest", "validVersions": "0", "flexibleVersions": "none",'
        f' "fields": [{fields}]}}'
    )
    own = kwire.codec("FetchRequest", 0, catalog=Catalog.from_directory(tmp_path))
    assert own.from_json({"maxWait": 1, "maxWaitMs": 2}) == own.message_class(max_wait=1, max_wait_ms=2)
    with pytest.raises(kwire.EncodeError, match="maxWaitMs: the field is missing"):
        own.from_json({"maxWait": 1})


def test_a_former_name_beside_the_name_of_now_is_an_error() -> None:
    codec = kwire.codec("OffsetCommitRequest", 8)
    members = codec.to_json(codec.message_class())
    with pytest.raises(kwire.EncodeError, match="generationId: there is no such field"):
        codec.from_json({**members, "generationId": 1})


@pytest.mark.parametrize(
    ("message", "version", "path", "name"),
    [
        # FetchResponse.PartitionData and AlterPartitionRequest.TopicData had them: here are structs of the same names.
        ("EndQuorumEpochRequest", 0, ("topics", 0, "partitions", 0), "partition"),
        ("EndQuorumEpochRequest", 0, ("topics", 0), "name"),
        # Of versions up to 3; version 4 has no field that was called so.
        ("AddPartitionsToTxnRequest", 4, (), "topics"),
    ],
)
def test_a_name_is_accepted_only_where_it_was_in_use(
    message: str, version: int, path: tuple[str | int, ...], name: str
) -> None:
    codec = kwire.codec(message, version)
    case = next(c for c in cases(CORPUS) if (c["message"], c["version"], c["case"]) == (message, version, "max"))
    members = codec.to_json(codec.decode(bytes.fromhex(case["hex"])))
    inner: Any = members
    for segment in path:
        inner = inner[segment]
    inner[name] = inner.pop(next(iter(inner)))
    with pytest.raises(kwire.EncodeError, match=rf"\b{name}: there is no such field"):
        codec.from_json(members)


@pytest.mark.parametrize(("former", "now"), FORMER_MESSAGES.items())
def test_a_message_is_found_by_its_former_name(former: str, now: str) -> None:
    assert kwire.codec(former, 0).spec is kwire.codec(now, 0).spec
    assert getattr(kwire.messages, former) is getattr(kwire.messages, now)
    assert former in catalog_for()
    assert former not in catalog_for().names()


def test_former_messages_are_those_of_the_facts(shared: Path) -> None:
    assert json.loads((shared / "kafka/facts/_aliases.json").read_bytes())["renamedMessages"] == FORMER_MESSAGES


def test_a_catalog_that_has_a_message_of_a_former_name_gives_that_one(tmp_path: Path) -> None:
    (tmp_path / "AlterIsrRequest.json").write_text(
        '{"apiKey": 56, "type": "request", "name": "AlterIsrRequest", "validVersions": "0",'
        ' "flexibleVersions": "0+", "fields": []}'
    )
    assert Catalog.from_directory(tmp_path).spec("AlterIsrRequest").name == "AlterIsrRequest"
    with pytest.raises(kwire.UnknownMessage, match="there is no message 'ListOffsetRequest'"):
        Catalog.from_directory(tmp_path, alone=True).spec("ListOffsetRequest")


@pytest.mark.ci  # 7,564 lines; the tests above have one of each kind
def test_json_of_brokers_logs_is_read(shared: Path) -> None:
    """All requests and responses that brokers of 2.8 to 4.4 logged, but for what the log itself leaves out:

    records, of which it has the size only (`recordsSizeInBytes`), and the response to a Produce with acks=0, which
    there is none of: `""`. A value that a broker hides is logged as the text `[hidden]`, and read as that. What is
    read is written again as it was, under the names of now.
    """
    seen: Counter[str] = Counter()
    for path in sorted((shared / "captures").glob("*.requests.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                logged = json.loads(line)
                if "text" not in logged:  # Kafka before 2.7 logged text
                    seen["lines"] += 1
                    seen.update(read_logged(logged, side) for side in ("request", "response"))
    assert seen == {
        "lines": 7564,
        "as it was": 15066,
        "no response": 3,
        "names of FetchResponse": 38,
        "names of LeaderAndIsrRequest": 14,
        "names of TxnOffsetCommitRequest": 3,
        "names of OffsetCommitRequest": 2,
        "names of AddPartitionsToTxnRequest": 1,
        "names of AddPartitionsToTxnResponse": 1,
    }


SIZE = re.compile(r'"(records|recordSet)SizeInBytes": ?-?\d+')


def read_logged(logged: dict[str, Any], side: str) -> str:
    """Read one body, and say what it was like."""
    if logged[side] == "":
        assert (logged["api_key"], logged["request"]["acks"]) == (0, 0)
        return "no response"
    spec = catalog_for().find(logged["api_key"], side, logged["api_version"])
    assert spec is not None
    codec = kwire.codec(spec.name, logged["api_version"])
    text = json.dumps(logged[side])
    members = json.loads(SIZE.sub(r'"\1": ""', text))
    written = codec.to_json(codec.from_json(members))
    if written == members:
        return "as it was"
    assert list(values(written)) == list(values(members))
    return f"names of {spec.name}"


def values(item: Any) -> Iterator[Any]:
    """Yield what is in a JSON value, in order and without the names."""
    if isinstance(item, dict | list):
        for inner in item.values() if isinstance(item, dict) else item:
            yield from values(inner)
    else:
        yield item
