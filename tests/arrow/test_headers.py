"""Headers as a column."""

from __future__ import annotations

import pyarrow as pa

import kwire
from kwire.arrow.binary_columns import TYPE, header_column
from kwire.protocol.api_registry import Apis
from kwire.spec.catalog import catalog_for
from tests.arrow.captures import FRAMES, PCAP


def test_requests_say_who_asks_for_what() -> None:
    frames = [frame for path in (FRAMES, PCAP) for frame in kwire.read_dump(path)]
    results = [one for one in kwire.decode_frames(frames) if isinstance(one, kwire.Request)]
    column = header_column(pa.array([one.frame.data for one in results]), Apis(catalog_for()), True)
    assert column.type == TYPE
    assert [tuple(value.values()) for value in column.to_pylist()] == [
        (
            len(one.frame.data),
            one.api_key,
            one.api_name,
            one.api_version,
            one.correlation_id,
            one.header.client_id,
        )
        for one in results
    ]


def test_what_is_no_frame_has_none() -> None:
    cells = pa.array([None, b"", b"\0\0\0\x08" + bytes(8), b"\0\0\0\x09" + bytes(8), b"\0\0\0\4\0\0\0\5"])
    asked = header_column(cells, Apis(catalog_for()), True).to_pylist()
    assert [value and value["client_id"] for value in asked] == [None] * 5
    assert [value and value["api_name"] for value in asked] == [None, None, "Produce", None, None]
    answered = header_column(cells, Apis(catalog_for()), False).to_pylist()
    assert [value and value["correlation_id"] for value in answered] == [None, None, 0, None, 5]
