"""We agree with other writers: Kafka's own bytes and JSON, and those laid out by hand from the KIPs."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.capture.hex_text.golden_fixture import Fixture, parse_fixture
from kwire.render.fixture import decode_fixture, rewrite_fixture
from tests.cases import case_by_case
from tests.conftest import ROOT
from tests.golden.second_reader import read as second_read
from tests.messages.message_lists import draft_triples, founding_pairs, released_pairs

FIXTURES = sorted((ROOT / "fixtures").glob("*/**/*.hex"))
BY_HAND = [path for path in FIXTURES if "by-hand" in path.parts]
CORPUS = ROOT / "fixtures" / "golden.jsonl.gz"


def cases(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        yield from map(json.loads, lines)


def parsed(path: Path) -> Fixture:
    fixture = parse_fixture(path.read_text("utf-8"), str(path))
    assert fixture is not None, f"{path} is no fixture"
    return fixture


def without_ours(value: Any) -> Any:
    """Take away what our JSON has beyond Kafka's: unknown tags, and what is in records."""
    if isinstance(value, dict):
        return {
            name: "" if name in ("records", "unalignedRecords") and isinstance(item, str) else without_ours(item)
            for name, item in value.items()
            if name != "_unknownTags"
        }
    return [without_ours(item) for item in value] if isinstance(value, list) else value


def check_case(case: dict[str, Any]) -> None:
    where = f"{case['message']} v{case['version']} {case['case']}"
    codec = kwire.codec(case["message"], case["version"])
    data = bytes.fromhex(case["hex"])
    message = codec.decode(data)
    assert codec.encode(message) == data, where
    members = codec.to_json(message)
    assert codec.encode(codec.from_json(json.loads(json.dumps(members)))) == data, where
    if case["json"] is not None:  # Kafka has no JSON form of SubscriptionInfo
        assert without_ours(members) == case["json"], where


@case_by_case("path", FIXTURES, ids=lambda path: str(path.relative_to(ROOT / "fixtures")))
def test_a_fixture_decodes_encodes_and_explains_itself(path: Path) -> None:
    text = path.read_text("utf-8")
    fixture = parsed(path)
    result = decode_fixture(fixture)
    body = result.codec.encode(result.message)
    assert fixture.data == body if fixture.bare else fixture.data.endswith(body)
    assert rewrite_fixture(text) == text


def test_every_founding_message_and_draft_has_a_fixture() -> None:
    held = Counter((f.profile, f.message, f.version) for f in map(parsed, FIXTURES))
    wanted = [(None, *pair) for pair in founding_pairs()] + draft_triples()
    assert [key for key in wanted if not held[key]] == []
    assert len(founding_pairs()) == 97
    assert len(draft_triples()) == 9


@case_by_case("path", BY_HAND, ids=lambda path: path.stem)
def test_a_second_reader_reads_the_same_from_bytes_by_hand(path: Path) -> None:
    fixture = parsed(path)
    framing = "body" if fixture.bare else "frame"
    seen = second_read(fixture.message, fixture.version, fixture.profile or "", framing, fixture.data)
    assert seen == json.loads((ROOT / "tests/data/by_hand.json").read_text("utf-8"))[path.name]
    body: Any = seen if fixture.bare else seen["body"]
    assert as_plain(decode_fixture(fixture).message, body) == body


def as_plain(value: Any, like: Any) -> Any:
    """Turn a message into dicts and lists, with the fields that `like` has."""
    if isinstance(like, dict):
        return {name: as_plain(getattr(value, name), item) for name, item in like.items()}
    return [as_plain(item, inner) for item, inner in zip(value, like, strict=True)] if isinstance(like, list) else value


def test_bytes_by_hand_carry_their_arithmetic() -> None:
    assert len(BY_HAND) == 16
    for path in BY_HAND:
        head = parsed(path).head
        assert any("with the arithmetic" in line for line in head), path
        assert "by hand" in parsed(path).writer


def test_the_corpus_has_three_cases_for_every_pair() -> None:
    held = Counter((case["message"], case["version"]) for case in cases(CORPUS))
    assert len(released_pairs()) == 897
    assert [pair for pair in released_pairs() if held[pair] < 3] == []
    assert set(held) == set(released_pairs())


def test_kafkas_bytes_and_json_from_the_corpus_in_the_project() -> None:
    for case in cases(CORPUS):
        check_case(case)


@pytest.mark.ci
def test_kafkas_bytes_and_json_from_the_whole_corpus(shared: Path) -> None:
    files = sorted((shared / "kafka/golden").glob("*.jsonl.gz"))
    count = 0
    for path in files:
        for case in cases(path):
            check_case(case)
            count += 1
    assert (len(files), count) == (294, 11_675)


@pytest.mark.ci
def test_every_prefix_of_a_founding_message_is_refused_with_its_place() -> None:
    tried = 0
    for case in cases(CORPUS):
        data = bytes.fromhex(case["hex"])
        if (case["message"], case["version"]) not in set(founding_pairs()) or len(data) > 600:
            continue
        codec = kwire.codec(case["message"], case["version"])
        for cut in range(len(data)):
            with pytest.raises(kwire.DecodeError) as caught:
                codec.decode(data[:cut])
            assert caught.value.offset <= cut
            assert caught.value.path
            assert (caught.value.message, caught.value.version) == (case["message"], case["version"])
            assert caught.value.rest == data[caught.value.offset : cut]
            tried += 1
    assert tried > 35_000
