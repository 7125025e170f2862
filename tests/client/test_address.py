"""Addresses as people write them."""

from __future__ import annotations

import pytest

from kwire.client.address import Address, address
from kwire.errors import CallError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (":19092", ("localhost", 19092)),
        ("b1", ("b1", 9092)),
        ("b1.example:1", ("b1.example", 1)),
        ("10.0.0.1:9092", ("10.0.0.1", 9092)),
        ("[::1]:9093", ("::1", 9093)),
        ("[fe80::1%eth0]", ("fe80::1%eth0", 9092)),
    ],
)
def test_addresses(text: str, found: tuple[str, int]) -> None:
    assert address(text) == found
    assert address(str(address(text))) == found


@pytest.mark.parametrize("text", ["a:b:c", "::1", "h:65536", "h:", "two words:1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(CallError) as info:
        address(text)
    assert str(info.value) == f"{text}: this is not an address"


def test_as_text() -> None:
    assert str(Address("::1", 1)) == "[::1]:1"
