"""What the native engine does beyond what every test compares with the reference path: see `tests.executions`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from random import Random
from threading import Thread
from typing import Any

import msgspec
import pytest

import kwire
from kwire import native
from kwire.fast_path import ENGINES, chosen_engine, fast_path
from tests.conftest import ROOT
from tests.executions import reference_decoding
from tests.messages_of import released_pairs
from tests.random_values import draw

pytestmark = pytest.mark.skipif(not native.AVAILABLE, reason="the native engine was not built")


@pytest.fixture
def calls_only() -> Iterator[None]:
    """Have messages made by calls of their class, as where their layout in memory is not known."""
    from kwire.native import _engine

    assert _engine.USES_SLOTS
    _engine.use_slots(False)
    yield
    _engine.use_slots(True)


def test_messages_made_by_calls_are_the_same(calls_only: None) -> None:
    rng = Random("calls")
    for name, version in released_pairs()[::3]:
        schema = kwire.codec(name, version).schema
        table = native.NodeTable(*native.node_table(schema))
        data = kwire.codec(name, version).encode(draw(schema, rng))
        assert table.decode(data) == kwire.codec(name, version).decode(data)
        assert table.encode(table.decode(data)) == data


def test_skipping_ends_where_decoding_does() -> None:
    rng = Random("skip")
    for name, version in released_pairs():
        codec = kwire.codec(name, version)
        table = native.NodeTable(*native.node_table(codec.schema))
        data = b"\1\2" + codec.encode(draw(codec.schema, rng))
        assert table.skip_from(data, 2) == len(data)
        for cut in {2, (len(data) + 2) // 2, len(data) - 1} - {len(data)}:
            with pytest.raises(native.Refused):
                table.skip_from(data[:cut], 2)


def test_a_position_outside_of_the_bytes_is_refused() -> None:
    table = native.NodeTable(*native.node_table(kwire.codec("ControlledShutdownRequest", 1).schema))
    for start in (-1, 5):
        for method in (table.decode_from, table.skip_from, table.json):
            with pytest.raises(native.Refused):
                method(bytes(4), start)
        with pytest.raises(native.Refused):
            table.decode_many(bytes(4), start, 1)


@pytest.mark.parametrize("change", [{"child": 99}, {"first": 99}, {"size": 99}, {"absent": 99}, {"tags": 99}])
def test_a_table_that_points_outside_of_itself_is_refused(change: dict[str, Any]) -> None:
    nodes, fields = native.node_table(kwire.codec("MetadataResponse", 12).schema)
    broken = [row._replace(**change) if row.kind in ("struct", "array") else row for row in nodes]
    with pytest.raises(ValueError, match="points outside"):
        native.NodeTable(broken, fields)
    with pytest.raises(ValueError, match="points outside"):
        native.NodeTable(nodes, [row._replace(node=len(nodes)) for row in fields])


def test_a_default_that_a_tag_may_not_hold_is_left_to_the_reference() -> None:
    codec = kwire.codec("FetchRequest", 12)
    message = codec.message_class(cluster_id="c")
    data = codec.encode(message)
    table = native.NodeTable(*native.node_table(codec.schema))
    assert table.decode(data) == message
    assert data.endswith(bytes.fromhex("01 00 02 02 63"))
    null = data[:-5] + bytes.fromhex("01 00 01 00")  # tag 0 holds null, which is its default
    with pytest.raises(native.Refused):
        table.decode(null)
    assert codec.decode(null).cluster_id is None


@pytest.mark.parametrize("number", [0.5, float("nan"), float("inf"), -float("inf"), 1e300, -0.0])
def test_floats_stand_in_json_as_in_messages(number: float) -> None:
    codec = kwire.codec("AlterClientQuotasRequest", 0)
    entry = codec.message_class.EntryData
    message = codec.message_class(entries=(entry(ops=(codec.message_class.OpData(key="k", value=number),)),))
    assert codec.json_text(codec.encode(message)) == msgspec.json.encode(codec.to_json(message)).decode()


def test_eight_threads_decode_by_one_table() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    rng = Random("threads")
    bodies = [codec.encode(draw(codec.schema, rng)) for _ in range(50)]
    wanted = [reference_decoding(codec.schema, body, 0) for body in bodies]
    table = native.NodeTable(*native.node_table(codec.schema))
    found: list[Any] = []
    threads = [Thread(target=lambda: found.append([table.decode(body) for body in bodies * 5])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[message for message, _ in wanted * 5 if message] for _ in range(8)]  # type: ignore[misc]


def test_what_is_refused_leaks_nothing() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    table = native.NodeTable(*native.node_table(codec.schema))
    data = codec.encode(draw(codec.schema, Random("leak")))

    def run() -> None:
        for cut in range(len(data)):
            for method in (table.decode, table.json):
                with pytest.raises((native.Refused, UnicodeDecodeError)):
                    method(data[:cut])

    run()
    before = sys.getallocatedblocks()
    run()
    assert sys.getallocatedblocks() - before < 50


def test_an_engine_that_there_is_not_is_named() -> None:
    assert chosen_engine("", available=True) == "native"
    assert chosen_engine("", available=False) == "python"
    with pytest.raises(kwire.KwireError, match="there is no engine 'native'; it was not built"):
        chosen_engine("native", available=False)
    with pytest.raises(kwire.KwireError, match="there is no engine 'fast'; KWIRE_ENGINE is one of native, python, ref"):
        chosen_engine("fast", available=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_environment_chooses_the_engine(engine: str) -> None:
    program = "import kwire; codec = kwire.codec('MetadataRequest', 4); print(kwire.engine, type(codec._fast).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"KWIRE_ENGINE": engine, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
        text=True,
    )
    kind = type(fast_path(kwire.codec("MetadataRequest", 4).schema, "", engine)).__name__
    assert done.stdout.split() == [engine, kind]
