"""Paths into keys and values that a schema decodes, in --where, --fields and --sort."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kwire
from tests.serdes.test_record_doors import run

VALUES = [
    {"customer": {"id": 7, "vip": True}, "items": [{"sku": "a", "price": 2.5}, {"sku": "b", "price": 4}]},
    {"customer": {"id": 8, "vip": False}, "items": [], "note": None},
    [{"sku": "c"}, {"sku": "d"}],
    {"customerId": 10**30, "customer_id": 3, "key": {"id": 9}},
    "text",
]


@pytest.fixture
def orders(tmp_path: Path) -> list[str]:
    """The arguments that read a log of these values, whose keys are their numbers."""
    folder = tmp_path / "schemas"
    folder.mkdir()
    for part in ("key", "value"):
        (folder / f"orders-{part}.json").write_text("{}")
    values = [json.dumps(value).encode() for value in VALUES]
    records = [kwire.Record(at, 0, b'{"id": %d}' % at, value) for at, value in enumerate(values)]
    records.append(kwire.Record(len(values), 0, b"7", b"not JSON"))
    log = tmp_path / "orders-0/00000000000000000000.log"
    log.parent.mkdir()
    log.write_bytes(kwire.build_batch(records))
    return [str(log), "--registry", str(folder)]


@pytest.mark.parametrize(
    ("where", "offsets"),
    [
        ("value.customer.id == 7", [0]),
        ("value.customer.id in (7, 8)", [0, 1]),
        ("value.customer.vip", [0]),
        ("value.customer.vip == false", [1]),
        ("value.items[].sku == 'b'", [0]),
        ("value.items.sku == 'b'", [0]),
        ("value.items[0].sku == 'b'", []),
        ("value.items[1].price > 3", [0]),
        ("value[].sku == 'd'", [2]),
        ("value[0].sku == 'd'", []),
        ("exists(value.items)", [0, 1]),
        ("exists(value.note)", [1]),
        ("value.note == null", [1]),
        ("value.customerId > 1", [3]),
        ("value.customer_id == 3", [3]),
        ("value.id == 7", []),  # paths begin at the outermost record
        ("value.key.id == 9", [3]),
        ("key.id >= 4", [4]),
        ("value.customer.id == '7'", []),
        ("not value.customer.id", [2, 3, 4, 5]),
    ],
)
def test_records_are_chosen_by_fields_of_their_values(orders: list[str], where: str, offsets: list[int]) -> None:
    shown = run("decode", *orders, "--where", where, "--fields", "offset", code=1).out
    assert [int(line) for line in shown.split()[1:]] == offsets


def test_fields_of_values(orders: list[str]) -> None:
    fields = "offset,key.id,value.items[].sku,value.customer"
    shown = run("decode", *orders, "--fields", fields, "--where", "offset < 2", code=1).out
    assert shown.splitlines()[1:] == ['0\t0\ta,b\t{"id":7,"vip":true}', '1\t1\t\t{"id":8,"vip":false}']
    jsonl = run("decode", *orders, "--fields", fields, "--format", "jsonl", "--where", "offset == 0", code=1).out
    assert json.loads(jsonl) == {
        "offset": 0,
        "key.id": [0],
        "value.items[].sku": ["a", "b"],
        "value.customer": [{"id": 7, "vip": True}],
    }
    assert json.loads(
        run(
            "decode",
            *orders,
            "--sort",
            "value.customer.id",
            "--fields",
            "offset,value.customer.id",
            "--format",
            "jsonl",
            "--first",
            "1",
            code=1,
        ).out
    ) == {"offset": 1, "value.customer.id": [8]}


def test_such_paths_need_records_and_schemas(orders: list[str], tmp_path: Path) -> None:
    assert "--registry URL|DIR names the schemas" in run("decode", orders[0], "--where", "value.id == 1", code=2).err
    frames = tmp_path / "frames.bin"
    frames.write_bytes(kwire.encode_request(kwire.messages.MetadataRequest(), 9, correlation_id=1))
    refused = run("decode", "-v", str(frames), *orders[1:], "--where", "value.id == 1", code=2).err
    assert "value.id: not available for frames" in refused
    written = str(tmp_path / "part.bin")
    assert "not available for frames" in run("slice", str(frames), "-w", written, "--where", "key.id == 1", code=2).err
    assert "not available for frames" in run("slice", str(frames), "-w", written, "--where", "is_control", code=2).err
