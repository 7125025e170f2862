"""What the native engine does beyond what every test compares with the reference path: see `tests.executions`."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import msgspec
import pytest

import kwire
from kwire.codecs import message_codec, native
from kwire.codecs.columns.column_plan import ColumnPlan
from kwire.codecs.fast_path import choose_fast_path
from kwire.codecs.native import ENGINES, chosen_engine
from kwire.codecs.native.node_table import NodeRow, node_table
from kwire.codecs.schema_tree import grow_tree
from tests.conftest import ROOT
from tests.executions import reference_decoding
from tests.messages.message_lists import released_pairs
from tests.messages.random_values import draw

if native.AVAILABLE:
    from kwire.codecs.columns.buffer_collector import _ColumnLayout

pytestmark = pytest.mark.skipif(not native.AVAILABLE, reason="the native engine was not built")


@pytest.fixture
def calls_only() -> Iterator[None]:
    """Have messages made by calls of their class, as where their layout in memory is not known."""
    from kwire.codecs.native import _engine

    assert _engine.USES_SLOTS
    _engine.use_slots(False)
    yield
    _engine.use_slots(True)


def test_messages_made_by_calls_are_the_same(calls_only: None) -> None:
    rng = Random("calls")
    for name, version in released_pairs()[::3]:
        schema = kwire.codec(name, version).schema
        table = native.NodeTable(*node_table(schema))
        data = kwire.codec(name, version).encode(draw(schema, rng))
        assert table.decode(data) == kwire.codec(name, version).decode(data)
        assert table.encode(table.decode(data)) == data


def test_skipping_ends_where_decoding_does() -> None:
    rng = Random("skip")
    for name, version in released_pairs():
        codec = kwire.codec(name, version)
        table = native.NodeTable(*node_table(codec.schema))
        data = b"\1\2" + codec.encode(draw(codec.schema, rng))
        assert table.skip_from(data, 2) == len(data)
        for cut in {2, (len(data) + 2) // 2, len(data) - 1} - {len(data)}:
            with pytest.raises(native.Declined):
                table.skip_from(data[:cut], 2)


def test_a_position_outside_of_the_bytes_is_refused() -> None:
    table = native.NodeTable(*node_table(kwire.codec("ControlledShutdownRequest", 1).schema))
    for start in (-1, 5):
        for method in (table.decode_from, table.skip_from, table.json):
            with pytest.raises(native.Declined):
                method(bytes(4), start)
        with pytest.raises(native.Declined):
            table.decode_many(bytes(4), start, 1)


@pytest.mark.parametrize("change", [{"child": 99}, {"first": 99}, {"size": 99}, {"absent": 99}, {"tags": 99}])
def test_a_table_that_points_outside_of_itself_is_refused(change: dict[str, Any]) -> None:
    nodes, fields = node_table(kwire.codec("MetadataResponse", 12).schema)
    broken = [row._replace(**change) if row.kind in ("struct", "array") else row for row in nodes]
    with pytest.raises(ValueError, match="points outside"):
        native.NodeTable(broken, fields)
    with pytest.raises(ValueError, match="points outside"):
        native.NodeTable(nodes, [row._replace(node=len(nodes)) for row in fields])


@pytest.mark.parametrize(
    ("kinds", "change"),
    [
        ("struct", {"message_class": None}),
        ("struct", {"message_class": kwire.codec("MetadataRequest", 4).message_class}),
        ("i", {"width": 1}),
        ("q", {"width": 4}),
        ("uuid", {"width": 0}),
        ("string", {"width": 3}),
        ("array", {"child": 0}),
        ("array", {"least": -1}),
        ("array", {"kind": "nullable struct", "child": 2}),
    ],
)
def test_a_table_that_would_read_what_is_not_there_is_refused(kinds: str, change: dict[str, Any]) -> None:
    nodes, fields = node_table(kwire.codec("DescribeTopicPartitionsResponse", 0).schema)
    nodes.append(NodeRow("q", 8))
    with pytest.raises(ValueError, match=r"width|inside of it|class"):
        native.NodeTable([row._replace(**change) if row.kind == kinds else row for row in nodes], fields)


def test_elements_of_an_array_may_take_no_bytes() -> None:
    """Structs without fields in a version, as the spec of a user may have them."""
    nodes, fields = node_table(kwire.codec("DescribeTopicPartitionsResponse", 0).schema)
    arrays = [row._replace(least=0) if row.kind == "array" else row for row in nodes]
    assert arrays != nodes
    assert native.NodeTable(arrays, fields)


def test_fields_of_other_types_and_rows_inside_themselves_are_refused() -> None:
    nodes, fields = node_table(kwire.codec("MetadataResponse", 12).schema)
    for change in ({"node": 0}, {"key": "text"}, {"name": b"bytes"}):
        with pytest.raises(ValueError, match=r"inside of it|names, and keys"):
            native.NodeTable(nodes, [row._replace(**change) for row in fields])
    for rows in ([], [tuple(nodes[0])]):
        with pytest.raises(ValueError, match="rows of nodes"):
            native.NodeTable(rows, fields)  # type: ignore[arg-type]


PARTITIONS = "topics[].partitions[]"


def column_arguments() -> list[Any]:
    """Return what the table of the columns of partitions is made of."""
    schema = kwire.codec("MetadataResponse", 12).schema
    return list(_ColumnLayout(schema, ColumnPlan([schema], PARTITIONS, None)).arguments(3))


def replaced(arguments: list[Any], at: int, value: Any) -> list[Any]:
    return [value if index == at else one for index, one in enumerate(arguments)]


@pytest.mark.parametrize("change", [{0: "bits"}, {0: "binary"}, {1: 16}, {3: 0}, {4: 1}, {4: 999}])
@pytest.mark.parametrize("shape", ["fixed", "list"])
def test_columns_of_other_shapes_than_their_values_are_refused(shape: str, change: dict[int, Any]) -> None:
    arguments = column_arguments()
    arguments[1] = [
        tuple(change.get(at, one) for at, one in enumerate(row)) if row[0] == shape and row[1] != 2 else row
        for row in arguments[1]
    ]
    with pytest.raises(ValueError, match=r"shape|lies in itself|no such column|numbers of bodies"):
        native.ColumnTable(*arguments)


def test_levels_that_no_field_or_two_lead_to_are_refused() -> None:
    descend, arguments = -2, column_arguments()
    actions = arguments[2]
    for changed in (
        [descend] * len(actions),
        [descend if at == actions.index(-1) else action for at, action in enumerate(actions)],
    ):
        with pytest.raises(ValueError, match=r"leads to each level"):
            native.ColumnTable(*replaced(arguments, 2, changed))
    with pytest.raises(ValueError, match="leads to each level"):
        native.ColumnTable(*replaced(arguments, 5, 2))
    for at in (0, 1, 2, 3):
        with pytest.raises(TypeError):
            native.ColumnTable(*replaced(arguments, at, None))


def test_repeating_takes_only_ends_that_were_collected() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    rng = Random("repeat")
    table = native.ColumnTable(*column_arguments())
    bodies = [codec.encode(draw(codec.schema, rng)) for _ in range(20)]
    assert table.feed(bodies, list(range(20)), 0) == 20
    rows, levels, columns = table.take()
    values = [one for column in columns for one in (column[1], column[3]) if one is not None]
    for one in values:
        with pytest.raises(ValueError, match="no such rows"):
            native.Repeat(one, 0, 1)
        with pytest.raises(ValueError, match="fewer values"):
            native.Repeat(levels[1], 0, rows).size(one)
    for width in (0, -1, 2**31 - 1):
        with pytest.raises(ValueError, match="fewer values"):
            native.Repeat(levels[0], 0, rows).fixed(columns[0][3], width)
    for call in (lambda: native.Repeat(None, 0, 1), lambda: native.pack_bits(None)):  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            call()


def test_a_number_that_does_not_fit_leaves_no_rows_behind() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    table = native.ColumnTable(*column_arguments())
    body = codec.encode(draw(codec.schema, Random("number")))
    with pytest.raises(OverflowError):
        table.feed([body, body], [1, 2**80], 0)
    once = native.ColumnTable(*column_arguments())
    once.feed([body], [1], 0)
    assert [column[0] for column in table.take()[2]] == [column[0] for column in once.take()[2]]


def test_a_default_that_a_tag_may_not_hold_is_left_to_the_reference() -> None:
    codec = kwire.codec("FetchRequest", 12)
    message = codec.message_class(cluster_id="c")
    data = codec.encode(message)
    table = native.NodeTable(*node_table(codec.schema))
    assert table.decode(data) == message
    assert data.endswith(bytes.fromhex("01 00 02 02 63"))
    null = data[:-5] + bytes.fromhex("01 00 01 00")  # tag 0 holds null, which is its default
    with pytest.raises(native.Declined):
        table.decode(null)
    assert codec.decode(null).cluster_id is None


def test_arrays_of_the_same_bytes_in_a_message_are_one_tuple() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    response = kwire.messages.MetadataResponse
    partitions = [
        response.MetadataResponsePartition(replica_nodes=replicas, isr_nodes=isr, offline_replicas=offline)
        for replicas, isr, offline in (
            ((1, 2), (1, 2), ()),
            ((1, 2), (1, 3), (1, 3)),
            ((), (), (1,)),
            ((7,), (8,), (7,)),
        )
    ]
    body = codec.encode(response(topics=[response.MetadataResponseTopic(partitions=partitions)]))
    (topic,) = choose_fast_path(codec.schema, "", "native").decode(body).topics
    assert topic.partitions == tuple(partitions)
    assert topic.partitions[0].isr_nodes is topic.partitions[0].replica_nodes
    assert topic.partitions[1].offline_replicas is topic.partitions[1].isr_nodes
    assert topic.partitions[1].replica_nodes is topic.partitions[0].replica_nodes
    held = sys.getrefcount(topic.partitions[0].replica_nodes)
    assert held == 4  # in three slots, and as an argument


@pytest.mark.parametrize("most", [2, 4, 6, 20])
def test_arrays_that_differ_in_some_bytes_are_different_tuples(most: int) -> None:
    """More arrays than are remembered, many of which begin and end as others do."""
    codec, rng = kwire.codec("MetadataResponse", 12), Random(most)
    response = kwire.messages.MetadataResponse

    def nodes() -> tuple[int, ...]:
        return (1, *(rng.randrange(-1, 9) for _ in range(rng.randrange(most))), 2)[rng.randrange(2) :]

    partitions = tuple(
        response.MetadataResponsePartition(replica_nodes=nodes(), isr_nodes=nodes(), offline_replicas=nodes())
        for _ in range(2000)
    )
    message = response(topics=(response.MetadataResponseTopic(partitions=partitions),))
    path = choose_fast_path(codec.schema, "", "native")
    assert path.decode(path.encode(message)) == message
    assert reference_decoding(codec.schema, path.encode(message), 0) == (message, len(path.encode(message)))


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
    table = native.NodeTable(*node_table(codec.schema))
    found: list[Any] = []
    threads = [Thread(target=lambda: found.append([table.decode(body) for body in bodies * 5])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[message for message, _ in wanted * 5 if message] for _ in range(8)]  # type: ignore[misc]


def test_what_is_refused_leaks_nothing() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    table = native.NodeTable(*node_table(codec.schema))
    data = codec.encode(draw(codec.schema, Random("leak")))

    def run() -> None:
        for cut in range(len(data)):
            for method in (table.decode, table.json):
                with pytest.raises((native.Declined, UnicodeDecodeError)):
                    method(data[:cut])

    run()
    before = sys.getallocatedblocks()
    run()
    assert sys.getallocatedblocks() - before < 50


@pytest.fixture
def heartbeat(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A codec whose usual calls are the engine's, which nothing compares with other executions."""
    monkeypatch.setattr(message_codec, "choose_fast_path", choose_fast_path)
    spec = kwire.codec("HeartbeatRequest", 4).spec
    return type(message_codec.codec_of(spec, 4))(spec, 4, grow_tree(spec, 4))


