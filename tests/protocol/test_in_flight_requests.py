"""Which requests are answered."""

from __future__ import annotations

import pytest

import kwire
from kwire.protocol.api_registry import expects_response


@pytest.mark.parametrize(("acks", "answered"), [(0, False), (1, True), (-1, True)])
def test_a_producer_that_asks_for_no_acknowledgement_gets_none(acks: int, answered: bool) -> None:
    assert expects_response(kwire.messages.ProduceRequest(acks=acks)) is answered
    assert expects_response(kwire.messages.MetadataRequest())
