"""Frames are cut from any portions, and assigned to requests as `kwire.decode_frames` does it; a state continues in
another process.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.arrow.raw_frames import RawFrame, RawFrameWalker
from kwire.arrow.rows.frame_rows import Pairing, RawFrameState, Row
from kwire.capture.open_dump import open_dump
from kwire.capture.raw_frames import read_raw_frames
from kwire.errors import BadFrame, DumpError
from kwire.protocol import LIMIT, Request, Response, Token, Undecodable
from kwire.protocol.frames.captured_frame import CapturedFrame, NamedEnds
from kwire.protocol.frames.stream_faults import BrokenDump, CutShort
from kwire.protocol.headers.apis import Apis
from kwire.schema.catalog import catalog_for
from tests.arrow.captures import FRAMES, PCAP, conversation
from tests.arrow.test_batch_reader import HANDSHAKE, HANDSHAKEN, TOKENS, UNKNOWN
from tests.conftest import SHARED, each_of

SHARED_CAPTURES = sorted(SHARED.glob("captures/*.pcap*")) if SHARED.is_dir() else []
FRAME = bytes.fromhex("00000008 0000000700000000")
HANDSHAKE_REQUEST = bytes.fromhex("0000000a 00110000 00000001 0000")
frames = st.sampled_from(
    [FRAME, HANDSHAKE_REQUEST, bytes(4), bytes.fromhex("00000003 616263"), b"\xff\xff\xff\xff", b"\0\0"]
)
portions = st.lists(st.integers(1, 30), min_size=1, max_size=20)


def cut(data: bytes, sizes: list[int], offset: int = 0, limit: int = LIMIT, piece: int = 1 << 20) -> list[RawFrame]:
    return [one for some in RawFrameWalker(_portions(data, sizes), offset, limit, piece).cuts() for one in some]


def _portions(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    while data:
        for size in sizes:
            if data[:size]:
                yield data[:size]
            data = data[size:]


@given(data=st.lists(frames, max_size=12).map(b"".join), sizes=portions, piece=st.integers(1, 9))
def test_frames_are_those_of_a_raw_dump(data: bytes, sizes: list[int], piece: int) -> None:
    found = cut(data, sizes, 100, piece=piece)
    assert b"".join(data for _, data, _ in found) == data
    whole = [(offset - 100, data) for offset, data, fault in found if fault is None]
    told = [(frame.source.offset, frame.data) for frame in read_raw_frames(iter([data] if data else []), "file")]
    assert whole == told[: len(whole)]
    assert len(told) - len(whole) == (len(found) > len(whole))
    assert all(len(data) <= piece for _, data, fault in found if fault is not None)


def test_offsets_go_on_from_where_the_bytes_begin() -> None:
    assert cut(FRAME * 3, [5], 1000) == [(1000, FRAME, None), (1012, FRAME, None), (1024, FRAME, None)]


def test_what_is_wrong_is_said() -> None:
    *_, (offset, data, fault) = cut(FRAME + FRAME[:-1], [4])
    assert (offset, data, type(fault), fault and fault.have) == (12, FRAME[:-1], CutShort, 11)
    *_, (offset, _, fault) = cut(FRAME + b"\xff\xff\xff\xfe", [4])
    assert (offset, type(fault), fault and fault.found) == (12, BadFrame, -2)
    *_, (_, _, fault) = cut(FRAME, [4], limit=7)
    assert (type(fault), fault and fault.found) == (BadFrame, 8)


def test_the_place_where_frames_end_is_known() -> None:
    walker = RawFrameWalker(iter([FRAME + b"\xff" * 9]), 50, LIMIT, 4)
    assert [len(some) for some in walker.cuts()] == [1, 1, 1, 1]
    assert walker.broken == 62


def test_a_huge_claim_takes_no_memory_and_ends_nothing() -> None:
    found = cut((LIMIT).to_bytes(4, "big") + bytes(30), [10], piece=16)
    assert [len(data) for _, data, _ in found] == [16, 16, 2]


def test_an_input_that_breaks_is_given_out_up_to_there() -> None:
    def broken() -> Iterator[bytes]:
        yield FRAME[:5]
        yield FRAME[5:] + FRAME[:6]
        raise DumpError("damaged", offset=7)

    found = [one for some in RawFrameWalker(broken(), 0, LIMIT, 100).cuts() for one in some]
    assert [data for _, data, _ in found] == [FRAME, FRAME[:6], b""]
    assert [type(fault) for _, _, fault in found] == [type(None), CutShort, BrokenDump]
    assert found[-1][0] == 18


def test_behind_a_handshake_tokens_may_be_empty() -> None:
    assert [fault for _, _, fault in cut(HANDSHAKE_REQUEST + bytes(4) + FRAME, [9])] == [None, None, None]
    assert isinstance(cut(bytes(4) + FRAME, [9])[0][2], BadFrame)


REAL = [frame.data for frame in kwire.read_dump(FRAMES)]
APIS = Apis(catalog_for())


def paired(frames: list[bytes], state: RawFrameState | None = None) -> list[Row]:
    rows: list[Row] = []
    pairing = Pairing(APIS, rows.append)
    pairing.resume(state or RawFrameState())
    pairing.raw([(index, data, None) for index, data in enumerate(frames)])
    return rows


def said(row: Row) -> Any:
    """Return what is said of a row, in the words of a result."""
    _, _, _, _, asked, api, number, client, fault = row
    return asked, api and (api.key, api.version), number, client, fault and fault.code


def told(result: Any) -> Any:
    """Return the same of a result."""
    if isinstance(result, Token):
        return result.from_client, None, None, None, None
    assert isinstance(result, Request | Response)
    header = result.header if isinstance(result, Request) else result.request
    return (
        isinstance(result, Request),
        (result.api_key, result.api_version),
        result.correlation_id,
        header.client_id,
        None,
    )


def frame_lists() -> Any:
    sent_frames = conversation(7)
    return st.one_of(
        st.just(REAL),
        st.integers(0, len(sent_frames)).map(lambda count: sent_frames[:count]),
        st.just([HANDSHAKE, HANDSHAKEN, *TOKENS]),
    )


@given(lists=st.lists(frame_lists(), max_size=4))
def test_frames_are_what_the_decoder_says(lists: list[list[bytes]]) -> None:
    frames = [data for some in lists for data in some]
    rows = paired(frames)
    for row, result in zip(rows, kwire.decode_frames([kwire.Frame(data) for data in frames]), strict=True):
        if not isinstance(result, Undecodable):
            assert said(row) == told(result)


@given(
    st.lists(st.sampled_from([*conversation(6), HANDSHAKE, HANDSHAKEN, *TOKENS, UNKNOWN, *REAL]), max_size=20),
    st.data(),
)
def test_a_state_goes_on_elsewhere(frames: list[bytes], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(frames)))
    first = list[Row]()
    pairing = Pairing(APIS, first.append)
    pairing.raw([(index, frame, None) for index, frame in enumerate(frames[:place])])
    state = pickle.loads(pickle.dumps(pairing.state(0)))
    second = paired(frames[place:], state)
    assert [said(row) for row in first + second] == [said(row) for row in paired(frames)]


def test_an_answer_that_looks_like_a_request_is_an_answer() -> None:
    # A correlation id of 3 << 16 | 1 is what a Metadata request at version 1 begins with.
    number = 3 << 16 | 1
    request = kwire.encode_request(
        kwire.messages.MetadataRequest(topics=None), 12, correlation_id=number, client_id="me"
    )
    response = kwire.encode_response(kwire.messages.MetadataResponse(), 12, correlation_id=number)
    assert [said(row)[:2] for row in paired([request, response])] == [(True, (3, 12)), (False, (3, 12))]
    assert [said(row)[:2] for row in paired([request, request])] == [(True, (3, 12)), (True, (3, 12))]


def test_overtaken_requests_are_forgotten() -> None:
    requests, answers = conversation(2)[:2], conversation(2)[2:]
    assert [said(row)[:3] for row in paired([*requests, answers[1]])][2] == (False, (3, 2), 71)
    assert said(paired([*requests, answers[1], answers[0]])[3])[4] == "UNSUPPORTED_VERSION"  # as a request it would be


def test_a_late_answer_that_looks_like_a_request_is_an_answer() -> None:
    number = 5  # Produce at version 5 begins so
    requests = [
        kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1, correlation_id=id, client_id="me")
        for id in (4, number)
    ]
    answer = kwire.encode_response(kwire.messages.MetadataResponse(), 1, correlation_id=number)
    assert [said(row)[:3] for row in paired([*requests, answer])][2] == (False, (3, 1), number)


@pytest.mark.parametrize(
    ("data", "code", "api"),
    [
        (UNKNOWN, "UNSUPPORTED_API", (32767, None)),
        (bytes.fromhex("0000000c 0003 0063 00000001 0002 6d65"), "UNSUPPORTED_VERSION", (3, "Metadata")),
        (bytes.fromhex("00000004 00000001"), "TRUNCATED", None),
        (bytes.fromhex("00000003 000000"), "TRUNCATED", None),
    ],
)
def test_what_is_neither_says_why(data: bytes, code: str, api: Any) -> None:
    (row,) = paired([data])
    assert row[8] is not None
    assert (row[8].code, row[5] and (row[5].key, row[5].name)) == (code, api)


def test_an_answer_to_nobody_says_so() -> None:
    first, *_ = conversation(2)
    fault = paired([first, bytes.fromhex("0000000a 7f000063 000000007ff0")])[1][8]
    assert fault is not None
    assert (fault.code, "no request with correlation id 2130706531 is in flight" in fault.reason) == (
        "NO_REQUEST",
        True,
    )


def test_a_cut_frame_keeps_its_header() -> None:
    rows: list[Row] = []
    pairing = Pairing(APIS, rows.append)
    request, response = REAL[:2]
    ends = NamedEnds("a:1", "b:2", 0)
    pairing.add_batch([CapturedFrame(ends, True, 0, 5, request[:30]), CapturedFrame(ends, False, 0, 6, response[:20])])
    assert [said(row) for row in rows] == [
        (True, (4, 7), 22, "1", "CUT_SHORT"),
        (False, (4, 7), 22, "1", "CUT_SHORT"),
    ]
    assert rows[0][3] == rows[1][3] == ("a:1", "b:2", 5)


def test_connections_are_kept_apart_and_end() -> None:
    rows: list[Row] = []
    pairing = Pairing(APIS, rows.append)
    one, other = NamedEnds("a:1", "b:2", 0), NamedEnds("a:2", "b:2", 1)
    first, second = (int.from_bytes(REAL[0][at : at + 4], "big") for at in (4, 8))
    pairing.add_batch([CapturedFrame(one, True, 0, 1, REAL[0], None, first, second)])
    answers = [CapturedFrame(ends, False, 0, time, REAL[1], None, 22, 0) for ends, time in ((other, 2), (one, 3))]
    pairing.add_batch([answers[0], 0, answers[1]])
    assert [said(row)[4] for row in rows] == [None, "NO_REQUEST", "NO_REQUEST"]


def test_said_and_frames_are_the_same() -> None:
    quick: list[Row] = []
    slow: list[Row] = []
    pairing, other = Pairing(APIS, quick.append), Pairing(APIS, slow.append)
    with kwire.open_dump(PCAP) as dump:
        for batch in dump.captured or ():
            pairing.add_batch(batch)
    for frame in kwire.read_dump(PCAP):
        other.frame(frame)
    assert [(row[0], row[1], *said(row)) for row in quick] == [(row[0], row[1], *said(row)) for row in slow]


def test_a_frame_that_is_named_is_what_its_container_says() -> None:
    rows: list[Row] = []
    pairing = Pairing(APIS, rows.append)
    body = kwire.codec("ControlledShutdownRequest", 1).encode(kwire.messages.ControlledShutdownRequest(broker_id=3))
    pairing.frame(kwire.Frame(body, message="ControlledShutdownRequest", version=1, bare=True))
    pairing.frame(kwire.Frame(b"\0\0", message="ConsumerProtocolSubscription", version=0, bare=True))
    pairing.frame(kwire.Frame(REAL[0], message="LeaderAndIsrRequest", version=7))
    pairing.frame(kwire.Frame(REAL[1], message="LeaderAndIsrResponse", version=7))
    assert [said(row) for row in rows] == [
        (True, (7, 1), None, None, None),
        (None, (None, 0), None, None, None),
        (True, (4, 7), 22, "1", None),
        (False, (4, 7), 22, "1", None),
    ]


@each_of("path", [PCAP, *SHARED_CAPTURES], most=8, ids=lambda path: getattr(path, "name", ""))
def test_rows_of_a_batch_are_those_of_its_frames(path: Path) -> None:
    """The native engine makes the rows of a batch; one by one, frames do not take that way."""
    at_once, one_by_one = list[Row](), list[Row]()
    apis = Apis(catalog_for())
    several, single = Pairing(apis, at_once.append), Pairing(apis, one_by_one.append)
    with open_dump(path) as dump:
        assert dump.captured is not None
        for batch in dump.captured:
            several.add_batch(batch)
            for captured in list(batch):
                single.take(captured)
    assert at_once == one_by_one
    assert at_once
