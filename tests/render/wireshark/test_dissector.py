"""The dissector that kwire writes: its tables have all layouts, and tshark shows with it what kwire decodes."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest

from kwire.cli.main import main
from kwire.render.wireshark.layout_tables import LayoutTables
from kwire.schema.catalog import catalog_for
from tests.capture.captured import CAPTURES
from tests.cli.test_commands import out
from tests.conftest import ROOT, needs_shared
from tests.render.wireshark.tshark import decoded_by_kwire, needs_tshark, run_tshark, script_in, shown_by_tshark
from tests.seeds import seeded

CAPTURE = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
OF_RUNS = (
    "kafka-0.9.clients.pcap",
    "kafka-1.1-zk.controller.pcap",
    "kafka-2.8-ipv6.clients.pcap",
    "kafka-3.9-sasl.clients.pcap",
    "kafka-4.4-kraft.clients.pcap",
    "kafka-4.4-kraft.controllers.pcap",
)


def test_every_version_of_every_api_has_a_layout() -> None:
    tables = LayoutTables(catalog_for())
    layouts = Counter[str]()
    for line in tables.messages:
        _, name, part, *versions = line.split()
        layouts[f"{name}{part.capitalize()}"] += len(versions)
    specs = [catalog_for().spec(name) for name, (kind, _) in catalog_for().heads().items()]
    expected = {spec.name: len(list(spec.versions)) for spec in specs if spec.type in ("request", "response")}
    assert layouts == Counter({name: count for name, count in expected.items() if count})


def test_filter_fields_have_one_type_each() -> None:
    types: dict[str, set[str]] = {}
    for line in LayoutTables(catalog_for()).fields():
        path, type_name, _ = line.split()
        if type_name != "struct":
            types.setdefault(path, set()).add(type_name)
    assert [path for path, names in types.items() if len(names) > 1] == []
    assert types["topics.partitions.error_code"] == {"int32"}
    assert not types.keys() & {"topic", "group", "error_name", "latency", "malformed", "api"}


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "kafka.lua"
    assert out(capsys, "wireshark", "-o", str(script)) == ""
    assert script.read_text("utf-8") == out(capsys, "wireshark")
    assert main(["wireshark", "-o", str(tmp_path)]) == 2
    assert "name a file" in capsys.readouterr().err


@pytest.mark.ci
@needs_tshark
@pytest.mark.parametrize("name", [None, *(pytest.param(name, marks=needs_shared) for name in OF_RUNS)])
def test_tshark_shows_the_fields_that_kwire_decodes(
    name: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = CAPTURE if name is None else CAPTURES / name
    lines = out(capsys, "decode", "--jsonl", "--show-secrets", str(capture)).splitlines()
    decoded = Counter(decoded_by_kwire(map(json.loads, lines)))
    assert decoded.total() > 0
    assert Counter(shown_by_tshark(script_in(tmp_path), capture)) == decoded


@pytest.mark.ci
@needs_tshark
@needs_shared
def test_filters_find_what_kwire_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = CAPTURES / "kafka-4.4-kraft.clients.pcap"
    script = script_in(tmp_path)
    in_group = 'kafka.group == "classic" && kafka.api == "JoinGroup" && kafka.type == "request"'
    for wireshark, kwire in (
        ('kafka.topic == "parcels" && kafka.api == "Produce"', 'topic == "parcels" and api == produce'),
        ('kafka.error_name == "COORDINATOR_NOT_AVAILABLE"', "error == COORDINATOR_NOT_AVAILABLE"),
        ("kafka.latency > 0.5", "latency > 500ms"),
        (in_group, 'group == "classic" and api == joingroup and type == request'),
    ):
        counts = run_tshark(script, capture, "-2", "-R", wireshark, "-T", "fields", "-e", "frame.number").splitlines()
        expected = int(out(capsys, "decode", str(capture), "--count", "--where", kwire))
        assert (wireshark, len(counts)) == (wireshark, expected)
        assert expected > 0


@pytest.mark.ci
@needs_tshark
@pytest.mark.parametrize("share", [0.001, 0.02])
def test_hostile_bytes_raise_nothing(share: float, tmp_path: Path) -> None:
    random = seeded("hostile bytes for Wireshark")
    for number in range(4):
        damaged = tmp_path / f"{number}.pcap"
        damaged.write_bytes(_damaged(CAPTURE.read_bytes(), random, share))
        assert run_tshark(script_in(tmp_path), damaged, "-V", "-O", "kafka_kwire").count("Kafka") > 0


def _damaged(capture: bytes, random: Random, share: float) -> bytes:
    """Change bytes of the payloads of a pcap, with sizes, counts and lengths more often than others."""
    damaged = bytearray(capture)
    for start, size in _packets(capture):
        payload = range(start + 66, start + size)
        for at in payload:
            if random.random() < share:
                damaged[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
    return bytes(damaged)


def _packets(capture: bytes) -> Iterable[tuple[int, int]]:
    order = "<" if capture[:1] in (b"\xd4", b"\x4d") else ">"
    at = 24
    while at < len(capture):
        size: int = struct.unpack_from(f"{order}I", capture, at + 8)[0]
        yield at + 16, size
        at += 16 + size