@pytest.mark.skipif(kwire.engine != "native", reason="another engine was chosen")
def test_the_usual_calls_of_a_codec_need_no_python_function(heartbeat: Any) -> None:
    body = bytes.fromhex("02670000000702630000")
    message = heartbeat.decode(body)
    assert (message.group_id, message.generation_id, message.member_id) == ("g", 7, "c")
    assert heartbeat.encode(message) == body
    text = '{"groupId":"g","generationId":7,"memberId":"c","groupInstanceId":null}'
    assert heartbeat.json_text(body) == heartbeat.json_text(b"ab" + body, 2) == text
    assert {type(method).__name__ for method in (heartbeat.decode, heartbeat.encode, heartbeat.json_text)} == {
        "builtin_function_or_method"
    }
    assert str(inspect.signature(heartbeat.decode)) == "(data, *, salvage=False, records='bytes')"


@pytest.mark.skipif(kwire.engine != "native", reason="another engine was chosen")
def test_what_is_unusual_is_left_to_the_methods_in_python(heartbeat: Any) -> None:
    body = bytes.fromhex("02670000000702630000")
    message = heartbeat.decode(body)
    assert heartbeat.decode(memoryview(body), salvage=False) == message
    assert heartbeat.decode(body, salvage=True) == (message, (), b"")
    assert heartbeat.decode(body + b"!", salvage=True).rest == b"!"
    assert heartbeat.json_text(body[:-1]) is None
    with pytest.raises(kwire.DecodeError, match=r"member_id: length 2 needs 2 bytes, 1 left \(offset 6\)"):
        heartbeat.decode(body[:6] + b"\x03c")
    with pytest.raises(kwire.EncodeError, match="generation_id"):
        heartbeat.encode(msgspec.structs.replace(message, generation_id=2**31))
    with pytest.raises(TypeError, match="bytes are needed, not str"):
        heartbeat.decode("g")
    with pytest.raises(TypeError, match="lenient"):
        heartbeat.decode(body, lenient=True)


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
    kind = type(choose_fast_path(kwire.codec("MetadataRequest", 4).schema, "", engine)).__name__
    assert done.stdout.split() == [engine, kind]


