"""Which release does what, and which protocol has which versions."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kwire import messages
from kwire.cluster.kip112 import KIP, behaviour_for, protocol_for
from kwire.cluster.kip112.releases import PROTOCOLS, RELEASED, release_number
from kwire.codecs.message_codec import codec
from kwire.errors import UnknownMessage


def test_the_text_of_the_kip_is_the_default_and_no_release() -> None:
    assert behaviour_for("kip") == KIP
    assert KIP not in RELEASED.values()


@pytest.mark.parametrize(
    ("release", "same_as"), [("1.0", "1.1"), ("2.2", "2.3"), ("2.4", "2.5.1"), ("2.6", "2.8"), ("3.0", "3.9.2")]
)
def test_a_release_does_what_the_last_one_did(release: str, same_as: str) -> None:
    assert behaviour_for("released", release) == behaviour_for("released", same_as)


@pytest.mark.parametrize("name", ["released", "other"])
def test_what_is_before_the_kip_or_nothing_is_refused(name: str) -> None:
    with pytest.raises(UnknownMessage):
        behaviour_for(name, "0.11")  # type: ignore[arg-type]


def test_versions_only_grow_and_exist() -> None:
    for row, later in pairwise(PROTOCOLS):
        assert row < later
        assert row.leader_and_isr <= later.leader_and_isr
        assert row.stop_replica <= later.stop_replica
    for row in PROTOCOLS:
        for name, version in (
            ("LeaderAndIsrRequest", row.leader_and_isr),
            ("UpdateMetadataRequest", row.update_metadata),
            ("StopReplicaRequest", row.stop_replica),
        ):
            codec(name, version).encode(getattr(messages, name)())


def test_the_fields_of_the_kip_begin_with_1_0() -> None:
    assert not protocol_for("0.11").knows_disk_failure
    assert protocol_for("1.0").knows_disk_failure


def test_internal_versions_are_told_apart() -> None:
    assert (protocol_for("2.4-IV0").leader_and_isr, protocol_for("2.4").leader_and_isr) == (3, 4)
    assert release_number("0.10.2") < release_number("1.0")
