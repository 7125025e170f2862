"""How nodes become JSON and come from it: orders of keys, unknown ones, versions, and errors with their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire import zookeeper
from kwire.errors import EncodeError, NotInVersion, WrongType, ZnodeError
from kwire.zookeeper import BrokerRegistration, LogDirEvent, PartitionState, TopicState, read_znode, write_znode
from kwire.zookeeper.znode_struct import ZnodeStruct

DATA = Path(__file__).parent.parent / "data" / "znodes.jsonl"
SAMPLE = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
EVENT = "/log_dir_event_notification/log_dir_event_0000000000"
CHANGE = "/isr_change_notification/isr_change_0000000000"
BROKER = "/brokers/ids/1"
STATE = "/brokers/topics/orders/partitions/0/state"


def classes() -> list[type[ZnodeStruct]]:
    found = [getattr(zookeeper, name) for name in zookeeper.__all__]
    return [
        kind for kind in found if isinstance(kind, type) and issubclass(kind, ZnodeStruct) and kind is not ZnodeStruct
    ]


@pytest.mark.parametrize("row", SAMPLE, ids=[f"{row['run']}:{row['path']}" for row in SAMPLE])
def test_keys_are_read_in_any_order(row: Any) -> None:
    value = read_znode(row["path"], row["data"])
    if isinstance(value, ZnodeStruct):
        members = json.loads(row["data"])
        turned = json.dumps(dict(reversed(members.items())), indent=1)
        other = read_znode(row["path"], turned)
        assert msgspec.structs.replace(other, order=()) == msgspec.structs.replace(value, order=())
        assert json.loads(write_znode(other)) == members
        assert list(json.loads(write_znode(other))) == list(reversed(members))


def test_new_values_are_written_as_the_newest_release_of_their_version_does() -> None:
    """2.8 and 3.9 wrote versions 1 to 5 in one order; 0.10 wrote 3 and 4 in another, which is kept when read."""
    for row in SAMPLE:
        value = read_znode(row["path"], row["data"])
        if isinstance(value, ZnodeStruct) and not value.order:
            fields = {name: getattr(value, name) for name in value.__struct_fields__}
            assert write_znode(type(value)(**fields)) == row["data"].encode()
    ordered = {row["run"] for row in SAMPLE if getattr(read_znode(row["path"], row["data"]), "order", ())}
    assert ordered == {"kafka-0.9", "kafka-0.10.2"}


def test_unknown_keys_are_kept() -> None:
    data = b'{"version":1,"broker":2,"colour":{"a":[1,null,1.5,true]},"event":1,"nothing":null}'
    found = read_znode(EVENT, data)
    assert found.unknown == {"colour": {"a": [1, None, 1.5, True]}, "nothing": None}
    assert write_znode(found) == data
    assert write_znode(msgspec.structs.replace(found, order=())) == (
        b'{"version":1,"broker":2,"event":1,"colour":{"a":[1,null,1.5,true]},"nothing":null}'
    )
    inner = b'{"version":1,"partitions":[{"partition":0,"topic":"t","log_dir":"any"}]}'
    change = read_znode(CHANGE, inner)
    assert change.partitions[0].unknown == {"log_dir": "any"}
    assert write_znode(change) == inner


def test_a_newer_version_is_read_as_far_as_it_is_known() -> None:
    data = b'{"zone":"z","features":{},"endpoints":[],"port":1,"host":"h","version":6,"timestamp":"7"}'
    found = read_znode(BROKER, data)
    assert (found.version, found.unknown, found.endpoints, found.rack) == (6, {"zone": "z"}, (), None)
    assert write_znode(found) == data


def test_a_key_of_another_version_and_a_null_are_kept_as_they_stood() -> None:
    for data in (
        b'{"jmx_port":-1,"timestamp":"7","host":"b1","version":1,"port":9092,"rack":"r"}',
        b'{"version":1,"partitions":{},"adding_replicas":null}',
        b'{"endpoints":[],"rack":null,"jmx_port":-1,"port":1,"host":null,"version":4,"timestamp":"7"}',
    ):
        path = "/brokers/topics/t" if b"partitions" in data else BROKER
        assert write_znode(read_znode(path, data)) == data


def test_a_changed_value_keeps_its_place() -> None:
    data = b'{"jmx_port":-1,"timestamp":"7","endpoints":[],"host":"b1","version":2,"port":9092}'
    changed = msgspec.structs.replace(read_znode(BROKER, data), port=9093)
    assert write_znode(changed) == data.replace(b"9092", b"9093")
    without = msgspec.structs.replace(changed, jmx_port=None)
    assert write_znode(without).startswith(b'{"timestamp":"7",')


@pytest.mark.parametrize(
    ("path", "data", "text"),
    [
        (BROKER, "x", f"{BROKER}: $: not valid JSON: Expecting value: line 1 column 1 (char 0)"),
        (BROKER, "[]", f"{BROKER}: $: an object is needed"),
        (BROKER, '{"version":5,"port":1}', f"{BROKER}: $: 'host' is missing"),
        (BROKER, '{"host":"h","port":1}', f"{BROKER}: $: 'version' is missing"),
        (BROKER, '{"version":5,"host":"h","port":null}', f"{BROKER}: $.port: null is not allowed here"),
        (BROKER, '{"version":5,"host":"h","port":"1"}', f"{BROKER}: $.port: expected `int`, got `str`"),
        (BROKER, '{"version":true,"host":"h","port":1}', f"{BROKER}: $.version: expected `int`, got `bool`"),
        (BROKER, '{"version":5,"host":"h","port":1,"timestamp":7}', "$.timestamp: expected `str | null`, got `int`"),
        (BROKER, '{"version":5,"host":"h","port":1,"endpoints":["a",2]}', "$.endpoints[1]: expected `str`, got `int`"),
        (BROKER, '{"host":"h","host":"i"}', "not valid JSON: a key is repeated among ['host', 'host']"),
        (BROKER, '{"port":NaN}', "not valid JSON: NaN is not a JSON value"),
        (BROKER, "[" * 100_000, "not valid JSON"),
        (STATE, '{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":4,"isr":[1,true]}', "$.isr[1]: expected"),
        (
            "/brokers/topics/t",
            '{"version":1,"partitions":{"01":[1]}}',
            "$.partitions: in a key, expected `int`",
        ),
        (CHANGE, '{"version":1,"partitions":[{"topic":"t"}]}', "$.partitions[0]: 'partition' is missing"),
        (CHANGE, '{"version":1,"partitions":{}}', "$.partitions: an array is needed"),
        ("/controller_epoch", "true", "/controller_epoch: $: a number is needed"),
        ("/controller_epoch", '"1"', "/controller_epoch: $: a number is needed"),
    ],
)
def test_errors_have_their_place(path: str, data: str, text: str) -> None:
    with pytest.raises(ZnodeError) as caught:
        read_znode(path, data)
    assert text in str(caught.value)
    assert caught.value.znode == path


def test_bytes_that_are_no_utf_8_are_an_error() -> None:
    with pytest.raises(ZnodeError, match="not valid JSON"):
        read_znode(BROKER, b'{"host":"\xff"}')


def test_what_a_version_would_lose_is_refused() -> None:
    value = BrokerRegistration(host="h", port=1, version=2, rack="r")
    with pytest.raises(NotInVersion) as caught:
        write_znode(value)
    assert str(caught.value) == (
        "BrokerRegistration v2: rack: 'r' would be lost: version 2 does not have this field; "
        "the first version that has it is 3"
    )
    with pytest.raises(NotInVersion, match="adding_replicas"):
        write_znode(TopicState(partitions={}, version=1, adding_replicas={0: (1,)}))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (BrokerRegistration(host="h", port="1"), "BrokerRegistration v5: port: `int` is needed, not '1'"),  # type: ignore[arg-type]
        (PartitionState(leader=1, leader_epoch=0, isr=None, controller_epoch=1), "isr: `array` is needed, not None"),  # type: ignore[arg-type]
        (LogDirEvent(broker=1, event="LogDirLost"), "LogDirEvent v1: event"),  # type: ignore[arg-type]
        (LogDirEvent(broker=1, unknown={"x": float("nan")}), "a JSON value is needed"),
        (LogDirEvent(broker=1, unknown={"x": b"bytes"}), "a JSON value is needed"),
        (LogDirEvent(broker=1, unknown={"x": "\ud800"}), "a JSON value is needed"),
    ],
)
def test_what_cannot_be_written_is_an_error_with_its_place(value: Any, text: str) -> None:
    with pytest.raises(EncodeError) as caught:
        write_znode(value)
    assert isinstance(caught.value, WrongType) and text in str(caught.value)


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.__name__)
def test_every_field_is_in_the_order_of_some_version(kind: type[ZnodeStruct]) -> None:
    names = {info.encode_name for info in msgspec.structs.fields(kind) if info.name not in ("unknown", "order")}
    assert {key for text in kind.ORDERS.values() for key in text.split()} == names


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def changed_nodes(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw a captured node with its keys shuffled, some taken away, some changed, some added."""
    row = draw(st.sampled_from([row for row in SAMPLE if row["data"].startswith("{")]))
    members = json.loads(row["data"])
    for key in draw(st.lists(st.sampled_from([*members, "rack", "event", "strange"]), max_size=2)):
        members[key] = draw(ANY_JSON)
    keys = draw(st.permutations(list(members)))
    return row["path"], {key: members[key] for key in keys[: draw(st.integers(len(keys) - 1, len(keys)))]}


@settings(max_examples=200, deadline=None)
@given(changed_nodes())
def test_whatever_is_read_is_written_as_it_stood(node: tuple[str, dict[str, Any]]) -> None:
    path, members = node
    data = json.dumps(members, separators=(",", ":"), ensure_ascii=False)
    try:
        value = read_znode(path, data)
    except ZnodeError as error:
        assert error.json_path.startswith("$") and error.problem
        return
    assert write_znode(value).decode() == data
