"""From packets to TCP segments."""

from __future__ import annotations

import struct

import dpkt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.capture.packets.packet import Packet
from kwire.capture.packets.packet_headers import CUT, DAMAGED, FRAGMENT, NOT_TCP, parse_segment
from kwire.capture.packets.tcp_segment import Segment, reverse_key
from tests.capture.building import ethernet, ipv4, ipv6, tcp

SEGMENT = tcp(b"payload", sequence=0xFFFFFFFF, flags=0x18)
V4, V6 = ipv4(SEGMENT), ipv6(SEGMENT)


def found(data: bytes, link: int = 1, length: int | None = None) -> Segment | str:
    return parse_segment(Packet(5, link, data, len(data) if length is None else length))


def assert_whole(segment: Segment | str, ends: tuple[str, str] = ("10.0.0.1:50000", "10.0.0.2:9092")) -> None:
    assert isinstance(segment, Segment)
    assert (segment.source, segment.target) == ends
    assert (segment.sequence, segment.acknowledgement, segment.flags) == (0xFFFFFFFF, 7, 0x18)
    assert (segment.payload, segment.missing, segment.nanoseconds) == (b"payload", 0, 5)


def vlan(kind: bytes, tag: int = 7) -> bytes:
    return struct.pack(">H", tag) + kind


@pytest.mark.parametrize(
    ("link", "data"),
    [
        (1, ethernet(V4)),
        (1, ethernet(V4 + bytes(6))),  # padding
        (1, ethernet(vlan(b"\x08\x00") + V4, b"\x81\x00")),
        (1, ethernet(vlan(b"\x81\x00") + vlan(b"\x08\x00") + V4, b"\x88\xa8")),
        (1, ethernet(vlan(b"\x91\x00") + vlan(b"\x81\x00") + vlan(b"\x08\x00") + V4, b"\x88\xa8")),
        (113, bytes(14) + b"\x08\x00" + V4),
        (113, bytes(14) + b"\x81\x00" + vlan(b"\x08\x00") + V4),
        (276, b"\x08\x00" + bytes(18) + V4),
        (0, b"\x02\x00\x00\x00" + V4),
        (0, b"\x00\x00\x00\x02" + V4),
        (108, b"\x00\x00\x00\x02" + V4),
        (101, V4),
        (12, V4),
        (14, V4),
        (228, V4),
        (1, ethernet(ipv4(SEGMENT, options=bytes(40)))),
        (1, ethernet(ipv4(SEGMENT, total=0))),  # segmentation offload
        (1, ethernet(ipv4(SEGMENT, fragment=0x4000))),  # may not be fragmented, and is not
    ],
    ids=range(18),
)
def test_every_link_leads_to_the_segment(link: int, data: bytes) -> None:
    assert_whole(found(data, link))


def extension(following: int, length: int = 0) -> bytes:
    return bytes([following, length]) + bytes(6 + 8 * length)


@pytest.mark.parametrize(
    ("link", "data"),
    [
        (1, ethernet(V6, b"\x86\xdd")),
        (1, ethernet(vlan(b"\x86\xdd") + V6, b"\x81\x00")),
        (113, bytes(14) + b"\x86\xdd" + V6),
        (276, b"\x86\xdd" + bytes(18) + V6),
        (0, b"\x1e\x00\x00\x00" + V6),
        (229, V6),
        (101, ipv6(extension(43) + extension(60, 2) + extension(6) + SEGMENT, kind=0)),
        (101, ipv6(bytes([6, 4]) + bytes(22) + SEGMENT, kind=51)),  # authentication: in units of four, less two
        (101, ipv6(bytes([6, 0, 0, 0]) + bytes(4) + SEGMENT, kind=44)),  # a fragment that is all there is
        (101, ipv6(SEGMENT, length=0)),
    ],
    ids=range(10),
)
def test_every_link_leads_to_the_segment_of_ipv6(link: int, data: bytes) -> None:
    assert_whole(found(data, link), ("[::1]:50000", "[::2]:9092"))


