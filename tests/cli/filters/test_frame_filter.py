"""Each filter shows the frames it names, and refuses what it does not understand."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

import kwire
from kwire.cli.filters.frame_filter import query_for
from kwire.cli.options.usage_error import UsageError
from kwire.schema.catalog import catalog_for
from tests.protocol.test_frame_decoder import request, response

NOTHING: dict[str, Any] = {
    "api": None,
    "client": None,
    "conn": None,
    "where": None,
    "errors": False,
    "since": None,
    "until": None,
}


def shown(frames: list[kwire.Frame], **wanted: Any) -> list[int]:
    query = query_for(argparse.Namespace(**{**NOTHING, **wanted}), catalog_for())
    return [index for index, result in enumerate(kwire.decode_frames(frames)) if query.matches(result)]


M = kwire.messages
VERSIONS = kwire.encode_request(M.ApiVersionsRequest(), 0, correlation_id=9, client_id="admin-1")
BAD = bytes.fromhex("0000000a 270f 0000 00000005 ffff")
REFUSED = kwire.encode_response(M.ApiVersionsResponse(error_code=35), 0, correlation_id=9)
FRAMES = [
    kwire.Frame(data, kwire.Source(frame=index))
    for index, data in enumerate([request(7), response(7), VERSIONS, REFUSED, BAD])
]


def test_everything_is_shown_unless_told() -> None:
    assert shown(FRAMES) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("names", "frames"),
    [
        (["Metadata"], [0, 1]),
        (["Metadata:1"], [0, 1]),
        (["Metadata:v1"], [0, 1]),
        (["Metadata:2"], []),
        (["MetadataResponse"], [1]),
        (["Metadata", "ApiVersions:0"], [0, 1, 2, 3]),
    ],
)
def test_api(names: list[str], frames: list[int]) -> None:
    assert shown(FRAMES, api=names) == frames


def test_an_api_that_is_none_is_refused() -> None:
    with pytest.raises(kwire.UnknownMessage, match="did you mean Metadata"):
        shown(FRAMES, api=["Metdata"])
    with pytest.raises(kwire.UnsupportedVersion):
        shown(FRAMES, api=["Metadata:99"])


def test_client_is_a_pattern_and_goes_for_answers_too() -> None:
    assert shown(FRAMES, client="admin-*") == [2, 3]
    assert shown(FRAMES, client="m?") == [0, 1]


def test_errors_are_codes_and_undecodable_frames() -> None:
    assert shown(FRAMES, errors=True) == [3, 4]


def test_all_filters_must_agree() -> None:
    assert shown(FRAMES, errors=True, api=["ApiVersions"]) == [3]


@pytest.mark.parametrize("conn", ["10.0.0.1:9092", "10.0.0.1", "[::1]:50000", "::1", "[::1]"])
def test_a_connection_is_named_by_one_of_its_ends(conn: str) -> None:
    source = kwire.Source(client="[::1]:50000", broker="10.0.0.1:9092")
    assert shown([kwire.Frame(request(1), source), kwire.Frame(request(2))], conn=conn) == [0]


def test_frame_numbers_where_there_are_no_times() -> None:
    assert shown(FRAMES, since="1", until="3") == [1, 2, 3]
    with pytest.raises(UsageError, match="has no times"):
        shown(FRAMES, since="2026-11-21")


@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("1", "2"),
        ("1700000001", "1700000002"),
        ("2023-11-14T22:13:21", "2023-11-14T22:13:22Z"),
        ("2023-11-14T23:13:21+01:00", "2"),
        ("22:13:21", "22:13:22.000"),
    ],
)
def test_times(since: str, until: str) -> None:
    frames = [kwire.Frame(request(i), kwire.Source(time=1700000000.0 + i)) for i in range(4)]
    assert shown(frames, since=since, until=until) == [1, 2]


def test_a_time_that_is_none_is_refused_before_anything_is_read() -> None:
    with pytest.raises(UsageError, match="--from tomorrow: write a time such as"):
        shown([], since="tomorrow")


@pytest.mark.parametrize("time", [-1e11, 3e11, 2.7e19])
def test_times_that_no_calendar_has_are_compared_with_others(time: float) -> None:
    frame = kwire.Frame(request(7), kwire.Source(frame=0, time=time))
    assert shown([frame], since="2026-11-21T09:30:00") == ([0] if time > 0 else [])
    with pytest.raises(UsageError, match="write a time such as"):
        shown([frame], since="09:30:00")
