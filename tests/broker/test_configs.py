"""Configs of topics: names, types, values."""

from __future__ import annotations

import pytest

from kwire.broker import Settings
from kwire.broker.configs import TOPIC_CONFIGS, checked, topic_defaults
from kwire.errors.refused import InvalidConfig


def test_every_default_is_a_value_that_may_be_given() -> None:
    assert checked((name, config.default) for name, config in TOPIC_CONFIGS.items()).keys() == TOPIC_CONFIGS.keys()
    assert topic_defaults(Settings(retention_bytes=5))["retention.bytes"] == "5"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention.ms", None),
        ("retention.ms", ""),
        ("retention.ms", "-2"),
        ("retention.ms", "9" * 19),
        ("retention.ms", "9" * 5000),
        ("retention.ms", "\u0661"),
        ("segment.bytes", str(2**31)),
        ("min.insync.replicas", "0"),
        ("cleanup.policy", "compact,delete,"),
        ("preallocate", "yes"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("compression.lz4.level", "18"),
        ("leader.replication.throttled.replicas", "1:2," * 5000 + "1:2"),
        ("leader.replication.throttled.replicas", "1"),
        ("log.dirs", "/"),
    ],
)
def test_values_that_cannot_be(name: str, value: str | None) -> None:
    with pytest.raises(InvalidConfig):
        checked([(name, value)])
