"""Bytes that other implementations' own tests assert (sarama, kafkajs, tansu, codecrafters) are read and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kwire
from kwire.codecs.wire import Reader
from kwire.errors import DefaultTag
from kwire.protocol.headers.header_versions import header_version_for

# Cases that Kafka refuses as we do; id -> what is wrong with the peer's bytes.
FAULTS_OF_PEERS = {
    392: "sarama writes a null array where Kafka allows none",
    396: "sarama writes a null array where Kafka allows none",
}


def body_of(case: dict[str, Any], codec: kwire.Codec) -> tuple[bytes, Reader]:
    """Return the body's bytes, and a reader in front of it."""
    reader = Reader(bytes.fromhex(case["hex"]), salvage=True)
    if case["framing"] == "size+header+body":
        reader.take(4)
    if case["framing"] in ("size+header+body", "header+body"):
        version = header_version_for(codec.spec, codec.version)
        assert version is not None
        header = "RequestHeader" if codec.spec.type == "request" else "ResponseHeader"
        kwire.codec(header, version).read(reader)
    if case["framing"] == "headertags+body":
        assert reader.take(1) == b"\0"
    return reader.data[reader.pos :], reader


def verdict(case: dict[str, Any]) -> str:
    """Say whether a case is read and written byte for byte, read with faults, or refused."""
    codec = kwire.codec(case["message"], case["version"])
    try:
        body, reader = body_of(case, codec)
        message = codec.read(reader)
        reader.finish()
    except kwire.DecodeError:
        return "refused"
    if any(not isinstance(fault, DefaultTag) for fault in reader.faults):
        return "faulty"
    return "exact" if reader.faults or codec.encode(message) == body else "differs"


def test_every_valid_message_of_the_peers_is_read_and_written(shared: Path) -> None:
    cases = [json.loads(line) for line in (shared / "peers/cases.jsonl").read_text("utf-8").splitlines()]
    messages = [case for case in cases if case["kind"] in ("request", "response")]
    verdicts = {case["id"]: (case["valid"], verdict(case)) for case in messages}
    assert len(messages) == 696
    assert {id_ for id_, (valid, word) in verdicts.items() if valid and word != "exact"} == set(FAULTS_OF_PEERS)
    assert [id_ for id_, (valid, word) in verdicts.items() if not valid and word == "exact"] == []
