"""Our names for error codes are Kafka's."""

from __future__ import annotations

from kwire import values
from kwire.broker import codes


def test_names() -> None:
    ours = {name: number for name, number in vars(codes).items() if name.isupper()}
    assert ours == {name: values.ErrorCode(name).value for name in ours}
