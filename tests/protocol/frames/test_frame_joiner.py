"""Faults of bytes that do not belong to a complete frame."""

from __future__ import annotations

from kwire.protocol.frames import stream_faults
from kwire.protocol.frames.stream_faults import CutShort, NoFrame, unexpected_response


def test_a_truncated_frame_has_sizes_only() -> None:
    cut = CutShort(need=44, have=12, cause="the connection closed", segments=["topics"], message="Fetch")
    assert str(cut) == "cut short: 12 of 44 bytes, then the connection closed"
    assert str(CutShort(have=3)) == "cut short in the size of a frame"
    assert (cut.path, cut.hint, cut.code) == ("topics", "", "CUT_SHORT")


def test_codes_are_stable_names_and_mark_failures() -> None:
    kinds = [
        kind for kind in vars(stream_faults).values() if isinstance(kind, type) and issubclass(kind, NoFrame | CutShort)
    ]
    assert {kind.__name__: (kind.code, kind.is_failure) for kind in kinds} == {
        "NoFrame": ("NO_FRAME", True),
        "Gap": ("GAP", False),
        "BegunBefore": ("BEGUN_BEFORE", False),
        "Fragment": ("FRAGMENT", False),
        "PassedOver": ("NO_FRAME", True),
        "BareToken": ("SASL_TOKEN", False),
        "NotKafka": ("NOT_KAFKA", False),
        "Encrypted": ("NOT_KAFKA", False),
        "LostPackets": ("LOST_PACKETS", False),
        "LateFile": ("LATE_FILE", False),
        "OddLine": ("ODD_LINE", True),
        "BodyNotLogged": ("BODY_NOT_LOGGED", False),
        "Damaged": ("DAMAGED", True),
        "CutRecord": ("CUT_SHORT", False),
        "BrokenDump": ("NO_FRAME", True),
        "CutShort": ("CUT_SHORT", False),
    }


def test_a_response_without_a_request_is_a_failure_where_nothing_is_missing() -> None:
    found = [unexpected_response(7, 6, lossy=lossy) for lossy in (False, True)]
    assert [(error.code, error.is_failure) for error in found] == [
        ("NO_REQUEST", True),
        ("REQUEST_NOT_CAPTURED", False),
    ]
