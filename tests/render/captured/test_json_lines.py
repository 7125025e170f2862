"""Lines that are written straight from bytes are those of decoded frames, and the state behind them is the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire import FrameDecoder
from kwire.capture.kafka.captured_frames import TcpEnds
from kwire.capture.open_dump import open_dump
from kwire.codecs.native import FrameBatch
from kwire.protocol import Result
from kwire.protocol.frames.captured_frame import SECOND, CapturedFrame, Endpoints, NamedEnds, first_numbers, make_frame
from kwire.protocol.message_summary import MessageSummary
from kwire.redact.masking import mask
from kwire.render.captured.json_lines import JsonLines
from kwire.render.captured.text_lines import CapturedLines
from kwire.render.frame_line import FrameLines
from kwire.render.json_objects.frame_json import json_line
from tests.capture.captured import CAPTURES
from tests.conftest import ROOT, each_of, needs_shared
from tests.seeds import named, seeded

M: Any = kwire.messages
TIME = 1_700_000_000_123_456_789
FILE = 'a "file"\x1b.pcap'
Spoken = tuple[bool, bytes]


def asked(message: Any, version: int, number: int, client: str | None = "me") -> Spoken:
    return True, kwire.encode_request(message, version, correlation_id=number, client_id=client)


def answered(message: Any, version: int, number: int) -> Spoken:
    return False, kwire.encode_response(message, version, correlation_id=number)


def said_by(ends: Endpoints, spoken: Spoken, number: int = 0) -> CapturedFrame:
    is_request, data = spoken
    return CapturedFrame(ends, is_request, number * 100, TIME + number, data, None, *first_numbers(data))


class Batched:
    """Writes each frame as a batch of its own, which the native engine does where it was built."""

    def __init__(self, safe: Callable[[Result], Result], *, salvage: bool, sealed: bool) -> None:
        self.ends, self.safe = TcpEnds(7, bytes.fromhex("0a000001 0a000002 1388 2384"), 0), safe
        self.others = TcpEnds(7, self.ends.key, 0)
        self.form = FrameLines(MessageSummary())
        self.json = JsonLines(FrameDecoder(salvage=salvage), FILE, sealed=sealed)
        self.text = CapturedLines(FrameDecoder(salvage=salvage), FILE, self.form, sealed=sealed)

    def lines(self, spoken: Spoken, number: int) -> tuple[str, str]:
        """Return the JSON line and the text line of a frame."""
        return (
            written(
                self.json,
                [said_by(self.ends, spoken, number)],
                number,
                lambda one: json_line(self.safe(one), self.json.summary) + "\n",
            ),
            written(
                self.text, [said_by(self.others, spoken, number)], number, lambda one: self.form.text(self.safe(one))
            ),
        )


def written(
    writer: JsonLines | CapturedLines, frames: list[CapturedFrame], number: int, carefully: Callable[[Result], str]
) -> str:
    batch = FrameBatch()
    batch += frames
    return "".join(text for text, _ in writer.written(batch, number, carefully))


def lines_of(frames: Sequence[Spoken], *, sealed: bool = True, salvage: bool = True) -> list[bool]:
    """Say which frames are told quickly; each line must be that of a decoder that sees all frames, and so the state."""
    ends = NamedEnds("10.0.0.1:5000", "10.0.0.2:9092", 7)
    quick, careful = FrameDecoder(salvage=salvage), FrameDecoder(salvage=salvage)
    lines, quickly = JsonLines(quick, FILE, sealed=sealed), []
    safe, wanted_texts = mask if sealed else (lambda result: result), FrameLines(MessageSummary())
    in_batches, summary = Batched(safe, salvage=salvage, sealed=sealed), MessageSummary()
    for number, spoken in enumerate(frames):
        said = said_by(ends, spoken, number)
        line, frame = lines.line(said, number), make_frame(said, FILE, number)
        result_of_frame = safe(careful.decode(frame))
        wanted = json_line(result_of_frame, summary)
        quickly.append(isinstance(line, str))
        assert text_of(line, safe, lines.summary) == wanted + "\n"
        assert in_batches.lines(spoken, number) == (wanted + "\n", wanted_texts.text(result_of_frame))
        assert quick.connections.on(7).client == careful.connections.on(7).client
    return quickly


def text_of(line: str | Result, safe: Callable[[Result], Result] = mask, summary: MessageSummary | None = None) -> str:
    return line if isinstance(line, str) else json_line(safe(line), summary) + "\n"


METADATA = asked(M.MetadataRequest(topics=None), 1, 7)
ANSWER = answered(M.MetadataResponse(), 1, 7)
TOPIC = M.MetadataResponse.MetadataResponseTopic(name="orders\u202e", topic_id=b"\xff" * 16)


def test_what_comes_again_is_told_again() -> None:
    response = M.MetadataResponse(topics=[TOPIC])
    frames = [asked(M.MetadataRequest(topics=None), 12, 7), answered(response, 12, 7)] * 3
    assert lines_of(frames) == [True] * 6


def test_names_stand_beside_topic_ids() -> None:
    """Ids without names, in any place of a message; the same id twice, an id of no topic, and unknown ids."""
    orders, other, never = (bytes([number]) * 16 for number in (1, 2, 3))
    names = {orders: "orders", other: 'q"\u202e\\'}
    described = [M.MetadataResponse.MetadataResponseTopic(topic_id=id_, name=name) for id_, name in names.items()]
    fetched = M.FetchRequest(
        topics=[M.FetchRequest.FetchTopic(topic_id=id_) for id_ in (never, orders, other, bytes(16), orders)],
        forgotten_topics_data=[M.FetchRequest.ForgottenTopic(topic_id=other)],
    )
    deleted = M.DeleteTopicsRequest(
        topics=[
            M.DeleteTopicsRequest.DeleteTopicState(topic_id=orders, name=None),
            M.DeleteTopicsRequest.DeleteTopicState(name="by-name"),
        ]
    )
    frames = [
        asked(fetched, 13, 1),
        answered(M.FetchResponse(responses=[M.FetchResponse.FetchableTopicResponse(topic_id=other)]), 13, 1),
        asked(M.MetadataRequest(topics=None), 12, 2),
        answered(M.MetadataResponse(topics=described), 12, 2),
        asked(fetched, 13, 3),
        answered(M.FetchResponse(responses=[M.FetchResponse.FetchableTopicResponse(topic_id=other)]), 13, 3),
        asked(deleted, 6, 4),
    ]
    assert lines_of(frames) == [True] * 7
    lines = JsonLines(FrameDecoder(), FILE)
    ends = NamedEnds("", "", 7)
    texts = [text_of(lines.line(said_by(ends, frame, number), number)) for number, frame in enumerate(frames)]
    keys = {
        id_: json.loads(texts[4])["payload"]["topics"][index]["topicId"] for index, id_ in ((1, orders), (2, other))
    }
    both = {"topics": {keys[id_]: name for id_, name in names.items()}}
    found = [json.loads(text).get("names") for text in texts]
    assert found[:4] == [None] * 4
    assert found[4:] == [
        both,
        {"topics": {keys[other]: names[other]}},
        {"topics": {keys[orders]: "orders"}},
    ]


def test_client_ids() -> None:
    for client in (None, "", "other", 'quotes " and \x1b\u202e', "é"):
        assert lines_of([METADATA, asked(M.MetadataRequest(topics=None), 12, 8, client), METADATA]) == [True] * 3
    data = bytearray(METADATA[1])
    data[14] = 0xFF
    assert lines_of([METADATA, (True, bytes(data)), METADATA]) == [True, False, True]


def test_a_response_says_how_long_it_took_and_which_frame_is_its_request() -> None:
    """Times that differ by a half of a microsecond too, of captures with nanoseconds."""
    ends = NamedEnds("10.0.0.1:5000", "10.0.0.2:9092", 7)
    for took in (0, 1, 499, 500, 501, 1500, 2500, 250_000_500, -3_000, 86_400 * SECOND):
        native, quick = FrameBatch(), JsonLines(FrameDecoder(), FILE)
        first, second = said_by(ends, METADATA), said_by(ends, ANSWER)
        frames = [first._replace(nanoseconds=TIME), second._replace(nanoseconds=TIME + took)]
        native += frames
        (asked_line, line) = "".join(text for text, _ in quick.written(native, 3, text_of)).splitlines()
        careful = FrameDecoder()
        results = [careful.decode(make_frame(captured, FILE, 3 + at)) for at, captured in enumerate(frames)]
        assert [asked_line, line] == [json_line(result) for result in results]
        source = msgspec.json.decode(line)["source"]
        assert source["requestFrame"] == 3
        assert source["latencySeconds"] == pytest.approx(took / SECOND, abs=0.75e-6)
        assert "latencySeconds" not in asked_line


def test_a_response_hides_a_client_id_that_may_be_read_out_of_a_secret() -> None:
    asking = asked(M.MetadataRequest(topics=None), 1, 7, "wonder\x00")
    assert lines_of([asking, ANSWER]) == [True, False]
    assert lines_of([asking, ANSWER], sealed=False) == [True, True]


def test_a_client_id_that_is_longer_than_its_frame_is_none() -> None:
    for length in (b"\x7f\xff", b"\x80\x00", b"\xff\xfe"):
        assert lines_of([(True, METADATA[1][:12] + length + METADATA[1][14:])]) == [False]


def test_what_is_odd_is_left_to_the_decoder_and_waits_for_its_answer_too() -> None:
    data = METADATA[1] + b"\0"
    odd = (True, (len(data) - 4).to_bytes(4, "big") + data[4:])
    answer = answered(M.MetadataResponse(), 1, 7)
    assert lines_of([odd, answer, METADATA, answer]) == [False, True, True, True]
    tagged = bytearray(asked(M.MetadataRequest(topics=None), 12, 7)[1])
    tagged[16:17] = bytes.fromhex("01 05 00")
    tagged[:4] = (len(tagged) - 4).to_bytes(4, "big")
    assert lines_of([(True, bytes(tagged)), METADATA]) == [False, True]


def test_answers_that_come_in_another_order() -> None:
    first, second = (asked(M.MetadataRequest(topics=None), 1, number) for number in (1, 2))
    answer = answered(M.MetadataResponse(), 1, 2)
    assert lines_of([first, second, answer, answer, answered(M.MetadataResponse(), 1, 1)]) == [True, True] + [False] * 3


def test_a_producer_without_acknowledgement_gets_no_response() -> None:
    frames = [asked(M.ProduceRequest(acks=acks), 3, acks) for acks in (0, 1)]
    assert lines_of([*frames, answered(M.ProduceResponse(), 3, 1)]) == [True] * 3


def test_software_is_remembered_and_its_version_may_be_refused() -> None:
    request = asked(M.ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3, 1)
    refused = M.ApiVersionsResponse(error_code=35)
    frames = [request, answered(refused, 0, 1), asked(M.ApiVersionsRequest(), 0, 2), answered(refused, 0, 2)]
    frames += [asked(M.ApiVersionsRequest(), 2, 3, "he"), answered(M.ApiVersionsResponse(), 2, 3)]
    assert lines_of(frames * 2) == [True] * 12


def configured(name: str) -> Spoken:
    message = M.DescribeConfigsResponse
    configs = [message.DescribeConfigsResourceResult(name=name, value="wonder")]
    return answered(message(results=[message.DescribeConfigsResult(configs=configs)]), 4, 7)


@pytest.mark.parametrize("sealed", [True, False])
def test_secrets(sealed: bool) -> None:
    request = asked(M.DescribeConfigsRequest(resources=[]), 4, 7)
    frames = [request, configured("ssl.keystore.password"), request, configured("retention.ms")]
    assert lines_of(frames, sealed=sealed) == [True] * 4
    odd = asked(M.AlterConfigsRequest(resources=[]), 0, 1, "\x1b")
    assert lines_of([odd], sealed=sealed) == [not sealed]


@pytest.mark.parametrize("sealed", [True, False])
def test_logging_in_and_envelopes_are_left_to_the_decoder(sealed: bool) -> None:
    frames = [
        asked(M.SaslHandshakeRequest(mechanism="PLAIN"), 1, 1),
        answered(M.SaslHandshakeResponse(), 1, 1),
        asked(M.SaslAuthenticateRequest(auth_bytes=b"\0alice\0wonder"), 0, 2),
        answered(M.SaslAuthenticateResponse(), 0, 2),
        asked(M.EnvelopeRequest(request_data=METADATA[1][4:]), 0, 3),
        METADATA,
    ]
    assert lines_of(frames, sealed=sealed) == [False] * 5 + [True]


def test_the_log_of_the_controllers_is_sealed() -> None:
    partitions = [M.FetchResponse.PartitionData(records=b"a secret")]
    for topic, is_hidden in (("__cluster_metadata", True), ("orders", False)):
        response = M.FetchResponse.FetchableTopicResponse(topic=topic, partitions=partitions)
        frames = [asked(M.FetchRequest(), 11, 7), answered(M.FetchResponse(responses=[response]), 11, 7)]
        assert lines_of(frames) == [True, True]
        lines, ends = JsonLines(FrameDecoder(), FILE), NamedEnds("", "", 7)
        assert ('"_hidden":8' in [str(lines.line(said_by(ends, one), 0)) for one in frames][1]) is is_hidden


def test_headers_without_a_client_and_unknown_apis() -> None:
    assert lines_of([asked(M.ControlledShutdownRequest(broker_id=1), 0, 1)]) == [False]
    lines = JsonLines(FrameDecoder(), FILE)
    for api in range(-300, 3000):
        data = bytes.fromhex("0000000a") + (api << 16 & 0xFFFFFFFF).to_bytes(4, "big") + bytes(6)
        lines.line(said_by(NamedEnds("", "", 1), (True, data)), 0)
    assert len(lines.apis._known) < 200


def test_a_time_that_is_none_or_nearly_none() -> None:
    lines, said = JsonLines(FrameDecoder(), FILE), said_by(NamedEnds("", "", 1), METADATA)
    for now in (None, 0, 999_999_999):
        assert not isinstance(lines.line(said._replace(nanoseconds=now), 0), str)
    assert isinstance(lines.line(said._replace(nanoseconds=10**9), 0), str)


POOL: list[Spoken] = [
    METADATA,
    answered(M.MetadataResponse(topics=[TOPIC]), 1, 7),
    asked(M.FetchRequest(cluster_id="c"), 12, 8),
    answered(M.FetchResponse(), 12, 8),
    asked(M.ApiVersionsRequest(client_software_name="x"), 3, 7, "he"),
    answered(M.ApiVersionsResponse(error_code=35), 0, 7),
    asked(M.SaslHandshakeRequest(mechanism="PLAIN"), 0, 8),
    asked(M.ProduceRequest(acks=0), 9, 8),
    asked(M.CreateTopicsRequest(), 5, 8, None),
    asked(M.MetadataRequest(topics=None), 12, 9),
    answered(M.MetadataResponse(topics=[TOPIC]), 12, 9),
    asked(M.FetchRequest(topics=[M.FetchRequest.FetchTopic(topic_id=TOPIC.topic_id)]), 13, 9),
    (False, bytes.fromhex("00000004 00000007")),
]


@given(st.lists(st.tuples(st.sampled_from(POOL), st.integers(4, 60), st.integers(0, 255)), max_size=12), st.booleans())
def test_whatever_comes_the_lines_are_the_same(choices: list[tuple[Spoken, int, int]], salvage: bool) -> None:
    frames = []
    for (is_request, data), place, byte in choices:
        changed = data[:place] + bytes([byte]) + data[place + 1 :] if byte and place < len(data) else data
        frames.append((is_request, changed))
    lines_of(frames, salvage=salvage)


@needs_shared
@each_of("path", sorted(CAPTURES.glob("*.pcap")), most=12, ids=lambda path: path.stem)
def test_frames_of_brokers_and_clients(path: Any) -> None:
    with kwire.open_dump(path) as dump:
        quick, careful = FrameDecoder(), FrameDecoder()
        lines, summary, number = JsonLines(quick, str(path)), MessageSummary(), 0
        assert dump.captured is not None
        for said in (said for batch in dump.captured for said in batch):
            if isinstance(said, int):
                quick.connections.forget(said)
                careful.connections.forget(said)
                continue
            line, frame = lines.line(said, number), make_frame(said, str(path), number)
            assert text_of(line, mask, lines.summary) == json_line(mask(careful.decode(frame)), summary) + "\n"
            number += 1
            if number == 300:
                break


def whole_and_decoded(path: Path) -> tuple[list[str], list[str]]:
    """Return the text and the JSON lines of a capture, as batches write them and as of decoded frames."""
    name, form, number = str(path), FrameLines(MessageSummary()), 0
    text, quick = CapturedLines(FrameDecoder(salvage=True), name, form), JsonLines(FrameDecoder(salvage=True), name)
    found, wanted = ["", ""], ["", ""]
    with open_dump(path) as dump, open_dump(path) as again:
        assert dump.captured is not None
        assert again.captured is not None
        for batch, other in zip(dump.captured, again.captured, strict=True):
            for lines, _ in text.written(batch, number, lambda one: form.text(mask(one))):
                found[0] += lines
            for lines, frames in quick.written(other, number, lambda one: json_line(mask(one), quick.summary) + "\n"):
                found[1] += lines
                number += frames
    with open_dump(path) as dump:
        decoder, form, summary = FrameDecoder(salvage=True), FrameLines(MessageSummary()), MessageSummary()
        for result in map(mask, map(decoder.decode, dump.frames)):
            wanted[0] += form.text(result)
            wanted[1] += json_line(result, summary) + "\n"
    return found, wanted


def test_lines_of_damaged_captures_are_those_of_decoded_frames(tmp_path: Path) -> None:
    data = (ROOT / "fixtures/dumps/kafka-3.9-zk.pcap").read_bytes()
    random_, path = seeded("lines of damaged captures"), tmp_path / "x.pcap"
    for number in range(12):
        damaged = bytearray(data)
        for _ in range(number):
            damaged[random_.randrange(24, len(data))] ^= 1 << random_.randrange(8)
        path.write_bytes(damaged)
        with named(number):
            found, wanted = whole_and_decoded(path)
            assert found == wanted
