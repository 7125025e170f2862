"""What `kwire.testing.strategies` draws is what kwire reads, with hypothesis' own settings, and says what it lacks."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

import kwire
from kwire import messages as M  # noqa: N812
from kwire.codecs.compression.compression_types import NAMES
from kwire.schema.catalog import catalog_for
from kwire.testing import strategies
from kwire.testing.strategies.drawn_frames import list_codecs
from tests.conftest import ROOT
from tests.messages.message_lists import draft_triples, released_pairs

STRICT = settings(suppress_health_check=[])  # users have no others


def heads_of(frames: Any) -> list[Any]:
    return [(type(frame), frame.message, frame.header, frame.correlation_id) for frame in frames]


@STRICT
@given(st.sampled_from(released_pairs()), st.data())
def test_messages_come_back(pair: tuple[str, int], data: st.DataObject) -> None:
    codec = kwire.codec(*pair)
    message = data.draw(strategies.messages(*pair))
    assert type(message) is codec.message_class
    assert codec.decode(codec.encode(message)) == message


@STRICT
@given(strategies.requests())
def test_requests_are_what_decode_request_returns(request: kwire.Request) -> None:
    data = request.frame.data
    assert kwire.decode_request(data) == request
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    assert int.from_bytes(data[4:6], "big") == request.api_key
    assert int.from_bytes(data[8:12], "big", signed=True) == request.correlation_id


@STRICT
@given(strategies.responses())
def test_responses_are_what_decode_response_returns(response: kwire.Response) -> None:
    assert kwire.decode_response(response.frame.data, response.codec) == response
    assert response.frame.data[4:8] == int(response.correlation_id or 0).to_bytes(4, "big", signed=True)


@STRICT
@given(strategies.exchanges())
def test_responses_answer_their_requests(exchange: tuple[kwire.Request, kwire.Response | None]) -> None:
    request, response = exchange
    if response is None:
        assert (type(request.message).__name__, getattr(request.message, "acks", None)) == ("ProduceRequest", 0)
    else:
        assert response.request == request.header
        assert (response.api_name, response.codec.version) == (request.api_name, request.api_version)


def test_a_produce_request_without_acknowledgement_is_drawn() -> None:
    request, response = find(strategies.exchanges("Produce", 9), lambda exchange: exchange[1] is None)
    assert (request.message.acks, response) == (0, None)


@STRICT
@given(strategies.captures())
def test_a_capture_has_its_frames(capture: strategies.DrawnCapture) -> None:
    assert heads_of(kwire.open(capture.data)) == heads_of(capture.frames)
    # ApiVersions of each connection, and what was drawn; Produce with acks=0 has no response.
    assert 3 <= len(capture.frames) <= 2 * (3 + 3)


@STRICT
@given(strategies.captures(strategies.exchanges("Fetch", 12), min_size=2, max_size=2))
def test_a_capture_of_drawn_exchanges(capture: strategies.DrawnCapture) -> None:
    fetched = [frame for frame in capture.frames if frame.api_name != "ApiVersions"]
    assert [(frame.api_name, frame.api_version) for frame in fetched] == [("Fetch", 12)] * 4
    assert {len(capture.frames) - len(fetched)} <= {2, 4}


def test_a_capture_of_authentication_is_refused() -> None:
    with pytest.raises(ValueError, match="SaslHandshake changes the form of later frames"):
        find(strategies.captures(strategies.exchanges("SaslHandshake")), lambda _: True)


@STRICT
@given(
    st.data(), st.sampled_from([(magic, name) for magic in (0, 1, 2) for name in NAMES if magic == 2 or name != "zstd"])
)
def test_batches_have_their_records(data: st.DataObject, form: tuple[int, str]) -> None:
    magic, compression = form
    batch = data.draw(strategies.record_batches(magic=magic, compressions=[compression]))
    batches = list(kwire.parse_records(batch.data))
    assert tuple(record for part in batches for record in part.records()) == batch.records
    assert {(part.magic, part.compression) for part in batches} == {form}
    offsets = [record.offset for record in batch.records]
    assert offsets == sorted(set(offsets))


def test_a_batch_may_be_empty() -> None:
    assert find(strategies.record_batches(min_size=0), lambda batch: not batch.records).records == ()


def test_every_api_in_every_version_is_drawn_from() -> None:
    released = {name: [version for other, version in released_pairs() if other == name] for name, _ in released_pairs()}
    for kind in ("request", "response"):
        codecs = list_codecs(kind, None, None, catalog_for())
        pairs = [
            (name, version)
            for name, versions in released.items()
            if name.endswith(kind.title())
            for version in versions
        ]
        assert sorted((codec.name, codec.version) for codec in codecs) == sorted(pairs)


@pytest.mark.parametrize("message", ["Metadata", "MetadataRequest", "metadata", M.MetadataRequest])
def test_an_api_is_named_as_elsewhere(message: Any) -> None:
    request = find(strategies.requests(message, 12), lambda _: True)
    assert (type(request.message), request.api_version) == (M.MetadataRequest, 12)


@pytest.mark.parametrize(
    ("message", "version", "error", "text"),
    [
        ("Metadate", None, kwire.UnknownMessage, "Metadata"),
        ("Metadata", 99, kwire.UnsupportedVersion, "0-13"),
        (M.MetadataResponse, 12, TypeError, "a request is needed; MetadataResponse is a response"),
        ("OffsetCommitValue", 1, TypeError, "a request is needed; OffsetCommitValue is a coordinator-value"),
    ],
)
def test_what_cannot_be_drawn_is_refused_at_once(message: Any, version: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        strategies.requests(message, version)


@pytest.mark.parametrize(("profile", "name", "version"), [row for row in draft_triples() if row[1].endswith("Request")])
def test_requests_of_drafts(profile: str, name: str, version: int) -> None:
    catalog = kwire.Catalog.of(profile=profile)
    request = find(strategies.requests(name, version, catalog=catalog), lambda _: True)
    assert request.codec is kwire.codec(name, version, profile=profile)
    message = find(strategies.messages(name, version, catalog=catalog), lambda _: True)
    assert type(message) is type(request.message)


def test_without_hypothesis_one_line_says_so() -> None:
    """The brokers of `kwire.testing` work, also after a star import."""
    program = (
        "import sys, kwire; sys.modules['hypothesis'] = None\n"  # so that its import fails
        "from kwire.testing import *; print(Kafka.__name__, strategies.__name__)\n"
        "try: strategies.messages\n"
        "except kwire.MissingExtra as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout.splitlines() == [
        "Kafka kwire.testing.strategies",
        "kwire.testing.strategies needs the library hypothesis; pip install 'kwire[strategies]'",
    ], done.stderr


def test_importing_kwire_testing_does_not_import_hypothesis() -> None:
    program = "import sys; from kwire.testing import Kafka, strategies; print('hypothesis' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout == "False\n", done.stderr
