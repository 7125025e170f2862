"""Wrong uses of the native engine's objects, which must end in an exception or a harmless answer: never in a crash.

`python -m tests.codecs.native.misuse [SEED]` runs them; each name is printed before. The sanitizers run them too
(`tests.tools.engine_cases`). Kwire itself does none of this; a debugger, a finaliser or a curious user may.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from random import Random
from threading import Thread
from typing import Any

import msgspec
from msgspec.structs import force_setattr

import kwire
from kwire.arrow.rows.frame_rows import Pairing
from kwire.capture.frame_extractor import FrameExtractor
from kwire.capture.packets.pcap import PcapReader
from kwire.capture.packets.tcp_segment import Segment
from kwire.codecs import native
from kwire.codecs.columns.buffer_collector import _ColumnLayout
from kwire.codecs.columns.column_plan import ColumnPlan
from kwire.codecs.native.node_table import node_table
from kwire.protocol.headers.apis import Apis
from kwire.schema.catalog import catalog_for
from tests.conftest import ROOT

CAPTURE = (ROOT / "fixtures/dumps/kafka-3.9-zk.pcap").read_bytes()
APIS = Apis(catalog_for())
ODD: tuple[Any, ...] = (None, 0, -1, 2**31 - 1, 2**62, -(2**62), b"", b"\0" * 40, "text", (), [], {}, object())


def batches() -> list[Any]:
    """Return the frames of a capture as the engine extracts them."""
    return list(FrameExtractor("x").batches(PcapReader(iter([CAPTURE]))))


def filled_rows() -> Any:
    """Return the rows of a capture."""
    rows = native.FrameRows()
    pairing = Pairing(APIS, rows)
    for batch in batches():
        pairing.add_batch(batch)
    return rows


def filled_in_flight(count: int = 40) -> Any:
    """Return requests in flight, whose headers do not exist yet."""
    connection = kwire.Connection()
    for number in range(count):
        frame = kwire.encode_request(kwire.messages.MetadataRequest(), 4, correlation_id=number, client_id="c")
        connection.receive(frame, from_client=True)
    return connection.in_flight


def paired_in_flight() -> Any:
    """Return requests in flight that the engine has paired: their headers are created on demand."""
    streams, pairing = FrameExtractor("x"), Pairing(APIS, native.FrameRows())
    for batch in streams.receive(PcapReader(iter([CAPTURE[: len(CAPTURE) // 2]]))):
        pairing.add_batch(batch)
    found = [connection.in_flight for connection in pairing.connections.values() if len(connection.in_flight)]
    return found[0] if found else filled_in_flight()


def states_of(streams: FrameExtractor, pairing: Pairing) -> list[Any]:
    """Return the objects that hold the state of a capture."""
    found: list[Any] = [streams.reassembler, streams.recogniser]
    for conversation in streams.states.values():
        found += getattr(getattr(conversation, "general", None), "directions", ())
        found += [conversation, getattr(conversation, "ends", None), *getattr(conversation, "readers", ())]
    for connection in streams.reassembler.open.values():
        found += [connection, *connection.halves]
    for pairs in pairing.connections.values():
        found += [pairs, *pairs._calls.values()]
    return [one for one in found if one is not None]


def iterate_and_remove(make: Callable[[], Any], remove: Callable[[Any], Any]) -> None:
    """Iterate over a container that loses its items after the first."""
    container = make()
    iterator: Iterator[Any] = iter(container)
    next(iterator)
    remove(container)
    assert list(iterator) == []


def pop_all(in_flight: Any) -> None:
    """Remove all requests."""
    while len(in_flight):
        in_flight.popleft()


def clear_while_reading() -> None:
    """Remove rows from within the functions that read them."""
    rows = filled_rows()
    rows.append((0, b"x", 5, None, None, None, None, None, None))
    rows += list(rows)

    def convert(now: Any) -> Any:
        rows.clear()
        return now

    rows.times(convert)
    assert len(rows) == 0

    class Key:
        def __hash__(self) -> int:
            rows.clear()
            return 1

    class Data(bytes):
        def __len__(self) -> int:
            rows.clear()
            return 3

    rows += [(0, b"x", 5, Key(), None, None, None, None, None)] * 50
    rows.ends()
    rows += [(0, b"x", 5, None, None, Key(), None, None, None)] * 50
    rows.calls()
    rows += [(0, b"x", 5, None, None, None, None, None, None)] * 50
    rows.append((0, Data(b"abc"), 5, None, None, None, None, None, None))
    assert len(rows) == 1 and rows.size == 3


def change_in_finalisers() -> None:
    """Have values change their container while they are removed from it."""
    rows, in_flight = native.FrameRows(), native.InFlight()

    class Value:
        correlation_id = 7

        def __del__(self) -> None:
            if len(rows) < 100:
                rows.append((0, b"y", 5, None, None, None, None, None, None))
            in_flight.append(Header())

    class Header:
        correlation_id = 7

    for number in range(200):
        rows.append((0, b"x", 5, Value(), None, None, None, None, None))
        if number % 50 == 49:
            rows.take(10)
    rows.clear()
    for _ in range(65536 + 10):
        in_flight.append(Value())
    pop_all(in_flight)
    gc.collect()


def add_to_itself() -> None:
    """Add a container to itself; parts and copies share nothing with the whole."""
    rows, batch = filled_rows(), batches()[0]
    count, size = len(rows), len(batch)
    rows += rows
    batch += batch
    assert (len(rows), len(batch)) == (2 * count, 2 * size)
    ((start, part),) = rows.parts(10**9, 10**9)
    rows.take()
    assert (start, len(part), len(rows)) == (0, 2 * count, 0)


class Meddler:
    """Stands for what counts, pairs or writes unusual frames, and adds frames to the batch that is read."""

    def __init__(self, batch: Any) -> None:
        self.batch, self.apis, self.telling, self.is_text = batch, APIS, b"", False

    def __getattr__(self, name: str) -> Any:
        def meddle(*arguments: Any) -> Any:
            self.batch += [1] * 100
            return ""

        return meddle


def add_to_a_batch_that_is_read() -> None:
    """Add frames to a batch from within the loops over it."""
    for batch in batches():
        meddler = Meddler(batch)
        refused(batch.count_frames, meddler)
        refused(batch.add_rows, meddler, {}, native.FrameRows())
        refused(batch.lines, meddler, 0, 0, 10**6)
        refused(batch.tally, meddler, 0, 1.0)
        batch += [1]  # afterwards, it can be added to again


def refused(call: Callable[..., Any], *arguments: Any) -> bool:
    """Make a call; return whether it raised an exception.

    Code in Python may loop forever over odd values; that is ended after some processor time.
    """
    signal.setitimer(signal.ITIMER_VIRTUAL, 1)
    try:
        call(*arguments)
    except Exception:
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return False


def stop(*_: Any) -> None:
    """Handle the signal of the timer."""
    raise TimeoutError


def take_values_from_a_message() -> None:
    """Have a value replace the fields of the message that is encoded, while it is compared with its default."""
    codec = kwire.codec("FetchRequest", 13)
    table = native.NodeTable(*node_table(codec.schema))
    state = codec.message_class.ReplicaState

    class Meddling:
        def __eq__(self, other: object) -> bool:
            for name in ("cluster_id", "replica_state", "topics", "unknown_tags", "rack_id"):
                force_setattr(message, name, None)
            return False

        __hash__ = None  # type: ignore[assignment]

        def __len__(self) -> int:
            self.__eq__(None)
            return 1

        def __bool__(self) -> bool:
            self.__eq__(None)
            return True

    for name in ("cluster_id", "replica_state", "unknown_tags", "forgotten_topics_data"):
        message = codec.message_class(
            cluster_id="c" * 500, replica_state=state(replica_id=5), unknown_tags=b"\x09\x00" + b"", rack_id="r" * 500
        )
        force_setattr(message, name, Meddling())
        refused(table.encode, message)
    request = kwire.codec("FetchRequest", 3)  # has no such fields: their defaults are compared
    table = native.NodeTable(*node_table(request.schema))
    for name in ("cluster_id", "replica_state", "unknown_tags", "topics"):
        message = request.message_class()
        force_setattr(message, name, Meddling())
        refused(table.encode, message)


def use_a_table_twice() -> None:
    """Use a table of columns from within itself, from two threads, and with bodies that are none."""
    codec = kwire.codec("MetadataResponse", 12)
    plan = ColumnPlan([codec.schema], "topics[]", None)
    table = native.ColumnTable(*_ColumnLayout(codec.schema, plan).arguments(2))
    topic = codec.message_class.MetadataResponseTopic
    body = codec.encode(codec.message_class(topics=tuple(topic(name=f"t{index}") for index in range(20))))

    class Meddling(str):
        def encode(self, *arguments: Any) -> bytes:
            assert refused(table.take) and refused(table.feed, [body], [1], 0)
            return b"n"

    message = codec.message_class(topics=(topic(name="a"),))
    force_setattr(message.topics[0], "name", Meddling("n"))
    table.feed_message(message, 1)
    assert table.take()[0] == 1
    errors = []

    def feed() -> None:
        try:
            for _ in range(20):
                table.feed([body] * 5, list(range(5)), 0)
                table.take()
        except RuntimeError as error:  # without the GIL: the other thread was in there
            errors.append(error)

    threads = [Thread(target=feed) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    table.take()
    for bodies, numbers, start in (
        ([None], [0], 0),
        ([b"x"], [], 0),
        ([body], [0], -1),
        ([body], [0], 5),
        ([7], [0], 0),
    ):
        refused(table.feed, bodies, numbers, start)


def call_a_reader_from_within() -> None:
    """Call groups of packets and a walker from their own callbacks."""
    groups = native.PacketGroups(86400, False)
    groups.describe(False, [(14, 12, 10**6, 0)])

    def other(*_: Any) -> None:
        assert refused(groups.read, b"\0" * 100, 0, 100, None, other)
        assert refused(groups.take, b"", 0)

    groups.describe(False, [(0, -1, 10**6, 0)])  # of another link layer: all packets are others
    groups.read(CAPTURE, 24, len(CAPTURE), None, other)
    assert groups.count
    refused(groups.read, CAPTURE, -5, len(CAPTURE), None, other)
    refused(native.PacketGroups.__new__(native.PacketGroups).take, b"", 0)
    walker = native.PacketWalker.__new__(native.PacketWalker)
    walker.describe(False, [(14, 12, 10**6, 0)])
    for start in (24, 0, -1, 10**9):
        refused(walker.run, CAPTURE, start, native.FrameBatch())


def pass_nothing() -> None:
    """Pass None and short bytes where bytes are needed, and ask objects that were never filled."""
    refused(native.records_are_whole, None, 0, 1)
    refused(native.inflate_snappy, None, 0, 1)
    refused(native.ConversationState, None, None, 0, None)
    for key in (None, b"", b"abc"):
        streams = FrameExtractor("x")
        segment = Segment(key, 1, 0, 2, b"", 0, None)  # type: ignore[arg-type]
        assert refused(streams.reassembler.feed, segment, native.FrameBatch())
    table = native.SegmentTable.__new__(native.SegmentTable)
    assert refused(table.feed, Segment(bytes(12), 1, 0, 2, b"", 0, None), native.FrameBatch())
    assert refused(table.finish, native.FrameBatch())
    for name in (
        "FrameBuffer",
        "ConnectionState",
        "StreamState",
        "EndsState",
        "CallState",
        "KindState",
        "PairingState",
        "RecogniserState",
        "FrameSearchState",
        "GapSplitter",
    ):
        empty = getattr(native, name).__new__(getattr(native, name))
        for attribute in dir(empty):
            refused(getattr, empty, attribute)
    kind = native.KindState()
    assert refused(setattr, kind, "call", object())


def keep_the_bytes_of_a_frame() -> None:
    """Keep the buffer of an incomplete frame, and empty it when the frame is complete."""
    streams = FrameExtractor("x")
    kept: list[bytearray] = []
    for stop in range(1000, len(CAPTURE), 997):
        reader = PcapReader(iter([CAPTURE[:stop]]))
        found = list(streams.receive(reader))
        for conversation in streams.states.values():
            for cutter in getattr(conversation, "readers", ()):
                kept.append(cutter._buffer)
        for buffer in kept:
            buffer.clear()
        for batch in found:
            list(batch)
        streams = FrameExtractor("x")
        if stop > 20_000:
            break


def set_odd_attributes(rng: Random) -> None:
    """Set an attribute of the state of a capture to an odd value, and read on."""
    streams = FrameExtractor("x")
    half = rng.randrange(200, len(CAPTURE))
    pairing = Pairing(Apis(catalog_for()), native.FrameRows())  # other tests must not see these calls

    def use(found: Any) -> None:
        for batch in found:
            for read in (pairing.add_batch, list):
                refused(read, batch)

    def pieces() -> Iterator[bytes]:
        yield CAPTURE[:half]
        objects = states_of(streams, pairing)
        for _ in range(rng.randrange(1, 4)):
            target = rng.choice(objects)
            name = rng.choice([one for one in dir(target) if not one.startswith("__")])
            refused(setattr, target, name, rng.choice(ODD))
        yield CAPTURE[half:]

    refused(use, streams.receive(PcapReader(pieces())))
    refused(lambda: use([streams.finish()]))


def change_rows(rng: Random) -> None:
    """Change rows at random while they are iterated over."""
    rows = filled_rows()
    iterators = [iter(rows)]
    changes: list[Callable[[], object]] = [
        lambda: iterators.append(iter(rows)),
        lambda: next(rng.choice(iterators), None),
        lambda: rows.append((rng.randrange(99), b"x", 5, None, None, None, None, None, None)),
        lambda: rows.take(rng.randrange(len(rows) + 1)),
        lambda: len(rows) < 1000 and rows.__iadd__(rows),
        lambda: [part.take(rng.randrange(len(part) + 1)) for _, part in rows.parts(rng.randrange(1, 50), 5000)],
    ]
    for _ in range(200):
        rng.choice(changes)()
    assert rows.size == sum(len(row[1]) for row in rows)


def change_in_flight(rng: Random) -> None:
    """Change requests in flight at random while they are iterated over."""
    in_flight = rng.choice((filled_in_flight, paired_in_flight))()
    walk = iter(in_flight)
    changes: list[Callable[[], object]] = [
        lambda: next(walk, None),
        lambda: in_flight.popleft(),
        lambda: in_flight.append(in_flight[rng.randrange(len(in_flight))]),
    ]
    for _ in range(100):
        if len(in_flight):
            rng.choice(changes)()


def break_a_table() -> None:
    """Make a table of a struct whose attribute is no slot but a property: nothing would keep its value alive."""
    nodes, fields = node_table(kwire.codec("HeartbeatRequest", 4).schema)
    computed: Any = msgspec.defstruct("Computed", [], bases=(nodes[0].message_class,), frozen=True, gc=False)
    computed.group_id = property(lambda self: "".join(["g"] * 100))
    fields = [row._replace(message_class=computed) for row in fields]
    nodes = [row._replace(message_class=computed) if row.kind == "struct" else row for row in nodes]
    assert refused(native.NodeTable, nodes, fields)


CASES: dict[str, Callable[[], None]] = {
    "rows are cleared": lambda: iterate_and_remove(filled_rows, lambda rows: rows.clear()),
    "rows are taken": lambda: iterate_and_remove(filled_rows, lambda rows: rows.take(0)),
    "requests are popped": lambda: iterate_and_remove(filled_in_flight, pop_all),
    "paired requests are popped": lambda: iterate_and_remove(paired_in_flight, pop_all),
    "rows are cleared while columns are made": clear_while_reading,
    "finalisers change their container": change_in_finalisers,
    "containers are added to themselves": add_to_itself,
    "frames are added to a batch that is read": add_to_a_batch_that_is_read,
    "a value takes values from its message": take_values_from_a_message,
    "a table of columns is used twice": use_a_table_twice,
    "a reader is called from within": call_a_reader_from_within,
    "nothing is passed": pass_nothing,
    "the bytes of a frame are kept": keep_the_bytes_of_a_frame,
    "a struct computes an attribute": break_a_table,
}


def run_random(rng: Random) -> None:
    """Run the uses that are drawn."""
    signal.signal(signal.SIGVTALRM, stop)
    change_rows(rng)
    change_in_flight(rng)
    set_odd_attributes(rng)


def main(seed: int, tries: int = 10) -> None:
    """Run all uses; write the name of each before it is run."""
    signal.signal(signal.SIGVTALRM, stop)
    for name, run in CASES.items():
        os.write(1, f"{name}\n".encode())
        run()
    for number in range(tries):
        os.write(1, f"drawn by {seed} {number}\n".encode())
        run_random(Random(f"{seed} {number}"))
    os.write(1, b"done\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
