"""JSON to messages and back, beside msgspec and json: `python -m benchmarks.codec.json_values`.

`from_json` takes plain values; msgspec reads the text of the same JSON into classes with the same fields. `to_json` is
beside the text that kwire writes of the bytes, read by `json.loads`. Processor time, by turns; equality is asserted
first. A ratio above 1 means that kwire takes less time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

import kwire
from benchmarks.lib.rounds import ratios, round_robin, spread, timer
from kwire.codecs import wire
from kwire.codecs.json_reader import JsonPosition, from_json

M = kwire.messages


def bodies() -> Iterator[tuple[kwire.Codec[Any], Any]]:
    """Yield messages of several kinds."""
    response = M.MetadataResponse
    brokers = [
        response.MetadataResponseBroker(node_id=id_, host=f"broker-{id_}.example.com", port=9092) for id_ in range(3)
    ]
    partitions = [
        response.MetadataResponsePartition(
            partition_index=index, leader_id=index % 3, replica_nodes=[0, 1, 2], isr_nodes=[0, 1, 2]
        )
        for index in range(6)
    ]
    topic = response.MetadataResponseTopic(name="orders", topic_id=bytes(range(16)), partitions=partitions)
    yield kwire.codec("MetadataResponse", 12), response(brokers=brokers, cluster_id="c", topics=[topic])
    yield kwire.codec("HeartbeatRequest", 4), M.HeartbeatRequest(group_id="group", member_id="member-1")
    data = M.ProduceRequest.PartitionProduceData
    produced = M.ProduceRequest.TopicProduceData(name="orders", partition_data=[data(records=bytes(10_000))])
    yield kwire.codec("ProduceRequest", 9), M.ProduceRequest(acks=-1, topic_data=[produced])
    config = M.DescribeConfigsResponse.DescribeConfigsResourceResult(name="retention.ms", value="604800000")
    result = M.DescribeConfigsResponse.DescribeConfigsResult(resource_name="orders", configs=[config] * 40)
    yield kwire.codec("DescribeConfigsResponse", 4), M.DescribeConfigsResponse(results=[result])


def twin_of(node: Any) -> Any:
    """Return the type with which msgspec reads the JSON of a node."""
    if isinstance(node, wire.NullableStruct):
        return twin_of(node.subcon) | None
    if isinstance(node, wire.Struct):
        fields: list[Any] = [(field.name, twin_of(field.subcon)) for field in node.fields]
        tagged = node.tagged.fields.values() if node.tagged else ()
        fields += [(field.name, twin_of(field.subcon), None) for field in tagged]
        names = {str(field.name): field.json_name for field in node.all_fields}
        return msgspec.defstruct(node.message_class.__name__, fields, rename=names, frozen=True, gc=False)
    if isinstance(node, wire.Array):
        base: Any = tuple[twin_of(node.element), ...]  # type: ignore[misc]
    else:
        kinds: dict[type, type] = {wire.Boolean: bool, wire.Float64: float, wire.Uuid: str, wire.String: str}
        base = kinds.get(type(node), int if isinstance(node, wire.Integer) else bytes)
    return base | None if node.nullable else base


def read_text(codec: kwire.Codec[Any], data: bytes) -> Any:
    """Return the JSON form of a body by way of its text."""
    text = codec.json_text(data)
    assert text is not None
    return json.loads(text)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time JSON to messages and back, beside msgspec and json.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--slot", type=float, default=0.05, help="seconds of a turn")
    options = parser.parse_args()
    readings, writings = [], []
    for codec, message in bodies():
        data = codec.encode(message)
        text = codec.json_text(data)
        assert text is not None
        members = json.loads(text)
        decoder = msgspec.json.Decoder(twin_of(codec.schema))
        position = JsonPosition(codec.name, codec.version)
        assert codec.from_json(members) == from_json(codec.schema, members, position) == codec.decode(data)
        assert codec.to_json(codec.decode(data)) == members
        assert msgspec.to_builtins(decoder.decode(text)).keys() >= members.keys()
        calls: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
            "from_json": (codec.from_json, (members,)),
            "msgspec.json": (decoder.decode, (text,)),
            "to_json": (codec.to_json, (codec.decode(data),)),
            "json.loads": (read_text, (codec, data)),
        }
        run = {name: timer(call, [arguments], time.process_time) for name, (call, arguments) in calls.items()}
        (times,) = round_robin([run], options.rounds, options.slot, warm=0.01)
        readings.append(ratios(times["msgspec.json"], times["from_json"]))
        writings.append(ratios(times["json.loads"], times["to_json"]))
        figures = "  ".join(f"{name} {statistics.median(taken) * 1e6:.2f} us" for name, taken in times.items())
        print(f"{codec.name} v{codec.version}, {len(data)} bytes: {figures}")
        print(f"    from_json, msgspec.json / kwire: {spread(readings[-1])}")
        print(f"    to_json, json_text and json.loads / kwire: {spread(writings[-1])}")
    for name, rows in (("from_json", readings), ("to_json", writings)):
        print(f"{name}: median of all {statistics.median(map(statistics.median, rows)):.2f}")


if __name__ == "__main__":
    main()