@pytest.mark.parametrize("flags", [0, 0x80, 0x20, 0x10, 0xB0])
def test_gre_leads_to_what_it_carries(flags: int) -> None:
    more = bytes(4 * flags.bit_count())  # checksum, key and sequence number
    for kind, body in ((b"\x08\x00", V4), (b"\x65\x58", ethernet(V4)), (b"\x65\x58", ethernet(V6, b"\x86\xdd"))):
        segment = found(ethernet(ipv4(bytes([flags, 0]) + kind + more + body, protocol=47)))
        assert isinstance(segment, Segment)
        assert (segment.payload, segment.sequence) == (b"payload", 0xFFFFFFFF)


def test_dpkt_finds_the_same() -> None:
    packet = dpkt.ethernet.Ethernet(ethernet(ipv4(tcp(b"payload", 77, 0x18, bytes(8)))))
    segment = found(bytes(packet))
    assert isinstance(segment, Segment)
    inner = packet.data.data
    assert (segment.sequence, segment.flags, segment.payload) == (inner.seq, inner.flags, inner.data)
    assert segment.key == packet.data.src + packet.data.dst + struct.pack(">HH", inner.sport, inner.dport)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (ethernet(V4, b"\x08\x06"), NOT_TCP),
        (ethernet(ipv4(SEGMENT, protocol=17)), NOT_TCP),
        (ethernet(ipv6(SEGMENT, kind=17), b"\x86\xdd"), NOT_TCP),
        (ethernet(ipv4(SEGMENT, fragment=0x2000)), FRAGMENT),
        (ethernet(ipv4(SEGMENT, fragment=185)), FRAGMENT),
        (ethernet(ipv4(SEGMENT, fragment=0x2000, protocol=17)), NOT_TCP),
        (ethernet(ipv6(bytes([6, 0, 0, 1]) + bytes(4) + SEGMENT, kind=44), b"\x86\xdd"), FRAGMENT),
        (ethernet(ipv6(bytes([6, 0, 5, 0]) + bytes(4) + SEGMENT, kind=44), b"\x86\xdd"), FRAGMENT),
        (ethernet(ipv4(SEGMENT, total=30)), DAMAGED),
        (ethernet(b"\x41" + V4[1:]), DAMAGED),
        (ethernet(ipv4(SEGMENT[:12] + b"\x10" + SEGMENT[13:])), DAMAGED),
        (ethernet(V4)[:40], CUT),
        (ethernet(V4)[:20], CUT),
        (b"short", CUT),
    ],
    ids=range(14),
)
def test_what_is_no_segment_says_why(data: bytes, why: str) -> None:
    assert found(data) == why


@given(st.integers(48, 61))
def test_what_the_snap_length_cut_off_is_counted(snap: int) -> None:
    data = ethernet(V4)
    segment = found(data[:snap], length=len(data))
    assert isinstance(segment, Segment)
    assert segment.payload == b"payload"[: max(0, snap - 54)]
    assert segment.missing == 7 - len(segment.payload)


def test_a_segment_whose_options_are_cut_off_still_counts() -> None:
    data = ethernet(ipv4(tcp(b"payload", options=bytes(12))))
    segment = found(data[:50], length=len(data))
    assert isinstance(segment, Segment)
    assert (segment.payload, segment.missing) == (b"", 7)


@pytest.mark.parametrize(("link", "text"), [(105, "of link type 105 (802.11)"), (999, "of link type 999")])
def test_other_links_are_named(link: int, text: str) -> None:
    assert found(b"anything", link) == text


def test_the_other_direction_has_the_turned_key() -> None:
    segment = found(ethernet(V6, b"\x86\xdd"))
    assert isinstance(segment, Segment)
    assert reverse_key(reverse_key(segment.key)) == segment.key
    assert reverse_key(segment.key)[:16] == segment.key[16:32]


@given(st.binary(max_size=80), st.sampled_from([0, 1, 12, 101, 108, 113, 276]))
def test_any_bytes_are_a_segment_or_a_word(data: bytes, link: int) -> None:
    assert isinstance(found(data, link), Segment | str)
