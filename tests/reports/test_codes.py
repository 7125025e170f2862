"""Error codes are found wherever a message has them."""

from __future__ import annotations

from typing import Any

import kwire
from kwire.reports.codes import ErrorCodes

M: Any = kwire.messages


def test_codes_of_every_depth_are_found_and_zero_is_none() -> None:
    topic, partition = M.MetadataResponse.MetadataResponseTopic, M.MetadataResponse.MetadataResponsePartition
    message = M.MetadataResponse(
        topics=(
            topic(name="a", error_code=3),
            topic(name="b", partitions=(partition(error_code=5), partition(), partition(error_code=9))),
        )
    )
    finder = ErrorCodes()
    expected = [("topics.error_code", 3), ("topics.partitions.error_code", 5), ("topics.partitions.error_code", 9)]
    assert list(finder.of(kwire.codec("MetadataResponse", 5), message)) == expected
    assert list(finder.of(kwire.codec("MetadataResponse", 5), M.MetadataResponse())) == []


def test_a_message_without_codes_has_none() -> None:
    assert list(ErrorCodes().of(kwire.codec("MetadataRequest", 1), M.MetadataRequest(topics=None))) == []
    found = ErrorCodes().of(kwire.codec("ApiVersionsResponse", 0), M.ApiVersionsResponse(error_code=35))
    assert list(found) == [("error_code", 35)]


def test_a_null_array_has_no_codes() -> None:
    assert list(ErrorCodes().of(kwire.codec("FetchResponse", 11), M.FetchResponse(error_code=-1))) == [
        ("error_code", -1)
    ]
