"""Packets out of pcap and pcapng, right ones and broken ones."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from itertools import pairwise

import dpkt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.capture.packets.damage import DamagedBytes
from kwire.capture.packets.packet import LONGEST, Packet
from kwire.capture.packets.pcap import PcapReader
from kwire.capture.packets.pcapng import MOST_INTERFACES, PcapngReader
from kwire.errors import DumpError
from tests.capture.building import block, enhanced, interface, pcap, section
from tests.linear_time.effort import at_most

TIME = 1_700_000_000_123_456_789


def portions(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def read(data: bytes, size: int = 1 << 16) -> tuple[list[Packet], DumpError | DamagedBytes | None]:
    """The packets, and the first damage, or the error at their end."""
    reader = PcapngReader if data.startswith(b"\x0a\x0d\x0d\x0a") else PcapReader
    packets, damage = [], list[DamagedBytes]()
    try:
        for packet in reader(portions(data, size), "x.pcap"):
            if isinstance(packet, DamagedBytes):
                damage.append(packet)
            else:
                packets.append(packet)
    except DumpError as error:
        return packets, error
    return packets, damage[0] if damage else None


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("nanoseconds", [False, True])
@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_both_orders_and_both_resolutions(order: str, nanoseconds: bool, size: int) -> None:
    packets, error = read(pcap([(TIME, b"one"), (TIME + 5, b"other")], order=order, nanoseconds=nanoseconds), size)
    first = TIME if nanoseconds else TIME // 1000 * 1000
    assert error is None
    assert packets == [Packet(first, 1, b"one", 3), Packet(first + 5 * nanoseconds, 1, b"other", 5)]
    assert packets[0].time == first / 10**9


@pytest.mark.parametrize("snap", [0, 1, 4, 5, 2**32 - 1])
def test_a_snap_length_cuts_and_is_not_believed(snap: int) -> None:
    packets, error = read(pcap([(TIME, b"whole")], snap=snap))
    assert (error, packets[0].data, packets[0].length) == (None, b"whole"[:snap], 5)


def test_the_upper_half_of_the_link_type_has_other_meanings() -> None:
    assert read(pcap([(TIME, b"x")], link=0x14000000 | 113))[0][0].link == 113


@pytest.mark.parametrize("nano", [False, True])
def test_what_dpkt_writes_is_read(nano: bool) -> None:
    out = io.BytesIO()
    writer = dpkt.pcap.Writer(out, snaplen=100, linktype=101, nano=nano)
    for index in range(5):
        writer.writepkt(bytes([index]) * index, 1_700_000_000 + index / 4)
    packets, error = read(out.getvalue(), 11)
    assert error is None
    assert [(packet.time, packet.link, packet.data) for packet in packets] == [
        (1_700_000_000 + index / 4, 101, bytes([index]) * index) for index in range(5)
    ]


def test_dpkt_reads_the_same_from_pcapng() -> None:
    out = io.BytesIO()
    writer = dpkt.pcapng.Writer(out)
    for index in range(5):
        writer.writepkt(b"packet %d" % index, 1_700_000_000 + index / 4)
    packets, error = read(out.getvalue(), 5)
    assert error is None
    assert [(packet.time, packet.data) for packet in packets] == [
        (1_700_000_000 + index / 4, b"packet %d" % index) for index in range(5)
    ]


@given(st.integers(0, 200))
def test_a_pcap_cut_anywhere_gives_what_comes_before(stop: int) -> None:
    data = pcap([(TIME, bytes(40)), (TIME, bytes(30)), (TIME, bytes(20))])[:stop]
    packets, error = read(data, 9) if len(data) >= 4 else ([], None)
    whole = [end for end in (24, 80, 126, 162) if end <= len(data)]
    assert [len(packet.data) for packet in packets] == [40, 30, 20][: max(0, len(whole) - 1)]
    if len(data) >= 4 and len(data) not in (24, 80, 126, 162):
        assert error is not None
        assert error.offset == (whole[-1] if whole else 0)


@pytest.mark.parametrize("captured", [LONGEST + 1, 2**31, 2**32 - 1, 5000])
def test_a_length_that_lies_is_damage_at_its_place_and_quick(captured: int) -> None:
    data = pcap([(TIME, b"good")]) + struct.pack("<IIII", 1, 1, captured, captured) + bytes(1000)
    with at_most(2_000):
        packets, error = read(data)
    assert [packet.data for packet in packets] == [b"good"]
    assert error is not None
    assert error.offset == 44


def options(*pairs: tuple[int, bytes], order: str = "<") -> bytes:
    written = b"".join(
        struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4) for code, value in pairs
    )
    return written + struct.pack(order + "HH", 0, 0)


def test_a_section_has_so_many_interfaces_at_most() -> None:
    blocks = [interface() * (MOST_INTERFACES + 1), enhanced(b"last", number=MOST_INTERFACES - 1)]
    packets, damage = read(section() + b"".join(blocks))
    assert [packet.data for packet in packets] == [b"last"]
    assert isinstance(damage, DamagedBytes)
    assert damage.problem == "a block of type 1: there are more than 65536 interfaces"
    packets, damage = read((section() + interface() + enhanced(b"one")) * 3)
    assert (len(packets), damage) == (3, None)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(
    ("resolution", "ticks"),
    [(b"\x06", TIME // 1000), (b"\x09", TIME), (b"\x03", TIME // 10**6), (b"\x8a", TIME * 2**10 // 10**9)],
)
def test_interfaces_tell_time_in_ticks_of_their_own(order: str, resolution: bytes, ticks: int) -> None:
    data = section(order) + interface(1, order, options((2, b"lo"), (9, resolution), order=order))
    packets, error = read(data + enhanced(b"data", ticks, order=order), 13)
    assert error is None
    assert packets[0].nanoseconds is not None
    assert abs(packets[0].nanoseconds - TIME) <= {6: 1000, 9: 0, 3: 10**6}.get(resolution[0], 10**9 >> 10)


def test_an_interface_may_tell_time_from_another_year() -> None:
    data = section() + interface(options=options((14, struct.pack("<q", 1_600_000_000)))) + enhanced(b"x", 5_000_000)
    assert read(data)[0][0].nanoseconds == 1_600_000_005 * 10**9


def test_sections_interfaces_and_kinds_of_blocks_may_be_mixed() -> None:
    old = struct.pack("<HHIIII", 1, 0, 0, 7, 3, 9) + b"old"
    data = (
        section() + interface(1, snap=6) + block(0x0BAD, bytes(100_000)) + interface(113) + enhanced(b"first", 5, 1)
        + block(2, old) + block(3, struct.pack("<I", 9) + b"simple") + block(4, b"names")
        + section(">") + interface(276, ">") + enhanced(b"second", 8, 0, ">", 80)
    )  # fmt: skip
    packets, error = read(data, 1000)
    assert error is None
    assert packets == [
        Packet(5000, 113, b"first", 5),
        Packet(7000, 113, b"old", 9),
        Packet(None, 1, b"simple", 9),
        Packet(8000, 276, b"second", 80),
    ]
    assert packets[2].time is None


GOOD = section() + interface() + enhanced(b"good")


@pytest.mark.parametrize(
    "bad",
    [
        struct.pack("<III", 6, 0, 0),
        struct.pack("<III", 6, 8, 8),
        struct.pack("<III", 6, 13, 13) + bytes(20),
        struct.pack("<II", 6, 2**32 - 4) + bytes(40),
        struct.pack("<II", 0xBAD, 2**31) + bytes(40),
        struct.pack("<II", 6, 4000) + bytes(40),
        enhanced(b"x")[:-4] + b"\x00\x00\x00\x01",
        enhanced(b"x", number=1),
        block(6, struct.pack("<IIIII", 0, 0, 0, 99, 99) + b"short"),
        block(6, b"tiny"),
        block(1, b""),
        block(0x0A0D0D0A, b"\x00\x00\x00\x01" + bytes(12)),
        b"\x06\x00\x00",
    ],
    ids=range(13),
)
def test_a_broken_pcapng_keeps_what_comes_before_and_says_where(bad: bytes) -> None:
    read(GOOD + bad)  # patterns are compiled on first use, which is not counted
    with at_most(2_000):
        packets, error = read(GOOD + bad)
    assert [packet.data for packet in packets] == [b"good"]
    assert error is not None
    assert error.offset == len(GOOD)


@pytest.mark.parametrize("order", "<>")
def test_damage_at_the_end_that_resembles_the_start_of_a_block(order: str) -> None:
    start = section(order) + interface(1, order) + enhanced(b"packet", 10**15, 0, order)
    for kind in (1, 3, 6):
        begin = struct.pack(order + "II", kind, 32)
        for damage in (begin[:size] for size in range(1, 9)):
            reader = PcapngReader(portions(start + bytes(16) + damage, 1 << 16))
            packet, *fragments = list(reader)
            assert isinstance(packet, Packet)
            assert packet.data == b"packet"
            assert b"".join(one.data for one in fragments if isinstance(one, DamagedBytes)) == bytes(16) + damage


def test_a_pcap_of_its_header_alone_has_no_packets() -> None:
    assert read(pcap([])) == ([], None)
    assert read(pcap([])[:20])[1] is not None


@given(st.lists(st.integers(0, 9), max_size=4), st.integers(1, 40))
def test_reading_goes_on_where_a_file_has_grown(places: list[int], size: int) -> None:
    """It goes on behind whole records; what was told of interfaces and times before is known."""
    records = [pcap([]), *(pcap([(TIME + index, bytes([index]) * index)])[24:] for index in range(9))]
    blocks = [section() + interface(113), *(enhanced(bytes([index]), 7) for index in range(4)), section(">")]
    blocks += [interface(1, ">"), *(enhanced(bytes([index]), 8, order=">") for index in range(3))]
    for kind, whole in ((PcapReader, records), (PcapngReader, blocks)):
        reader, packets = kind(iter(()), "x.pcap"), list[Packet]()
        cuts = [1, *sorted(max(1, place) for place in places), len(whole)]
        for start, stop in pairwise([0, *cuts]):
            reader.cursor.portions = portions(b"".join(whole[start:stop]), size)
            packets += [packet for packet in reader if isinstance(packet, Packet)]
            assert reader.cursor.offset == len(b"".join(whole[:stop]))
        assert (packets, None) == read(b"".join(whole))


def test_the_end_of_a_growing_file_is_no_damage() -> None:
    """After damage the first interface may be lost, and Ethernet is assumed; at the end of the bytes none is."""
    reader = PcapngReader(iter([section()]))
    reader.may_grow = True
    with pytest.raises(StopIteration):
        next(reader)
    *_, interfaces, is_interface_lost = reader.state
    assert (interfaces, is_interface_lost) == ([], False)
