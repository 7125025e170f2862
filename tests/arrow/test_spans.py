"""Captures divided by where their connections lie: the same rows, and little is read twice."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire.arrow.flow_index import flows_of
from kwire.arrow.input_splits import Unit, spans_of
from kwire.arrow.options import Options
from kwire.arrow.reader import Reading
from kwire.capture.link_layers import Segment
from tests.arrow.captures import PCAP, rows_of, write
from tests.capture.building import Talk, ethernet, ipv4, ipv6, packet_of, pcap, request, tcp
from tests.conftest import SHARED, each_of, needs_shared

START = 1_700_000_000_000_000_000
ARP = ethernet(bytes(28), b"\x08\x06")
VLAN = ethernet(b"\x00\x07\x08\x00" + ipv4(tcp(request(1))), b"\x81\x00")
FRAGMENT = ethernet(ipv4(tcp(b"x"), fragment=0x2000))


def talk(port: int, begin: int, count: int, first: int = 1000, lost: int = 0) -> list[Segment]:
    """A connection that begins so many milliseconds after the start, asks so often, and loses some packets."""
    said = Talk(ports=(port, 9092), now=START + begin * 1_000_000, client_first=first).open()
    for number in range(count):
        said.ask(number, 30)
    said.close()
    del said.segments[8 : 8 + lost]
    return said.segments


def file_of(segments: list[Segment], *others: bytes, order: str = "<") -> bytes:
    """A pcap file of segments by their time, with other packets now and then."""
    ordered = sorted(segments, key=lambda segment: segment.nanoseconds or 0)
    packets = [(segment.nanoseconds or 0, packet_of(segment)) for segment in ordered]
    for index, data in enumerate(others):
        packets.insert((index + 1) * len(packets) // (len(others) + 1), (packets[0][0], data))
    return pcap(packets, order=order, nanoseconds=True)


def key(row: dict[str, Any]) -> str:
    ends = row["connection"] or {}
    return repr([ends.get("src"), ends.get("src_port"), ends.get("began"), row["direction"], row["offset"], row])


def units(path: Path, most: int) -> list[list[Unit]]:
    found = spans_of(str(path), path.stat().st_size, most, 20)
    assert found
    return [[Unit(str(path), span=span)] for span, _ in found]


def assert_same(path: Path, packs: list[list[Unit]]) -> None:
    assert sorted(rows_of(path, packs), key=key) == sorted(rows_of(path), key=key)


def test_connections_that_follow_each_other_are_read_once(tmp_path: Path) -> None:
    data = file_of([segment for number in range(40) for segment in talk(20000 + number, 40 * number, 5)], ARP, VLAN)
    path = write(tmp_path, data)
    packs = units(path, len(data) // 10)
    read = [(unit.span.end - unit.span.start) for (unit,) in packs if unit.span]
    assert len(read) >= 9
    assert sum(read) < len(data) * 1.5
    assert max(read) < len(data) / 5
    assert_same(path, packs)


def test_connections_over_ipv6_are_divided_too(tmp_path: Path) -> None:
    said = [segment for number in range(40) for segment in talk(20000 + number, 40 * number, 5)]
    packets = []
    for segment in sorted(said, key=lambda segment: segment.nanoseconds or 0):
        ends = bytes(12) + segment.key[:4] + bytes(12) + segment.key[4:8]
        packet = ethernet(ipv6(packet_of(segment)[34:], ends=ends), b"\x86\xdd")
        packets.append((segment.nanoseconds or 0, packet))
    data = pcap(packets, nanoseconds=True)
    path = write(tmp_path, data)
    packs = units(path, len(data) // 10)
    assert len(packs) > 5
    assert_same(path, packs)


@pytest.mark.parametrize("link", [0, 108, 12, 14, 101, 228])
def test_bare_ip_is_divided_too(tmp_path: Path, link: int) -> None:
    said = [segment for number in range(40) for segment in talk(20000 + number, 40 * number, 5)]
    family = (b"\x02\0\0\0" if link == 0 else b"\0\0\0\x02") if link in (0, 108) else b""
    ordered = sorted(said, key=lambda segment: segment.nanoseconds or 0)
    data = pcap([(one.nanoseconds or 0, family + packet_of(one)[14:]) for one in ordered], nanoseconds=True, link=link)
    path = write(tmp_path, data)
    packs = units(path, len(data) // 10)
    assert len(packs) > 5
    assert_same(path, packs)


@st.composite
def conversations(draw: Any) -> list[Segment]:
    number = st.integers(0, 400)
    talks = draw(
        st.lists(st.tuples(st.integers(1, 6), number, st.integers(0, 9), number, st.integers(0, 3)), min_size=1)
    )
    return [segment for port, *values in talks for segment in talk(port, *values)]


@settings(deadline=None, max_examples=80)
@given(conversations(), st.integers(1, 4000), st.lists(st.sampled_from([ARP, VLAN])), st.sampled_from("<>"), st.data())
def test_spans_have_the_rows_of_the_whole(
    said: list[Segment], most: int, odd: list[bytes], order: str, data: Any
) -> None:
    """Ports are used again, packets are lost, connections lie across each other, and the file may be cut."""
    whole = file_of(said, *odd, order=order)
    cut = data.draw(st.integers(0, 90))
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), whole[: max(24 + 16 + 54, len(whole) - cut)])
        found = spans_of(str(path), path.stat().st_size, most, 20)
        packs = [[Unit(str(path), span=span, part=part, parts=2)] for span, _ in found for part in (0, 1)]
        assert_same(path, packs or [[Unit(str(path))]])


def test_ports_used_again_long_after_are_another_flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire.arrow.flow_index.WINDOW", 2000)
    said = [segment for number in range(30) for segment in talk(20000 + number % 10, 90 * number, 9, first=number)]
    path = write(tmp_path, file_of(said))
    found = flows_of(str(path), 8000)
    assert len(found) == 30
    assert sum(flow.earlier is not None for flow in found) == 20
    assert found[-1].last == path.stat().st_size
    packs = units(path, 2000)
    assert len(packs) > 10
    assert_same(path, packs)


@pytest.mark.parametrize("count", [4, 23, 24, 30, 40, 70])
def test_a_file_that_has_only_begun_is_not_divided(tmp_path: Path, count: int) -> None:
    path = write(tmp_path, file_of(talk(20000, 0, 1))[:count])
    assert spans_of(str(path), count, 1, 20) == []
    packs = Reading(Options.parse({"maxPartitionBytes": 1, "openCostInBytes": 0})).divide([str(path)])
    is_cut = count != 24  # a capture of nothing
    assert sum(row["_error"] is not None for row in rows_of(path, packs)) == is_cut


@pytest.mark.parametrize("odd", [FRAGMENT, ethernet(ipv4(tcp())[:30]), ethernet(ipv4(tcp(), total=30))])
def test_what_may_be_damaged_is_not_divided_so(tmp_path: Path, odd: bytes) -> None:
    path = write(tmp_path, file_of(talk(20000, 0, 9) + talk(20001, 900, 9), odd))
    assert spans_of(str(path), path.stat().st_size, 1000, 2) == []


def test_connections_that_go_on_are_left_to_shares(tmp_path: Path) -> None:
    said = [segment for number in range(9) for segment in talk(20000 + number, number, 50)]
    path = write(tmp_path, file_of(said))
    size = path.stat().st_size
    assert [(span.start, span.end) for span, _ in spans_of(str(path), size, size, 2)] == [(24, size)]
    assert spans_of(str(path), size, size // 9, 2) == []


def test_a_file_with_damage_is_not_divided_so(tmp_path: Path) -> None:
    data = file_of([segment for number in range(9) for segment in talk(20000 + number, 40 * number, 5)])
    for place in (len(data), 24):
        path = write(tmp_path, data[:place] + bytes(8) + b"\xff" * 400 + data[place:])
        assert spans_of(str(path), path.stat().st_size, 2000, 20) == []
        assert [row["_error"]["code"] for row in rows_of(path) if row["_error"]] == ["DAMAGED"]


@needs_shared
@each_of("path", sorted((SHARED / "captures").glob("*-zk.*.pcap")), most=3, ids=lambda path: str(path.name))
def test_real_captures(path: Path) -> None:
    for parts in (3, 20):
        assert_same(path, units(path, path.stat().st_size // parts))


def test_the_fixture() -> None:
    assert_same(PCAP, units(PCAP, 5000))
