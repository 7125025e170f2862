"""Public values of every kind that pickles, made by public names, so that kwire of any commit can write their pickles.

Those of b6d4b524 in tests/data/pickles were written in the root of the project, with a checkout of that commit:

    PYTHONPATH=/path/to/b6d4b524:. python -P -m tests.pickling.pickled_values tests/data/pickles/b6d4b524.jsonl.gz
"""

from __future__ import annotations

import gzip
import json
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import kwire
from kwire import cluster, messages, testing, values

# Relative, because paths are in the pickles.
CAPTURE = "fixtures/dumps/kafka-3.9-zk.bin"
LOG = "fixtures/logs/__consumer_offsets-1/00000000000000000000.log"
DISK = "fixtures/logs/broker-disk"
SPECS = "tests/data/pickles/specs"
PROTOCOLS = 2, 5
Named = Iterator[tuple[str, Any]]


def messages_and_numbers() -> Named:
    topic = messages.MetadataResponse.MetadataResponseTopic(name="orders", topic_id=bytes(15) + b"\1")
    yield "message", messages.MetadataResponse(topics=[topic], cluster_id="c", unknown_tags=b"\1\7\1x")
    yield "struct of a message", topic
    yield "message of a profile", kwire.codec("TopicMetadataResponse", 1, profile="KIP-36").message_class()
    early = kwire.codec("ConsumerGroupHeartbeatRequest", 0, release="3.6").message_class
    yield "message of a release", early(group_id="g")
    for kind in ("ErrorCode", "AclOperation", "MetadataVersion", "AuthorizedOperations"):
        yield f"number {kind}", getattr(values, kind)(1)
    yield "number without a name", values.ErrorCode(31999)


def specs() -> Named:
    codec = kwire.codec("MetadataRequest", 4)
    yield "codec", codec
    yield "codec of a profile", kwire.codec("TopicMetadataResponse", 1, profile="KIP-36")
    yield "codec of a release", kwire.codec("ConsumerGroupHeartbeatRequest", 0, release="3.6")
    yield "method of a codec", codec.decode
    yield "spec", codec.spec
    yield "versions", codec.spec.versions
    yield "catalog", kwire.Catalog.of()
    yield "catalog of a profile", kwire.Catalog.of(profile="KIP-879")
    yield "catalog of a release", kwire.Catalog.of(release="3.9")
    yield "release", kwire.release("3.9")
    own = kwire.Catalog.from_directory(SPECS, alone=True)
    yield "own catalog", own
    yield "own catalog before Kafka's", kwire.Catalog.from_directory(SPECS)
    yield "own codec", kwire.codec("PingRequest", 0, catalog=own)
    yield "own spec", own.spec("PingRequest")
    yield "field of an own spec", own.spec("PingRequest").struct.fields[0]
    hop = own.messages.PingRequest.Hop(host="b1")
    yield "own message", own.messages.PingRequest(hops=(hop,))
    yield "struct of an own message", hop
    yield "columns", kwire.columns("StopReplicaRequest", 0, columns=["controller_id"])


def frames() -> Named:
    first, second = list(kwire.read_dump(CAPTURE))[:2]
    request, response = kwire.decode_frames([first, second], trace=True)
    assert isinstance(request, kwire.Request)
    yield "frame", first
    yield "source", first.source
    yield "request", request
    yield "response", response
    yield "header", request.header
    yield "client", request.client
    yield "span", (request.spans or [])[-1]
    yield "summary of a frame", kwire.peek(first)
    (undecodable,) = kwire.decode_frames([kwire.Frame(first.data[:-1], kwire.Source(direction="request"))])
    yield "undecodable frame", undecodable
    credentials = kwire.protocol.SaslMessage("PLAIN", "credentials", 3, {"user": "u"})
    yield "token", kwire.Token(frame=first, content=credentials, from_client=True)
    yield "salvaged message", kwire.codec("HeartbeatRequest", 0).decode(bytes(10) + b"\0\0\0\1", salvage=True)


