"""What messages carry, in words and in JSON."""

from __future__ import annotations

import json
from typing import Any

import kwire
from kwire.protocol.message_summary import MessageSummary
from kwire.protocol.sasl_tokens import read_token
from kwire.redact.masking import mask
from kwire.render.colours import Style
from kwire.render.frame_line import frame_line
from kwire.render.frame_tree import tree
from kwire.render.json_objects.frame_json import envelope, json_line, sender_of
from kwire.render.sasl_token import token_json, token_text
from tests.conftest import ROOT
from tests.protocol.connections.test_connection_table import HANDSHAKE, PLAIN, asked, sized
from tests.protocol.test_frame_decoder import decoded, request, response
from tests.protocol.test_nested_payloads import answer, enveloped

M: Any = kwire.messages
WIDE = Style(width=200)


def test_a_token_in_words_and_in_json() -> None:
    content = read_token(PLAIN, "PLAIN")
    assert (
        token_text(content)
        == 'SASL PLAIN credentials, 13 bytes, authzid "", user "alice", password 776f6e646572 (6 bytes)'
    )
    assert token_text(content, short=True) == "PLAIN credentials alice"
    assert token_text(read_token(b"?"), short=True) == "an unknown mechanism token"
    parts = {"authzid": "", "user": "alice", "password": "776f6e646572"}
    assert token_json(content) == {"mechanism": "PLAIN", "phase": "credentials", "size": 13, "parts": parts}


def test_bare_tokens_are_lines_trees_and_json() -> None:
    *_, token, outcome = map(mask, decoded(*HANDSHAKE, sized(PLAIN), sized(b"")))
    assert (
        frame_line(token, MessageSummary(), WIDE)
        == "    - -> SASL token                  17 B  PLAIN credentials alice"
    )
    assert frame_line(outcome, MessageSummary(), WIDE) == "    - <- SASL token                   4 B  PLAIN outcome"
    words = 'SASL PLAIN credentials, 13 bytes, authzid "", user "alice", password [hidden] (6 bytes)'
    assert [*tree(token)] == ["SASL token from the client, 17 bytes", f"  {words}"]
    members = envelope(token)
    assert (members["type"], members["raw"]) == ("token", {"_hidden": 13})
    assert members["token"]["parts"]["password"] == {"_hidden": 6}
    assert envelope(outcome)["raw"] == "00000000"
    assert json.loads(json_line(token)) == members


def test_authenticate_shows_the_content_of_its_token() -> None:
    (result,) = map(mask, decoded(asked(M.SaslAuthenticateRequest(auth_bytes=PLAIN), 1)))
    assert frame_line(result, MessageSummary(), WIDE).endswith("PLAIN credentials alice  me")
    assert envelope(result)["payload"] == {"authBytes": {"_hidden": 13}}
    assert envelope(result)["token"]["mechanism"] == "PLAIN"


def test_a_forwarded_request_is_below_its_envelope() -> None:
    first, last = decoded(enveloped(request(5, client_id="app")), answer(response(5)))
    assert frame_line(first, MessageSummary(), WIDE).endswith("[Metadata:1  app]  broker-1")
    lines = [*tree(first, WIDE)]
    assert "  forwarded for an unknown principal from 127.0.0.1:" in lines
    assert any(line.startswith('    Metadata v1 request, correlation 5, client "app"') for line in lines)
    assert "  forwarded answer:" in [*tree(last, WIDE)]
    members = envelope(first)
    assert members["forwarded"] == {"principal": None, "clientHost": "127.0.0.1"}
    assert members["inside"]["header"]["apiName"] == "Metadata"
    assert envelope(last)["inside"]["payload"]["controllerId"] == 3


def test_who_sent_it_is_told_of_real_envelopes() -> None:
    lines = (ROOT / "tests/data/envelopes.jsonl").read_text("utf-8").splitlines()
    assert len(lines) > 0
    message = M.EnvelopeRequest(request_principal=bytes.fromhex("000005557365720a414e4f4e594d4f55530000"))
    assert sender_of(message) == ("User:ANONYMOUS", "")
    message = M.EnvelopeRequest(request_principal=b"own", client_host_address=bytes(15) + b"\x01")
    assert sender_of(message) == (None, "::1")
