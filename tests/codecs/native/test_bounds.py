"""Bounds and roundings of the engine that whole captures do not reach: each test is of one that a mutant changed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import kwire
from kwire.arrow.rows.frame_rows import Pairing
from kwire.capture.frame_extractor import FrameExtractor
from kwire.capture.packets.pcap import PcapReader
from kwire.codecs import native
from kwire.codecs.fast_path import choose_fast_path
from kwire.codecs.native.node_table import node_table
from kwire.protocol.headers.apis import Apis
from kwire.schema.catalog import catalog_for
from tests.capture.building import Conversation, capture, request
from tests.codecs.native.test_engine import column_arguments, replaced
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(kwire.engine != "native", reason="another engine was chosen")

CAPTURE = (ROOT / "fixtures/dumps/kafka-3.9-zk.pcap").read_bytes()


@pytest.mark.parametrize("excess", [0, 1, 2])
def test_a_client_id_ends_within_its_frame(excess: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka's connections begin with a whole header; here, any connection is taken for one of Kafka's."""
    header = bytes.fromhex("0003 0001 00000007")
    frame = header + (2 + excess).to_bytes(2, "big") + b"me"
    sent_frames = Conversation().open().say(0, len(frame).to_bytes(4, "big") + frame + request(8)).say(1).say(0)
    streams = FrameExtractor("x")

    def recognise(connection: Any, side: int, data: bytes) -> None:
        streams.converse(connection, side, data[4:12], len(data))

    monkeypatch.setattr(streams, "recognise", recognise)
    list(streams.receive(PcapReader(iter([capture(sent_frames.segments)]))))
    (conversation,) = streams.states.values()
    assert (getattr(conversation, "client_id", None) == b"\0\2me") == (excess == 0)


@pytest.mark.parametrize("nanoseconds", [-1, -999, -1000, -1001, -1500, -(10**9) - 1, 0, 999, 1001])
def test_times_before_1970_are_rounded_down(nanoseconds: int) -> None:
    rows = native.FrameRows()
    pairing = Pairing(Apis(catalog_for()), rows)
    for batch in FrameExtractor("x").batches(PcapReader(iter([CAPTURE]))):
        moved = native.FrameBatch()
        moved += [one if isinstance(one, int) else one._replace(nanoseconds=nanoseconds) for one in batch]
        pairing.add_batch(moved)

    def convert(now: int) -> int:
        return now // 1000

    _, values = rows.times(convert)
    assert len(rows) > 50 and set(np.frombuffer(values, "<i8").tolist()) == {nanoseconds // 1000}


def test_the_number_of_columns_is_no_column() -> None:
    arguments = column_arguments()
    count = len(arguments[1])
    for at in (2, 3):
        numbers = [*arguments[at][:-1], count]
        with pytest.raises(ValueError, match="no such column"):
            native.ColumnTable(*replaced(arguments, at, numbers))
    for wrong in (count, count + 1, -3):
        with pytest.raises(ValueError, match="no such column"):
            native.ColumnTable(*replaced(arguments, 4, wrong))
    shape, width, nullable, child, _ = arguments[1][-1]
    with pytest.raises(ValueError, match="no such column"):
        native.ColumnTable(*replaced(arguments, 1, [*arguments[1][:-1], (shape, width, nullable, child, count)]))


@pytest.mark.parametrize(("count", "is_shared"), [(0, True), (1, True), (2, True), (16, True), (17, False)])
def test_equal_arrays_of_at_most_sixteen_integers_are_one_tuple(count: int, is_shared: bool) -> None:
    codec = kwire.codec("MetadataResponse", 1)
    response = codec.message_class
    topic = response.MetadataResponseTopic
    nodes = tuple(range(count))
    partitions = tuple(
        response.MetadataResponsePartition(partition_index=index, replica_nodes=nodes, isr_nodes=nodes)
        for index in range(2)
    )
    body = codec.encode(response(topics=(topic(name="t", partitions=partitions),)))
    first, second = choose_fast_path(codec.schema, "", "native").decode(body).topics[0].partitions
    assert (first.replica_nodes is first.isr_nodes is second.replica_nodes) == is_shared
    assert first.replica_nodes == first.isr_nodes == second.isr_nodes == nodes


def test_text_in_json_is_escaped_in_the_shortest_way() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    text = "".join(map(chr, range(128)))
    written = native.NodeTable(*node_table(codec.schema)).json(codec.encode(codec.message_class(cluster_id=text)))
    assert json.dumps(text).replace("\\u007f", "\x7f").encode() in written
