"""Usual input takes the fast paths: nothing else would notice that all of it is left to the general path."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.arrow.rows.frame_rows import Pairing
from kwire.capture.frame_extractor import FrameExtractor
from kwire.capture.packets.pcap import PcapReader
from kwire.cli.main import main
from kwire.codecs import native
from kwire.codecs.native.node_table import node_table
from kwire.codecs.records import Record, build_batch, parse_records
from kwire.protocol.headers.apis import Apis
from kwire.schema.catalog import catalog_for
from tests.capture.building import Conversation, capture
from tests.conftest import ROOT
from tests.golden.test_golden import CORPUS

pytestmark = pytest.mark.skipif(kwire.engine != "native", reason="another engine was chosen")

CAPTURE = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"


def paths_taken(run: Callable[[], Any]) -> dict[str, tuple[int, int]]:
    """Run something; return how often each kind of work was done natively, and how often it was left."""
    before = native.path_counts()
    run()
    after = native.path_counts()
    return {kind: (after[kind][0] - before[kind][0], after[kind][1] - before[kind][1]) for kind in after}


def kwire_prints(*arguments: str) -> Callable[[], Any]:
    """Return a function that runs a command and drops its output."""

    def run() -> None:
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
            assert main(list(arguments)) == 0

    return run


def test_golden_bodies_are_decoded_encoded_and_written_as_json_natively() -> None:
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    tables: dict[tuple[str, int], Any] = {}
    accepted = []

    def run() -> None:
        for case in cases:
            pair = case["message"], case["version"]
            if pair not in tables:
                tables[pair] = native.NodeTable(*node_table(kwire.codec(*pair).schema))
            body = bytes.fromhex(case["hex"])
            with contextlib.suppress(native.Declined):
                message = tables[pair].decode(body)
                assert tables[pair].encode(message) == body
                assert tables[pair].json(body)
                accepted.append(body)

    taken = paths_taken(run)
    assert len(accepted) > 0.98 * len(cases), len(accepted)  # some hold tags with their defaults, as Kafka writes them
    assert taken["decode"] == (len(accepted), len(cases) - len(accepted))
    assert taken["encode"] == taken["json"] == (len(accepted), 0)


def test_a_codec_leaves_nothing_usual_to_python() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    body = codec.encode(codec.message_class(cluster_id="c"))
    columns = kwire.columns("MetadataResponse", 12)
    taken = paths_taken(lambda: list(columns.read([body] * 10)))
    assert taken["columns"] == (10, 0)
    taken = paths_taken(lambda: list(columns.read([body, b"\xff" * 9, body])))
    assert taken["columns"] == (2, 1)


def test_packets_of_a_clean_capture_are_walked_natively() -> None:
    taken = paths_taken(lambda: list(FrameExtractor("x").batches(PcapReader(iter([CAPTURE.read_bytes()])))))
    native_packets, left = taken["packets"]
    assert native_packets > 100 and left <= native_packets // 20, taken


@pytest.fixture
def long_connection(tmp_path: Path) -> Path:
    """A capture of one connection with 200 requests and their responses."""
    conversation = Conversation().open()
    for number in range(200):
        conversation.ask(number, size=700)
    path = tmp_path / "long.pcap"
    path.write_bytes(capture(conversation.close().segments))
    return path


@pytest.mark.parametrize(
    ("kind", "command"),
    [("frames", ["stats"]), ("frames", ["report"]), ("lines", ["decode"]), ("lines", ["decode", "--jsonl"])],
)
def test_frames_are_counted_and_written_natively(kind: str, command: list[str], long_connection: Path) -> None:
    """The first request of a connection, its response and what ends the connection may be left to the general path."""
    taken = paths_taken(kwire_prints(*command, str(long_connection)))
    done, left = taken[kind]
    assert 398 <= done + left <= 400 and left <= 4, taken  # text may begin in another way
    taken = paths_taken(kwire_prints(*command, str(CAPTURE)))
    assert sum(taken[kind]) >= 112 and taken["packets"][1] <= 10, taken
    if command != ["stats"]:  # many short connections, each with a client of its own
        assert taken[kind][1] <= 4, taken
    if "--jsonl" in command:
        assert taken["json"][0] >= 112 and taken["json"][1] == 0, taken


def test_rows_of_frames_are_added_natively(long_connection: Path) -> None:
    rows = native.FrameRows()
    pairing = Pairing(Apis(catalog_for()), rows)

    def add_rows() -> None:
        for batch in FrameExtractor("x").batches(PcapReader(iter([long_connection.read_bytes()]))):
            pairing.add_batch(batch)

    added, left = paths_taken(add_rows)["rows"]
    assert (len(rows), added + left) == (400, 400) and left <= 4


def test_batches_are_checked_natively() -> None:
    (batch,) = parse_records(build_batch([Record(0, 5, b"k", b"v"), Record(1, 7)]))
    (packed,) = parse_records(build_batch([Record(0, 5, b"k", b"v"), Record(1, 7)], compression="gzip"))
    assert paths_taken(lambda: (batch.is_whole(), packed.is_whole()))["batches"] == (2, 0)
