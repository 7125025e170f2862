"""Credentials and passwords in Kafka's metadata log are shown by no command."""

from __future__ import annotations

from pathlib import Path

import pytest

import kwire
from kwire import LogBatch, LogBytes, LogRecord, Record, build_batch
from kwire.capture.logs.batch_spans import explain_batch
from kwire.capture.logs.log_reader import LogReader
from kwire.capture.logs.mask_logs import has_secrets, mask_explained, mask_log_bytes, mask_record
from kwire.cli.main import main
from kwire.schema.sensitive_fields import Hidden
from tests.cli.test_secrets import PASSWORD, SALT, forms

M = kwire.messages
TOPIC = "__cluster_metadata"


def framed(kind: int, message: object) -> bytes:
    """A record of the metadata log: frame version, type and version, then the message (KIP-631)."""
    return bytes([1, kind, 0]) + kwire.codec(type(message).__name__, 0).encode(message)


CREDENTIALS = framed(
    11, M.UserScramCredentialRecord(name="carol", mechanism=1, salt=SALT, stored_key=PASSWORD, iterations=4096)
)
CONFIG = framed(4, M.ConfigRecord(resource_type=4, resource_name="1", name="ssl.key.password", value=PASSWORD.decode()))
PLAIN = framed(4, M.ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="1000"))
BROKEN = CREDENTIALS[:-3]
COMMANDS = (
    ["decode"],
    ["decode", "-v"],
    ["decode", "--json"],
    ["decode", "--jsonl"],
    ["decode", "--strict"],
    ["explain"],
    ["check"],
)


def log(*values: bytes, compression: str = "none") -> bytes:
    return build_batch(
        [Record(number, 1000, None, value) for number, value in enumerate(values)], compression=compression
    )


def batch_of(data: bytes) -> LogBatch:
    (batch,) = LogReader([data], topic=TOPIC)
    assert isinstance(batch, LogBatch)
    return batch


@pytest.mark.parametrize("value", [CREDENTIALS, CONFIG, BROKEN], ids=["credentials", "config", "broken"])
@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("damage", ["whole", "cut", "flipped"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_shows_them(
    value: bytes, compression: str, damage: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = log(PLAIN) + log(PLAIN, value, compression=compression)
    if damage == "cut":
        data = data[:-2]
    elif damage == "flipped":
        data = data[:-40] + bytes([data[-40] ^ 1]) + data[-39:]
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)
    main([*command, "--log-of", TOPIC, str(path)])
    printed = capsys.readouterr()
    assert printed.out
    for secret in (PASSWORD, SALT):
        for form in forms(secret):
            assert form not in printed.out + printed.err


def test_they_are_shown_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(log(CONFIG))
    for command in (["decode", "-v"], ["explain"]):
        main([*command, "--log-of", TOPIC, "--show-secrets", str(path)])
        assert PASSWORD.decode() in capsys.readouterr().out


def test_what_holds_no_secret_is_the_same() -> None:
    batch = batch_of(log(PLAIN))
    (entry,) = batch.entries()
    assert isinstance(entry, LogRecord)
    assert mask_record(entry) is entry
    assert not has_secrets(batch)
    explained, _ = explain_batch(batch)
    assert mask_explained(explained, batch) is explained


def test_a_sealed_record_keeps_its_shape() -> None:
    batch = batch_of(log(CREDENTIALS))
    (entry,) = batch.entries()
    assert isinstance(entry, LogRecord)
    sealed = mask_record(entry)
    message = sealed.message.value.message  # type: ignore[union-attr]
    assert (message.name, message.salt, message.iterations) == ("carol", Hidden(SALT), 4096)
    assert sealed.record.value == bytes(len(CREDENTIALS))
    explained, _ = explain_batch(batch)
    hidden = mask_explained(explained, batch)
    assert len(hidden.data) == len(explained.data)
    assert [span.path for span in hidden.spans] == [span.path for span in explained.spans]


def test_records_of_users_are_theirs() -> None:
    (batch,) = LogReader([log(CREDENTIALS)], topic="orders")
    assert isinstance(batch, LogBatch)
    (entry,) = batch.entries()
    assert isinstance(entry, LogRecord)
    assert mask_record(entry) is entry


def test_bytes_in_no_batch() -> None:
    (item,) = LogReader([b"\x01" + CREDENTIALS], topic=TOPIC)
    assert isinstance(item, LogBytes)
    assert mask_log_bytes(item, "orders") is item
    assert mask_log_bytes(item, TOPIC).data == mask_log_bytes(item, None).data == Hidden(b"\x01" + CREDENTIALS)
