"""Secrets in records of the metadata log."""

from __future__ import annotations

import base64
from typing import Any

import kwire
from kwire import Record, build_batch
from kwire.protocol.nested import encode_frame, framed_record
from kwire.redact.masking import mask
from kwire.redact.metadata_log_secrets import holds_secrets
from kwire.schema.sensitive_fields import Hidden
from tests.protocol.connections.test_connection_table import asked
from tests.protocol.test_frame_decoder import decoded

M: Any = kwire.messages
CREDENTIAL = M.UserScramCredentialRecord(name="carol", mechanism=1, salt=b"salt", stored_key=b"stored", server_key=b"x")
PASSWORD = M.ConfigRecord(resource_type=4, resource_name="1", name="ssl.key.password", value="wonder")
HARMLESS = M.ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="1")


def batch(*messages: Any) -> bytes:
    return build_batch(
        [Record(offset=offset, value=encode_frame(framed_record(message))) for offset, message in enumerate(messages)]
    )


def test_credentials_and_passwords_are_found() -> None:
    assert holds_secrets(batch(CREDENTIAL))
    assert holds_secrets(batch(HARMLESS) + batch(HARMLESS, PASSWORD))
    assert not holds_secrets(batch(HARMLESS, M.NoOpRecord()))
    assert holds_secrets(batch(HARMLESS)[:-1])


def answer(topic_id: str, records: bytes) -> Any:
    partition: dict[str, Any] = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 1, "lastStableOffset": 1}
    partition |= {"logStartOffset": 0, "abortedTransactions": None, "preferredReadReplica": -1}
    partition["records"] = base64.b64encode(records).decode()
    members: dict[str, Any] = {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 0}
    members["responses"] = [{"topicId": topic_id, "partitions": [partition]}]
    message = kwire.codec("FetchResponse", 13).from_json(members)
    *_, result = decoded(asked(M.FetchRequest(), 13), kwire.encode_response(message, 13, correlation_id=1))
    sealed: Any = mask(result)
    return sealed.message.responses[0].partitions[0].records


def test_records_of_the_metadata_log_are_hidden_for_them() -> None:
    metadata, other = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"
    assert answer(metadata, batch(CREDENTIAL)) == Hidden(batch(CREDENTIAL))
    assert answer(metadata, batch(HARMLESS)) == batch(HARMLESS)
    assert answer(other, batch(CREDENTIAL)) == batch(CREDENTIAL)  # what records hold is not looked at
