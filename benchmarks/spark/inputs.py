"""What `overhead` reads: requests for metadata with answers of 45 kB, and what is made of them.

whole           raw frames, as many megabytes as asked for
part, tenth, fiftieth   the first fifth of it, and as they say
many/           the part in a thousand files
bad-1, bad-10   the part, where one answer in a hundred or in ten is hostile
bodies          a table of the bodies of the part's answers; `few` of those of the fiftieth
bombs           Produce requests whose records decompress to more than may be, among good frames
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import kwire
from kwire.codecs.records import Record
from kwire.codecs.records.batch_builder import build_batch

VERSION, BODY = 12, 9  # of the answers, and where their bodies begin
SMALLER = {"part": 5, "tenth": 10, "fiftieth": 50}
TABLES = {"bodies": "part", "few": "fiftieth"}
HOSTILE = {"bad-1": 100, "bad-10": 10}
FILES = 1000
BOMB = 64 << 20  # bytes of one record, which is more than all records of a batch may have
M = kwire.messages


def make(folder: Path, size: int) -> dict[str, int]:
    """Write all of it; return how many frames there are in each."""
    answers = list(answers_of(20))
    count = size // len(answers[0])
    counts = {"whole": count, **{name: count // times for name, times in SMALLER.items()}}
    for name, most in counts.items():
        write(folder / name, (pair(number, answers) for number in range(most)))
    part = counts["part"]
    (folder / "many").mkdir()
    for number in range(FILES):
        some = range(number * part // FILES, (number + 1) * part // FILES)
        write(folder / "many" / f"{number:04}", (pair(one, answers) for one in some))
    for name, every in HOSTILE.items():
        write(folder / name, (hostile(number, every, pair(number, answers)) for number in range(part)))
        counts[name] = part
    for name, source in TABLES.items():
        bodies = pa.table({"value": [answers[number % len(answers)][BODY:] for number in range(counts[source])]})
        pq.write_table(bodies, folder / f"{name}.parquet", compression="none", use_dictionary=False, row_group_size=256)
    write(folder / "bombs", (pair(0, answers) + bomb(kind) for kind in ("gzip", "snappy", "lz4", "zstd") * 2))
    return {name: 2 * count for name, count in counts.items()} | {"bombs": 24}


def write(path: Path, frames: Iterator[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(frames)


def answers_of(count: int) -> Iterator[bytes]:
    chance = random.Random(1)
    for number in range(count):
        topics = [topic(chance, f"topic-{index}") for index in range(100)]
        brokers = [
            M.MetadataResponse.MetadataResponseBroker(node_id=one, host=f"host-{one}", port=9092) for one in range(9)
        ]
        message = M.MetadataResponse(brokers=brokers, topics=topics, controller_id=number)
        yield kwire.encode_response(message, VERSION, correlation_id=0)


def topic(chance: random.Random, name: str) -> Any:
    partitions = [
        M.MetadataResponse.MetadataResponsePartition(
            partition_index=index,
            leader_id=chance.randrange(9),
            leader_epoch=chance.randrange(99),
            replica_nodes=chance.sample(range(9), 3),
            isr_nodes=chance.sample(range(9), 3),
        )
        for index in range(10)
    ]
    return M.MetadataResponse.MetadataResponseTopic(name=name, topic_id=chance.randbytes(16), partitions=partitions)


def pair(number: int, answers: list[bytes]) -> bytes:
    """Return a request and its answer."""
    answer = answers[number % len(answers)]
    asked = kwire.encode_request(M.MetadataRequest(topics=None), VERSION, correlation_id=number, client_id="bench")
    return asked + answer[:4] + number.to_bytes(4, "big") + answer[8:]


def hostile(number: int, every: int, good: bytes) -> bytes:
    """Damage one of so many answers, in turn in each of several ways."""
    if number % every:
        return good
    asked = 4 + int.from_bytes(good[:4], "big")
    request, answer = good[:asked], bytearray(good[asked:])
    return request + WAYS[number // every % len(WAYS)](answer, random.Random(number))


def noise(answer: bytearray, chance: random.Random) -> bytes:
    return bytes(answer[:BODY]) + chance.randbytes(len(answer) - BODY)


def flipped(answer: bytearray, chance: random.Random) -> bytes:
    for _ in range(9):
        answer[chance.randrange(BODY, len(answer))] ^= 1 << chance.randrange(8)
    return bytes(answer)


def many(answer: bytearray, _: random.Random) -> bytes:
    """Claim two billion brokers."""
    answer[BODY + 4 : BODY + 9] = b"\xff\xff\xff\xff\x07"
    return bytes(answer)


def early(answer: bytearray, chance: random.Random) -> bytes:
    """End in the middle of the body."""
    size = chance.randrange(BODY, len(answer))
    return (size - 4).to_bytes(4, "big") + bytes(answer[4:size])


def late(answer: bytearray, _: random.Random) -> bytes:
    """Go on behind the body."""
    return (len(answer) - 4 + 99).to_bytes(4, "big") + bytes(answer[4:]) + bytes(99)


def of_none(_: bytearray, __: random.Random) -> bytes:
    """Be of an api that nobody knows."""
    return bytes.fromhex("0000000c 7fff 0000 00000001 0002 6d65")


WAYS: tuple[Callable[[bytearray, random.Random], bytes], ...] = (noise, flipped, many, early, late, of_none)


def bomb(kind: str) -> bytes:
    """Return a Produce request with a record that decompresses to too much."""
    data = build_batch([Record(0, 0, None, bytes(BOMB))], compression=kind)
    partition = M.ProduceRequest.PartitionProduceData(index=0, records=data)
    topics = [M.ProduceRequest.TopicProduceData(name="bombs", partition_data=[partition])]
    return kwire.encode_request(M.ProduceRequest(acks=0, topic_data=topics), 9, correlation_id=1, client_id="bench")
