"""Refusals carry data, Kafka's names, and words for each reason."""

from __future__ import annotations

import inspect
import re
from string import Formatter

import pytest

from kwire.errors import refused as refusals
from kwire.errors.refused import WORDS, InvalidReplicationFactor, Refused
from kwire.values import ErrorCode
from tests.conftest import ROOT

KINDS = [kind for _, kind in inspect.getmembers(refusals, inspect.isclass) if issubclass(kind, Refused)]
# Error codes whose exception has another name in Kafka.
NOT_SO = {
    "INVALID_TOPIC_EXCEPTION": "InvalidTopicException",
    "TOPIC_ALREADY_EXISTS": "TopicExistsException",
    "INVALID_CONFIG": "InvalidConfigurationException",
}


def test_the_words_of_an_error() -> None:
    error = InvalidReplicationFactor("replication_factor_larger_than_brokers", replication_factor=4, brokers=3)
    assert (error.reason, error.replication_factor, error.brokers) == ("replication_factor_larger_than_brokers", 4, 3)  # type: ignore[attr-defined]
    assert str(error) == (
        "replication factor 4 needs as many brokers, and there are 3; ask for fewer replicas, or name more brokers"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_exception_of_kafka_has_its_error_code(kind: type[Refused]) -> None:
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).upper()
    if kind.error_code != -1:
        assert ErrorCode(kind.error_code).name == name
        assert kind.exception == f"org.apache.kafka.common.errors.{NOT_SO.get(name, kind.__name__ + 'Exception')}"


def test_every_reason_that_is_given_has_words_and_every_word_a_reason() -> None:
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "kwire").rglob("*.py") if path.stem != "refusals")
    given = set(re.findall(rf'\b(?:{"|".join(kind.__name__ for kind in KINDS)})\(\s*"(\w+)"', sources))
    assert given == set(WORDS)


def test_long_figures_are_cut() -> None:
    error = Refused("unknown_broker", unknown=list(range(10_000)))
    assert len(str(error)) < 200
    fields = [field for _, field, _, _ in Formatter().parse(WORDS["unknown_broker"][0]) if field]
    assert fields == ["unknown"]