def records() -> Named:
    header = kwire.RecordHeader("h", b"v")
    data = kwire.build_batch([kwire.Record(7, 1, b"k", b"v", (header,))])
    (batch,) = kwire.parse_records(data)
    yield "record", next(iter(batch.records()))
    yield "header of a record", header
    yield "batch of records", batch
    (torn,) = kwire.parse_records(data[:-9] + b"\xff" * 9, salvage=True)
    assert isinstance(torn, kwire.RecordBatch)
    yield "undecodable records", next(item for item in torn.records(salvage=True) if not isinstance(item, kwire.Record))
    stored = next(item for item in kwire.read_log(LOG) if isinstance(item, kwire.LogBatch))
    yield "batch of a log", stored
    yield "record of a log", next(stored.entries())
    yield "bytes of a log", kwire.LogBytes(61, 4, b"rest", None)
    for path in sorted(Path(DISK).rglob("*")):
        if path.is_file() and path.suffix not in (".log", ".checkpoint"):
            for entry_of_file in islice(kwire.read_disk(path), 1):
                yield f"entry of {path.relative_to(DISK).as_posix()}", entry_of_file


def clusters() -> Named:
    brokers = [cluster.Broker(number, "host", 9092, f"/dc{number % 2}/r{number}") for number in range(4)]
    tree = cluster.RackTree(brokers)
    goals = cluster.Goals(balance=True)
    yield "broker", brokers[0]
    yield "partition", cluster.Partition("orders", 0, leader=1, replicas=(1, 2), isr=(1,))
    yield "log directory", cluster.LogDir("/d", sizes={("orders", 0): 7})
    yield "settings", cluster.Settings(features={"metadata.version": 1})
    yield "authority", cluster.Authority(1)
    yield "goals", goals
    yield "rack tree", tree
    yield "plan", cluster.plan_replicas(tree, {"orders-0": [0, 1], "orders-1": [0, 2]}, goals)
    yield "rack mode", cluster.RackAwareMode.ENFORCED
    yield "rings", next(iter(cluster.Rings))
    results = kwire.decode_frames(kwire.read_dump(CAPTURE))
    seen = [found for result in results if (found := cluster.observed(result)) is not None]
    model = cluster.model_of(seen)
    yield "observation", seen[0]
    yield "logged record", cluster.LoggedRecord(3, 1, None, messages.BrokerRegistrationChangeRecord(broker_id=1))
    yield "state", model.state()
    yield "tables", model.tables()
    yield "model", model


FORMER_NAMES = {"FieldError": "_PlacedError"}  # as classes were called at b6d4b524


def errors() -> Named:
    """Every class of errors, without arguments: some are made so only while they are unpickled."""
    for module in walk_packages(kwire.__path__, "kwire."):
        if not module.name.endswith(("__main__", "build_hook", "pytest_plugin")):
            with suppress(ImportError):  # an extra is not installed
                import_module(module.name)
    for cls in sorted(subclasses(kwire.KwireError), key=lambda cls: cls.__name__):
        if cls.__module__.startswith("kwire.") and not cls.__module__.startswith("kwire.cli"):
            yield f"error {FORMER_NAMES.get(cls.__name__, cls.__name__)}", cls()
    yield "error with data", kwire.UnknownMessage("message", "MetadataRespons", ["MetadataResponse"])
    with suppress(ImportError):
        from kwire import arrow

        try:
            arrow.read([], mod="FAILFAST")  # type: ignore[call-arg]
        except kwire.KwireError as error:
            yield "error of an option", error


def subclasses(cls: type[Any]) -> set[type[Any]]:
    """Return the classes below a class."""
    return {below for inner in cls.__subclasses__() for below in {inner, *subclasses(inner)}}


def certificates() -> Named:
    yield "files of TLS", testing.Tls("cert.pem")


KINDS: tuple[Callable[[], Named], ...] = (
    messages_and_numbers,
    specs,
    frames,
    records,
    clusters,
    errors,
    certificates,
)


@cache
def made() -> dict[str, Any]:
    """Make all values, by name."""
    return {name: value for kind in KINDS for name, value in kind()}


def main(file: str) -> None:
    """Write the pickles, one line each."""
    with gzip.GzipFile(file, "wb", mtime=0) as stream:
        for name, value in made().items():
            for protocol in PROTOCOLS:
                line = {"name": name, "protocol": protocol, "pickle": pickle.dumps(value, protocol).hex()}
                stream.write(json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
