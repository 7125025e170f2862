"""Columns against decoded messages: every message, version and array, alike and mixed shapes, hostile bodies."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

import kwire
from kwire.codecs.columns import column_reader
from kwire.codecs.columns.column_plan import ColumnPlan, paths_in
from tests.codecs.columns.rows import expected
from tests.conftest import ROOT, spread
from tests.messages.message_lists import released_pairs
from tests.messages.random_values import draw


@cache
def golden() -> dict[tuple[str, int], list[bytes]]:
    found: dict[tuple[str, int], list[bytes]] = defaultdict(list)
    with gzip.open(ROOT / "fixtures" / "golden.jsonl.gz", "rt", encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            found[case["message"], case["version"]].append(bytes.fromhex(case["hex"]))
    return found


def bodies_of(codec: kwire.Codec, seed: int, count: int = 4) -> list[bytes]:
    rng = Random(seed)
    made = [codec.encode(draw(codec.schema, rng)) for _ in range(count)]
    return golden()[codec.name, codec.version][:6] + made


def all_columns(codec: kwire.Codec, path: str) -> list[str]:
    return [name for name, _, _ in ColumnPlan([codec.schema], path, None).available()]


def rows_of(columns: Any, bodies: Any) -> list[dict[str, Any]]:
    batches = list(columns.read(bodies))
    assert not any(batch.errors for batch in batches)
    for batch in batches:
        batch.rows.validate(full=True)
        assert batch.rows.schema == columns.schema
    return [row for batch in batches for row in batch.rows.to_pylist()]


@pytest.mark.parametrize("name", spread(sorted({name for name, _ in released_pairs()}), 30))
def test_every_array_of_every_version_has_the_values_of_decoded_messages(name: str) -> None:
    for version in kwire.codec(name, released()[name][0]).spec.versions:
        codec = kwire.codec(name, version)
        bodies = bodies_of(codec, version)
        for path in ["", *paths_in([codec.schema])]:
            names = ["body_index", *all_columns(codec, path)]
            rows = rows_of(kwire.columns(name, version, path, columns=names), bodies)
            assert rows == [{key: row[key] for key in names} for row in expected(codec, path, bodies)], (version, path)


ALIKE = [
    ("MetadataResponse", 12, "topics[].partitions[]"),
    ("MetadataResponse", 5, "topics[].partitions[]"),
    ("UpdateMetadataRequest", 4, "ungrouped_partition_states[]"),
    ("LeaderAndIsrRequest", 7, "topic_states[].partition_states[]"),
    ("OffsetCommitRequest", 8, "topics[].partitions[]"),
    ("StopReplicaRequest", 4, "topic_states[].partition_states[]"),
    ("ApiVersionsResponse", 0, "api_keys[]"),
    ("FetchResponse", 12, "responses[].partitions[]"),
    ("DescribeTopicPartitionsResponse", 0, "topics[].partitions[]"),
]


def long_bodies(codec: kwire.Codec, path: str, seed: int, odd: float) -> list[bytes]:
    """Bodies whose innermost arrays are long, and whose elements look alike but for some."""
    rng = Random(seed)
    return [codec.encode(_longer(codec.schema, draw(codec.schema, rng), path.split("."), rng, odd)) for _ in range(4)]


def _longer(node: Any, value: Any, path: list[str], rng: Random, odd: float) -> Any:
    name = path[0].removesuffix("[]")
    element = next(field.subcon for field in node.all_fields if field.name == name).element
    if len(path) > 1:
        items = [_longer(element, draw(element, rng), path[1:], rng, odd) for _ in range(rng.randrange(4))]
    else:
        alike = [draw(element, rng) for _ in range(3)]
        items = [
            draw(element, rng) if rng.random() < odd else alike[rng.random() < 0.1] for _ in range(rng.randrange(200))
        ]
    return replace(value, **{name: tuple(items)})


@pytest.mark.parametrize("odd", [0.0, 0.05, 0.5])
@pytest.mark.parametrize(("name", "version", "path"), spread(ALIKE, 1, 3))
def test_long_arrays_of_any_mixture_of_shapes(name: str, version: int, path: str, odd: float) -> None:
    codec = kwire.codec(name, version)
    for seed in range(3):
        bodies = long_bodies(codec, path, seed, odd)
        columns = kwire.columns(name, version, path, columns=["body_index", *all_columns(codec, path)])
        rows = expected(codec, path, bodies)
        assert rows_of(columns, bodies) == [{name: row[name] for name in columns.schema.names} for row in rows]
        for name_ in columns.schema.names:  # whatever is left out, the rest is the same
            assert rows_of(kwire.columns(name, version, path, columns=[name_]), bodies) == [
                {name_: row[name_]} for row in rows
            ]


@pytest.mark.parametrize(("name", "version", "path"), spread(ALIKE, 1, 3))
def test_a_bad_body_is_named_and_takes_nothing_from_the_others(name: str, version: int, path: str) -> None:
    codec = kwire.codec(name, version)
    rng = Random(7)
    good = long_bodies(codec, path, 1, 0.05)
    bodies = [damage(body, rng) if rng.random() < 0.5 else body for body in good * 25]
    accepted, refused = [], {}
    for index, body in enumerate(bodies):
        try:
            codec.decode(body)
            accepted.append((index, body))
        except kwire.DecodeError as error:
            refused[index] = str(error)
    batches = list(kwire.columns(name, version, path, columns=["body_index", *all_columns(codec, path)]).read(bodies))
    assert {bad.body_index: str(bad.error) for batch in batches for bad in batch.errors} == refused
    assert refused
    rows = [row for batch in batches for row in batch.rows.to_pylist()]
    place = [index for index, _ in accepted]
    want = expected(codec, path, [body for _, body in accepted])
    assert repr(rows) == repr([row | {"body_index": place[row["body_index"]]} for row in want])


def damage(body: bytes, rng: Random) -> bytes:
    """Cut a body, flip a bit of it, or put a number in that claims too much."""
    at = rng.randrange(len(body))
    how = rng.randrange(3)
    if how == 0:
        return body[:at]
    if how == 1:
        return body[:at] + bytes([body[at] ^ 1 << rng.randrange(8)]) + body[at + 1 :]
    return body[:at] + b"\x7f\xff\xff\xff" + body[at + 4 :]


@pytest.mark.parametrize("name", sorted({name for name, _ in released_pairs()})[::7])
def test_cut_and_flipped_bodies_of_any_message(name: str) -> None:
    rng = Random(name)
    for version in released()[name]:
        codec = kwire.codec(name, version)
        bodies = [damage(body, rng) for body in bodies_of(codec, version) if body for _ in range(5)]
        refused = [index for index, body in enumerate(bodies) if not is_good(codec, body)]
        batches = list(kwire.columns(name, version).read(bodies))
        assert [bad.body_index for batch in batches for bad in batch.errors] == refused
        assert sum(batch.rows.num_rows for batch in batches) == len(bodies) - len(refused)


def is_good(codec: kwire.Codec, body: bytes) -> bool:
    try:
        codec.decode(body)
    except kwire.DecodeError:
        return False
    return True


PARTITIONS = "topics[].partitions[]"


def metadata(topics: int = 2, partitions: int = 30, name: str = "orders") -> bytes:
    response = kwire.messages.MetadataResponse
    topic, partition = response.MetadataResponseTopic, response.MetadataResponsePartition
    states = tuple(partition(partition_index=index, replica_nodes=(1, 2)) for index in range(partitions))
    message = response(cluster_id="c", topics=(topic(name=name, partitions=states),) * topics)
    return kwire.codec("MetadataResponse", 12).encode(message)


def test_columns_that_are_not_selected_are_not_read() -> None:
    body = metadata().replace(b"orders", b"ord\xffrs")
    columns = kwire.columns("MetadataResponse", 12, PARTITIONS, columns=["partition_index", "topics_error_code"])
    batch, errors = next(columns.read([body]))
    assert (batch.num_rows, errors) == (60, ())
    _, errors = next(kwire.columns("MetadataResponse", 12, PARTITIONS).read([body]))
    assert [bad.error.path for bad in errors] == ["topics[0].name"]


def test_only_what_is_wanted_of_structs_in_structs() -> None:
    columns = kwire.columns("MetadataResponse", 12, columns=["topics.partitions.leader_id", "topics.name", "brokers"])
    assert str(columns.schema.field("topics").type) == (
        "list<item: struct<name: string, partitions: list<item: struct<leader_id: int32>>>>"
    )
    rows = rows_of(columns, [metadata(1, 5)])
    assert rows == [{"topics": [{"name": "orders", "partitions": [{"leader_id": 0}] * 5}], "brokers": []}]


def test_dictionaries_hold_each_text_once() -> None:
    plain = kwire.columns("MetadataResponse", 12, PARTITIONS)
    encoded = kwire.columns("MetadataResponse", 12, PARTITIONS, dictionary=True)
    bodies = [metadata(3, 9), metadata(1, 2, "other")]
    assert rows_of(encoded, bodies) == rows_of(plain, bodies)
    assert pa.types.is_dictionary(encoded.schema.field("topics_name").type)
    batch = next(encoded.read(bodies)).rows
    assert batch.column("topics_name").dictionary.to_pylist() == ["orders", "other"]
    assert batch.column("topics_topic_id").to_pylist() == [bytes(16)] * 29
    assert not any(pa.types.is_dictionary(field.type) for field in plain.schema)


def test_batches_have_no_more_rows_and_bytes_than_they_may() -> None:
    bodies = [metadata(3, 100) for _ in range(5)]
    columns = kwire.columns("MetadataResponse", 12, PARTITIONS, max_rows=64)
    batches = [batch.rows for batch in columns.read(bodies)]
    assert {batch.num_rows for batch in batches[:-1]} == {64}
    assert sum(batch.num_rows for batch in batches) == 1500
    columns = kwire.columns("MetadataResponse", 12, PARTITIONS, max_bytes=5000)
    batches = [batch.rows for batch in columns.read(bodies)]
    assert max(batch.nbytes for batch in batches) <= 5000
    assert sum(batch.num_rows for batch in batches) == 1500


def test_a_long_name_around_many_rows_does_not_fill_the_memory() -> None:
    body = metadata(1, 20_000, "x" * 30_000)  # 600 MB if they were all put together
    columns = kwire.columns("MetadataResponse", 12, PARTITIONS, columns=["topics_name", "partition_index"])
    before = pa.total_allocated_bytes()
    rows = 0
    for batch in columns.read([body]):
        rows += batch.rows.num_rows
        assert batch.rows.nbytes <= 8 << 20
        assert pa.total_allocated_bytes() - before < 64 << 20
    assert rows == 20_000


def test_a_large_body_is_collected_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_reader, "ENOUGH", 1000)
    columns = kwire.columns("MetadataResponse", 12, PARTITIONS, columns=["body_index"], max_bytes=2**40)
    bodies = [metadata(1, 2), metadata(1, 3), b"", metadata(3, 100), metadata(1, 1)]
    assert [len(body) >= 1000 for body in bodies] == [False, False, False, True, False]
    batches = [(batch.rows.num_rows, [bad.body_index for bad in batch.errors]) for batch in columns.read(bodies)]
    assert batches == [(5, [2]), (300, []), (1, [])]


def test_lists_of_enclosing_levels_are_repeated_if_they_are_named() -> None:
    columns = kwire.columns("MetadataResponse", 12, PARTITIONS, columns=["message_brokers", "leader_id"])
    assert rows_of(columns, [metadata(1, 3)]) == [{"message_brokers": [], "leader_id": 0}] * 3
    assert "message_brokers" not in kwire.columns("MetadataResponse", 12, PARTITIONS).schema.names


def test_bodies_may_be_of_any_kind_and_none_is_passed_over() -> None:
    body = metadata(1, 1)
    columns = kwire.columns("MetadataResponse", 12, PARTITIONS, columns=["body_index"])
    for bodies in ([bytearray(body), None, memoryview(body)], pa.array([body, None, body])):
        assert rows_of(columns, bodies) == [{"body_index": 0}, {"body_index": 2}]
    assert list(columns.read([])) == []


def test_one_reading_may_begin_before_another_ends() -> None:
    columns = kwire.columns("MetadataResponse", 12, PARTITIONS, columns=["body_index"], max_rows=2)
    first, second = columns.read([metadata(1, 3)]), columns.read([metadata(1, 5)])
    pairs = [next(first).rows.num_rows, next(second).rows.num_rows]
    assert pairs + [batch.rows.num_rows for batch in first] + [batch.rows.num_rows for batch in second] == [
        2,
        2,
        1,
        2,
        1,
    ]


def test_errors_alone_are_a_batch_without_rows() -> None:
    columns = kwire.columns("MetadataResponse", 12, PARTITIONS)
    (batch,) = columns.read([b"", b"\0"])
    assert (batch.rows.num_rows, batch.rows.schema) == (0, columns.schema)
    assert [bad.body_index for bad in batch.errors] == [0, 1]


@pytest.mark.parametrize("version", [0, 9, 12])
def test_the_columns_of_all_versions_together(version: int) -> None:
    schema = kwire.arrow_schema("MetadataResponse", path=PARTITIONS)
    columns = kwire.columns("MetadataResponse", version, PARTITIONS, union=True)
    assert columns.schema == schema
    codec = kwire.codec("MetadataResponse", version)
    bodies = long_bodies(codec, PARTITIONS, 3, 0.1)
    own = expected(codec, PARTITIONS, bodies)
    assert rows_of(columns, bodies) == [{name: row.get(name) for name in schema.names} for row in own]
    whole = kwire.columns("MetadataResponse", version, union=True)
    assert whole.schema == kwire.arrow_schema("MetadataResponse")
    assert [len(row["topics"]) for row in rows_of(whole, bodies)] == [len(codec.decode(body).topics) for body in bodies]


@pytest.mark.parametrize("name", spread(sorted({name for name, _ in released_pairs()}), 30))
def test_both_engines_give_null_to_fields_that_a_version_lacks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = kwire.codec(name, released()[name][0]).spec.versions
    bodies = {version: bodies_of(kwire.codec(name, version), version) for version in versions}
    native = [rows_of(kwire.columns(name, version, union=True), bodies[version]) for version in versions]
    monkeypatch.setattr(column_reader, "ENGINE", "python")
    python = [rows_of(kwire.columns(name, version, union=True), bodies[version]) for version in versions]
    assert repr(python) == repr(native)  # NaN equals NaN


def test_an_array_that_only_other_versions_have_gives_no_rows() -> None:
    columns = kwire.columns("LeaderAndIsrRequest", 0, "topic_states[].partition_states[]", union=True)
    body = kwire.codec("LeaderAndIsrRequest", 0).encode(kwire.messages.LeaderAndIsrRequest())
    assert list(columns.read([body])) == []


@cache
def released() -> dict[str, list[int]]:
    versions: dict[str, list[int]] = defaultdict(list)
    for name, version in released_pairs():
        versions[name].append(version)
    return versions