def test_an_engine_built_of_other_sources_is_left_out_with_a_warning() -> None:
    program = (
        "import sys, types; sys.modules['kwire.codecs.native._engine'] = types.ModuleType('_engine'); "
        "import kwire; print(kwire.engine)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={name: value for name, value in os.environ.items() if name != "KWIRE_ENGINE"} | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout == "python\n"
    assert "RuntimeWarning: kwire's native engine is not used, install kwire again, or in a checkout" in done.stderr
    assert "cannot import name" in done.stderr


@pytest.mark.parametrize(
    "change", ["an include file has changed", "the header has changed", "nothing has changed", "there are no sources"]
)
def test_an_engine_that_is_older_than_its_sources_is_left_out_with_a_warning(change: str, tmp_path: Path) -> None:
    """In a copy of a checkout; a wheel has no sources."""
    package = tmp_path / "kwire"
    package.mkdir()
    for path in (ROOT / "kwire").iterdir():
        if path.name != "codecs":
            (package / path.name).symlink_to(path)
    shutil.copytree(ROOT / "kwire/codecs", package / "codecs", ignore=shutil.ignore_patterns("__pycache__"))
    folder = package / "codecs/native"
    is_stale = change.endswith("has changed") and change != "nothing has changed"
    if is_stale:
        source = folder / ("c_helpers.h" if change == "the header has changed" else "json_text.pxi")
        source.write_text(source.read_text() + "\n")
    elif change == "there are no sources":
        for path in folder.iterdir():
            if path.suffix in (".pyx", ".pxi", ".h"):
                path.unlink()
    done = subprocess.run(
        [sys.executable, "-c", "import kwire; print(kwire.engine)"],
        env={name: value for name, value in os.environ.items() if name != "KWIRE_ENGINE"}
        | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        check=True,
        text=True,
    )
    if is_stale:
        assert done.stdout == "python\n"
        assert f"run python {package / 'codecs/native/build_hook.py'}: its sources have changed" in done.stderr
    else:
        assert (done.stdout, done.stderr) == ("native\n", "")
