"""Captures for tests: what is in the project, and frames made of messages."""

from __future__ import annotations

from pathlib import Path
from struct import pack
from typing import Any

import pyarrow as pa

import kwire
from kwire.arrow.batch_reader import BatchReader
from kwire.arrow.input_splits import InputSplit
from kwire.arrow.read_options import Options
from kwire.capture.open_capture import open_packets
from tests.capture.building import enhanced, interface, section
from tests.conftest import ROOT

FRAMES = ROOT / "fixtures/dumps/kafka-3.9-zk.bin"
PCAP = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
LOG = ROOT / "fixtures/logs/__consumer_offsets-1/00000000000000000000.log"
Rows = list[dict[str, Any]]


def conversation(count: int = 3) -> list[bytes]:
    """Return requests and their answers, two requests in flight at a time."""
    messages, asked, frames = kwire.messages, list[int](), []
    for number in range(count):
        request = messages.MetadataRequest(topics=None)
        frames.append(kwire.encode_request(request, 1 + number % 9, correlation_id=70 + number, client_id="me"))
        asked.append(number)
        if number % 2 or number == count - 1:
            frames += [_answer(one) for one in asked]
            asked.clear()
    return frames


def _answer(number: int) -> bytes:
    response = kwire.messages.MetadataResponse(controller_id=number)
    return kwire.encode_response(response, 1 + number % 9, correlation_id=70 + number)


def rows_of(paths: Any, units: list[list[InputSplit]] | None = None, schema: Any = None, **options: Any) -> Rows:
    """Return all rows, read in these units or each file in one; every batch has the schema that was promised."""
    reading = BatchReader(Options.parse(options), schema)
    names = [str(path) for path in (paths if isinstance(paths, list) else [paths])]
    packs = units if units is not None else reading.divide(names)
    batches = [batch for pack in packs for batch in reading.read(pack)]
    for batch in batches:
        batch.validate(full=True)
    rows: Rows = pa.Table.from_batches(batches, schema=reading.schema).to_pylist()
    return rows


def write(folder: Path, data: bytes, name: str = "dump") -> Path:
    """Write a file."""
    path = folder / name
    path.write_bytes(data)
    return path


def dated(folder: Path, ticks: int, resolution: int = 6, offset: int = 0) -> Path:
    """Write the packets of `PCAP` as a pcapng of some time: so many ticks, of a second 10 ** resolution, from an offset
    in seconds on."""
    options = pack("<HHB3xHHqHH", 9, 1, resolution, 14, 8, offset, 0, 0)
    with open_packets(PCAP) as packets:
        blocks = [enhanced(packet.data, ticks) for packet in packets]
    return write(folder, b"".join([section(), interface(1, options=options), *blocks]), "dated.pcapng")


TIMES = [  # ticks, resolution and offset of times, with the year that a calendar has for them
    (0xFFFFFFFF * 10**6, 6, 0, 2106),
    (0, 6, -2208988800, 1900),
    (253402300799 * 10**6, 6, 0, 9999),
    (253402300800 * 10**6, 6, 0, None),
    (2**63, 6, 0, None),
    (2**64 - 1, 0, 2**63 - 1, None),
    (0, 6, -62135596801, None),
    (0, 6, -(2**63), None),
]
