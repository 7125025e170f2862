"""Damaged messages: what Kafka refuses is refused, and salvage gives Kafka's value for what it accepts."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import kwire
from kwire.errors import DefaultTag
from tests.golden.test_golden import without_ours


def test_salvage_agrees_with_kafka_about_every_damaged_message(shared: Path) -> None:
    verdicts: Counter[str] = Counter()
    with gzip.open(shared / "kafka/damaged/damaged.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            verdicts[check(json.loads(line))] += 1
    assert verdicts.total() == 5130
    assert min(verdicts["refused"], verdicts["exact"], verdicts["faulty"]) > 500


def check(case: dict[str, Any]) -> str:
    codec = kwire.codec(case["message"], case["version"])
    data = bytes.fromhex(case["hex"])
    where = f"{case['message']} v{case['version']} {case['hex']}"
    try:
        message, faults, rest = codec.decode(data, salvage=True)
    except kwire.DecodeError:
        assert not case["ok"], where
        return "refused"
    assert case["ok"], where
    assert len(data) - len(rest) == case["consumed"], where
    assert without_ours(json.loads(json.dumps(codec.to_json(message)))) == without_ours(case["json"]), where
    assert codec.encode(message).hex() == case["hex_again"], where
    assert strictly(codec, data) is (not faults or all(isinstance(fault, DefaultTag) for fault in faults)), where
    assert all(fault.raw in data for fault in faults), where
    return "faulty" if faults else "exact"


def strictly(codec: kwire.Codec, data: bytes) -> bool:
    """Whether strict decoding accepts the bytes."""
    try:
        codec.decode(data)
    except kwire.DecodeError:
        return False
    return True
