"""Decoded frames are observed, those of the four apis alone."""

from __future__ import annotations

import pytest

import kwire
from kwire.cluster import MESSAGES, ROWS, observed
from kwire.cluster.history.rows import Tables
from tests.conftest import ROOT

DUMP = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"


def test_frames_of_a_capture_are_observed_with_time_and_connection() -> None:
    found = [one for result in kwire.decode_frames(kwire.read_dump(str(DUMP))) if (one := observed(result)) is not None]
    assert {one.name for one in found} <= set(MESSAGES)
    assert len(found) > 5
    for one in found:
        assert one.time is not None
        assert one.client.startswith("127.0.0.1:")
        assert one.connection == f"{one.client}>{one.broker}"
        assert one.correlation_id is not None


def test_what_cannot_be_decoded_is_not_observed() -> None:
    (broken,) = kwire.decode_frames([kwire.Frame(bytes.fromhex("00000004 0003 000c"))])
    assert observed(broken) is None


@pytest.mark.parametrize("name", ROWS)
def test_every_table_has_its_rows(name: str) -> None:
    assert getattr(Tables(), name) == ()
    assert ROWS[name].__doc__
