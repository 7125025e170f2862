"""Live comparison with Apache Kafka's own classes: random messages, and random JSON forms."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

import kwire
from kwire.codecs.records import Record, RecordHeader, build_batch
from kwire.errors import TooLong
from tests.golden.test_golden import without_ours
from tests.interop import kafka
from tests.interop.kafka import need
from tests.messages.message_lists import released_pairs
from tests.messages.random_values import damaged, draw
from tests.seeds import named, seeded

RELEASES = kafka.ORACLES
COUNT = int(os.environ.get("KWIRE_ORACLE_COUNT", "60000" if os.environ.get("CI") else "2000"))
Oracle = Callable[[str], list[str]]  # release -> command
# Kafka has no JSON form of it.
WITHOUT_JSON = {"SubscriptionInfo"}


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    """What returns the command that asks Kafka; needs Java and Maven, which CI has."""
    need("java", "mvn")
    return kafka.oracle


def ask(oracle: Oracle, release: str, questions: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Ask many questions; yield the answers in their order."""
    with subprocess.Popen(
        oracle(release), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as asked:
        stdin, stdout = asked.stdin, asked.stdout
        assert stdin is not None
        assert stdout is not None

        def write() -> None:
            for question in questions:
                stdin.write(json.dumps(question) + "\n")
            stdin.close()

        writer = threading.Thread(target=write)
        writer.start()
        yield from map(json.loads, stdout)
        writer.join()


def pairs_of(oracle: Oracle, release: str) -> list[tuple[str, int]]:
    """Return our (message, version) pairs that a release reads."""
    names = sorted({name for name, _ in released_pairs()})
    questions = [{"op": "versions", "message": name} for name in names]
    answers = zip(names, ask(oracle, release, questions), strict=True)
    ranges = {name: range(answer["min"], answer["max"] + 1) for name, answer in answers if answer["ok"]}
    return [(name, version) for name, version in released_pairs() if version in ranges.get(name, ())]


def pairs_only_in(oracle: Oracle, release: str) -> list[tuple[str, int]]:
    """Return the pairs that a release reads and no newer one of `RELEASES` does."""
    newer = {pair for name in RELEASES[: RELEASES.index(release)] for pair in pairs_of(oracle, name)}
    return [pair for pair in pairs_of(oracle, release) if pair not in newer]


def random_messages(pairs: list[tuple[str, int]], count: int, seed: str, release: str) -> list[tuple[kwire.Codec, Any]]:
    rng = seeded(seed)
    codecs = [kwire.codec(*pair, release=release) for pair in pairs]
    return [(codec, draw(codec.schema, rng)) for codec in (codecs[i % len(codecs)] for i in range(count))]


@pytest.mark.parametrize("release", RELEASES)
def test_kafka_reads_what_kwire_writes_and_writes_the_same(oracle: Oracle, release: str) -> None:
    made = random_messages(pairs_only_in(oracle, release), COUNT // 2, f"messages {release}", release)
    questions: list[dict[str, Any]] = [
        {"op": "decode", "message": codec.name, "version": codec.version, "hex": codec.encode(message).hex()}
        for codec, message in made
    ]
    answered = 0
    for question, (codec, message), answer in zip(questions, made, ask(oracle, release, questions), strict=True):
        assert answer["ok"], (question, answer)
        assert (answer["hex_again"], answer["consumed"]) == (question["hex"], len(question["hex"]) // 2)
        assert codec.decode(bytes.fromhex(question["hex"])) == message
        if codec.name not in WITHOUT_JSON:
            assert without_ours(json.loads(json.dumps(codec.to_json(message)))) == answer["json"], question
        answered += 1
    assert answered == COUNT // 2


@pytest.mark.parametrize("release", RELEASES)
def test_kafka_and_kwire_make_the_same_bytes_of_json(oracle: Oracle, release: str) -> None:
    pairs = [pair for pair in pairs_only_in(oracle, release) if pair[0] not in WITHOUT_JSON]
    made = random_messages(pairs, COUNT // 2, f"json {release}", release)
    questions: list[dict[str, Any]] = [
        {"op": "encode", "message": codec.name, "version": codec.version, "json": without_tags(codec.to_json(message))}
        for codec, message in made
    ]
    answered = 0
    for question, (codec, _), answer in zip(questions, made, ask(oracle, release, questions), strict=True):
        assert answer["ok"], (question, answer)
        assert codec.encode(codec.from_json(question["json"])).hex() == answer["hex"], question
        answered += 1
    assert answered == COUNT // 2


def supported_features(*values: str) -> str:
    """Return the hex text of an ApiVersionsResponse v3 in which tag 0 has these values."""
    tags = [f"00 {len(bytes.fromhex(value)):02x} {value}" for value in values]
    return f"0000 01 00000000 {len(tags):02x} {' '.join(tags)}"


# Kafka reads any unknown tags and does not write these again. Values of a tag that comes again are not written at all.
UNORDERED, HIGHEST, ORDERED = (
    "02 0261 0001 0002 02 0500 0400",
    "02 0261 0001 0002 01 ffffffff0700",
    "02 0262 0001 0002 00",
)
DAMAGED_BY_HAND = [
    ("ApiVersionsResponse", 3, supported_features(*values))
    for values in (
        (UNORDERED,), (HIGHEST,), (ORDERED, ORDERED), (UNORDERED, ORDERED), (HIGHEST, ORDERED), (ORDERED, UNORDERED),
        (UNORDERED, UNORDERED), (UNORDERED, ORDERED, HIGHEST), (UNORDERED, HIGHEST, ORDERED),
    )
] + [
    ("DescribeGroupsRequest", 0, "00000001 7fff" + "ff" * 32767),  # is replaced by text that is too long to be written
    ("DescribeGroupsRequest", 0, "00000001 2aab" + "ff" * 10923),
    ("DescribeGroupsRequest", 0, "00000001 2aaa" + "ff" * 10922),
]  # fmt: skip


def salvaged(codec: kwire.Codec, data: bytes) -> dict[str, Any]:
    """Return what the oracle answers if Kafka and salvage agree: that it decodes and encodes a message again."""
    try:
        message, _, rest = codec.decode(data, salvage=True)
        again = codec.encode(message).hex()
    except kwire.DecodeError:
        return {"ok": False}
    except TooLong:
        return {"ok": False, "error": "RuntimeException"}
    shape = without_ours(json.loads(json.dumps(codec.to_json(message))))
    return {"ok": True, "consumed": len(data) - len(rest), "hex_again": again, "json": shape}


def test_kafka_and_salvage_agree_about_damaged_messages(oracle: Oracle) -> None:
    rng = seeded("damaged")
    pairs = [pair for pair in pairs_of(oracle, RELEASES[0]) if pair[0] not in WITHOUT_JSON]
    made = random_messages(pairs, COUNT // 2, "to be damaged", RELEASES[0])
    cases = [(kwire.codec(name, version), bytes.fromhex(text)) for name, version, text in DAMAGED_BY_HAND]
    cases += [(codec, damaged(codec.encode(message), rng)) for codec, message in made]
    questions: list[dict[str, Any]] = [
        {"op": "decode", "message": codec.name, "version": codec.version, "hex": data.hex()} for codec, data in cases
    ]
    verdicts = {True: 0, False: 0}
    for (codec, data), answer in zip(cases, ask(oracle, RELEASES[0], questions), strict=True):
        with named((codec, data.hex(), answer)):
            ours = salvaged(codec, data)
            assert ours == {name: answer.get(name) for name in ours}
        verdicts[answer["ok"]] += 1
    assert min(verdicts.values()) > COUNT // 20


def random_record(rng: Random, offset: int, magic: int) -> Record:
    maybe = (None, b"", rng.randbytes(rng.choice((1, 20, 300))), b"the same again and again " * 40)
    headers = [RecordHeader(rng.choice(("", "k", "漢")), rng.choice(maybe)) for _ in range(rng.randrange(3))]
    return Record(
        offset,
        timestamp=-1 if magic == 0 else 1_700_000_000_000 + rng.randrange(10**6),
        key=rng.choice(maybe),
        value=rng.choice(maybe),
        headers=tuple(headers) if magic == 2 else (),
    )


def test_kafka_reads_the_batches_that_kwire_builds(oracle: Oracle) -> None:
    rng = seeded("batches")
    kinds = [(magic, codec) for magic in (0, 1, 2) for codec in ("none", "gzip", "snappy", "lz4")] + [(2, "zstd")]
    made = []
    for index in range(520):
        magic, codec = kinds[index % len(kinds)]
        records = [random_record(rng, offset, magic) for offset in range(rng.choice((1, 2, 30)))]
        made.append((records, build_batch(records, magic=magic, compression=codec)))
    questions = [{"op": "records", "hex": data.hex()} for _, data in made]
    for (records, data), answer in zip(made, ask(oracle, RELEASES[0], questions), strict=True):
        assert (answer["ok"], answer["consumed"]) == (True, len(data)), answer
        seen = [record for batch in answer["batches"] for record in batch["records"]]
        assert [(r["offset"], r["key_hex"], r["value_hex"]) for r in seen] == [
            (record.offset, hex_of(record.key), hex_of(record.value)) for record in records
        ]


def hex_of(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def test_the_releases_together_read_nearly_every_pair(oracle: Oracle) -> None:
    read = {pair for release in RELEASES for pair in pairs_of(oracle, release)}
    assert len(read) > 850


def without_tags(value: Any) -> Any:
    """Take away unknown tags, which Kafka's JSON cannot say."""
    if isinstance(value, dict):
        return {name: without_tags(item) for name, item in value.items() if name != "_unknownTags"}
    return [without_tags(item) for item in value] if isinstance(value, list) else value
