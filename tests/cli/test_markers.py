"""A marker in every field that holds a secret, in frames that are whole, cut, resized and misplaced: nothing prints it.

The fields are those of the table in `kwire.schema.sensitive_fields`, found in all messages and drafts. A frame that
decodes without a fault as another message shows its fields: nobody can know better.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import kwire
from kwire import Record, Request, Response, build_batch
from kwire.cli.main import main
from kwire.codecs.message_codec import Codec, codec_in
from kwire.codecs.wire import Array, Boolean, Bytes, NullableStruct, String, Struct
from kwire.protocol.frame_encoder import encode_request, encode_response
from kwire.protocol.headers.header_versions import header_version_for
from kwire.protocol.nested import encode_frame, framed_record
from kwire.redact.secret_messages import may_carry
from kwire.schema.catalog import catalog_for
from kwire.schema.sensitive_fields import ENVELOPED, SECRET_FIELDS
from tests.cli.test_secrets import leaks
from tests.messages.message_lists import draft_triples, released_pairs
from tests.messages.random_values import draw
from tests.seeds import SEED, TRIES

M: Any = kwire.messages
LEFT, RIGHT = b"Zq7Mk4Rw", b"Xe9TpB2v"
MARKER = LEFT + RIGHT
SECRETS = {LEFT, RIGHT}
BEARER = b"n,,\x01auth=Bearer " + MARKER + b"\x01\x01"
TOKENS = (b"\0alice\0" + MARKER, b"c=biws,r=abcdefghij,p=" + MARKER, BEARER, MARKER)
COMMANDS = (
    ["decode"],
    ["decode", "-v", "--no-pager"],
    ["decode", "--json"],
    ["decode", "--jsonl"],
    ["decode", "--strict", "-v", "--no-pager"],
    ["explain"],
    ["explain", "--html"],
    ["report"],
    ["check"],
    ["check", "--json"],
    ["stats", "--by", "client,api,software", "--errors"],
    ["cluster"],
    ["diff"],
    ["redact"],
)


class Carrier(NamedTuple):
    """A message with secrets, and the header in front of it."""

    codec: Codec
    profile: str | None
    is_request: bool


@cache
def carriers() -> tuple[Carrier, ...]:
    pairs = [(None, *pair) for pair in released_pairs()] + [*draft_triples()]
    codecs = [(codec_in(catalog_for(profile), name, version), profile) for profile, name, version in pairs]
    return tuple(
        Carrier(codec, profile, codec.spec.type == "request")
        for codec, profile in codecs
        if codec.spec.type in ("request", "response") and may_carry(codec)
    )


def filled(node: Any, name: str, rng: random.Random) -> Any:
    """A value of a node in which all that is secret is the marker."""
    node = node.subcon if isinstance(node, NullableStruct) else node
    if isinstance(node, Struct):
        return filled_struct(node, rng)
    if isinstance(node, Array):
        return tuple(filled(node.element, name, rng) for _ in range(rng.randint(1, 2)))
    if name in SECRET_FIELDS:
        return rng.choice(TOKENS) if SECRET_FIELDS[name] == "sasl" else MARKER
    if name in ENVELOPED:
        return kwire.encode_request(M.SaslAuthenticateRequest(auth_bytes=rng.choice(TOKENS)), 2)[4:]
    if isinstance(node, String):
        return rng.choice(("orders", "a", "alice"))
    if isinstance(node, Bytes | Boolean):
        return b"" if isinstance(node, Bytes) else True
    return draw(node, rng)


def filled_struct(node: Struct, rng: random.Random) -> Any:
    names = {str(field.name) for field in node.all_fields}
    fields = {str(one.name): filled(one.subcon, str(one.name), rng) for one in node.all_fields}
    if {"name", "value"} <= names:
        fields |= {
            "name": rng.choice(("ssl.keystore.key", "sasl.jaas.config", "my.password")),
            "value": MARKER.decode(),
        }
    if "synonyms" in names:
        fields |= {"name": "my.own", "is_sensitive": True}
    return node.message_class(**fields)


def frames_of(carrier: Carrier, rng: random.Random) -> list[bytes]:
    """The frame of a message; a response also behind the request that it answers, or behind nothing."""
    codec = carrier.codec
    message, number = filled(codec.schema, "", rng), rng.choice((0, 3, 7, 3000, 2**31 - 1))
    catalog = catalog_for(carrier.profile)
    if carrier.is_request:
        return [encode_request(message, codec.version, correlation_id=number, client_id="me", catalog=catalog)]
    answer = encode_response(message, codec.version, correlation_id=number, catalog=catalog)
    asked = codec_in(catalog, codec.name.replace("Response", "Request"), codec.version)
    if rng.random() < 0.5 or header_version_for(asked.spec, codec.version) is None:
        return [answer]
    question = encode_request(draw(asked.schema, rng), codec.version, correlation_id=number, catalog=catalog)
    return [question, answer]


def metadata_log(rng: random.Random) -> list[bytes]:
    """A Fetch response with records of the metadata log that hold a credential and a password."""
    keys = {"salt": MARKER, "stored_key": MARKER, "server_key": MARKER}
    credential = M.UserScramCredentialRecord(name="carol", mechanism=1, **keys)
    config = M.ConfigRecord(resource_type=4, resource_name="1", name="ssl.key.password", value=MARKER.decode())
    values = [encode_frame(framed_record(one)) for one in (credential, config)]
    batch = build_batch([Record(offset=at, value=value) for at, value in enumerate(values)])
    version = rng.choice((11, 12, 13, 16))
    codec = kwire.codec("FetchResponse", version)
    message = codec.message_class(
        responses=(
            codec.schema.fields[-1].subcon.element.message_class(
                topic="__cluster_metadata",
                topic_id=bytes(15) + b"\x01",
                partitions=(M.FetchResponse.PartitionData(records=batch, high_watermark=2),),
            ),
        )
    )
    question = kwire.encode_request(M.FetchRequest(), version, correlation_id=5, client_id="me")
    return [question, kwire.encode_response(message, version, correlation_id=5)]


def resized(frame: bytes) -> bytes:
    return (len(frame) - 4).to_bytes(4, "big") + frame[4:]


HARMLESS = kwire.encode_request(M.MetadataRequest(topics=None), 9, correlation_id=77, client_id="me")
LONG = b"tail of what was lost"


def cut(frame: bytes, rng: random.Random) -> bytes:
    return frame[: -rng.randint(1, max(1, len(frame) - 12))]


def cut_to_size(frame: bytes, rng: random.Random) -> bytes:
    return resized(cut(frame, rng))


def middle(frame: bytes, rng: random.Random) -> bytes:
    return frame[rng.randint(1, len(frame) - 1) :] + HARMLESS


def smaller(frame: bytes, rng: random.Random) -> bytes:
    return rng.randint(4, len(frame) - 5).to_bytes(4, "big") + frame[4:] + HARMLESS


def larger(frame: bytes, rng: random.Random) -> bytes:
    size = len(frame) - 4 + rng.randint(1, 2 * len(HARMLESS))
    return size.to_bytes(4, "big") + frame[4:] + HARMLESS * 3


def swallowed(frame: bytes, rng: random.Random) -> bytes:
    return (len(HARMLESS) - 4 + len(frame)).to_bytes(4, "big") + HARMLESS[4:] + frame


def other_key(frame: bytes, rng: random.Random) -> bytes:
    key = rng.choice((rng.randint(0, 92), rng.randint(-9, 30000)))
    return frame[:4] + key.to_bytes(2, "big", signed=True) + frame[6:]


def other_version(frame: bytes, rng: random.Random) -> bytes:
    return frame[:6] + rng.choice((rng.randint(0, 9), 99)).to_bytes(2, "big") + frame[8:]


def garbage_before(frame: bytes, rng: random.Random) -> bytes:
    return rng.choice((LONG, rng.randbytes(rng.randint(1, 30)), b"\0" * 7)) + frame


def garbage_inside(frame: bytes, rng: random.Random) -> bytes:
    return resized(frame[:4] + rng.choice((LONG, rng.randbytes(9), b"\0" * 3)) + frame[4:])


def garbage_behind(frame: bytes, rng: random.Random) -> bytes:
    return resized(frame + rng.choice((LONG, rng.randbytes(rng.randint(1, 30)))))


def flipped(frame: bytes, rng: random.Random) -> bytes:
    """Flip a bit; not of a name, or of a mark, beside a secret by which it is known as one, and not in records."""
    if b"__cluster_metadata" in frame:
        return frame
    near = re.compile(rb"(?s:.{0,28})" + re.escape(MARKER[:8]) + rb"(?s:.{0,60})")
    around = {at for found in near.finditer(frame) for at in range(*found.span())}
    at = rng.choice([at for at in range(len(frame)) if at not in around] or [0])
    return frame[:at] + bytes([frame[at] ^ 1 << rng.randrange(8)]) + frame[at + 1 :]


def whole(frame: bytes, rng: random.Random) -> bytes:
    return frame


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(whole, cut, cut_to_size, middle, smaller, larger, swallowed, other_key, other_version),
    *(garbage_before, garbage_inside, garbage_behind, flipped),
)


def is_other(data: bytes, name: str) -> bool:
    """Whether a damaged frame is, to its last byte and without a fault, another message that shows the marker.

    Or its header is that of another request, whose client id is the marker: a printable text, where one belongs.
    """
    return any(
        (
            isinstance(result, Request | Response)
            and not (result.faults or result.rest or result.codec.name == name)
            and MARKER[4:12] in repr(result.message).encode()
        )
        or is_marked(getattr(result.header, "client_id", None))
        for result in kwire.decode_frames(kwire.protocol.cut_frames(data))
    )


def is_marked(client: str | None) -> bool:
    return client is not None and client.isprintable() and MARKER[4:12] in client.encode()


def dumps(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Dumps, and what was done to them."""
    rng = random.Random(seed)
    for number in range(count):
        carrier = carriers()[rng.randrange(len(carriers()))]
        frames = metadata_log(rng) if number % 20 == 19 else frames_of(carrier, rng)
        damage = DAMAGES[number % len(DAMAGES)]
        data = b"".join([*frames[:-1], damage(frames[-1], rng)])
        if rng.random() < 0.3:
            data = HARMLESS + data + HARMLESS
        if not is_other(data, carrier.codec.name):
            yield f"{carrier.codec} {damage.__name__} {data.hex()}", data


def printed(command: list[str], path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    files, out = [str(path)], path.with_suffix(".out")
    if command == ["diff"]:
        files.append(str(path.with_suffix(".other")))
    if command == ["redact"]:
        files += ["-o", str(out)]
    main([*command, *files])
    captured = capsys.readouterr()
    return captured.out + captured.err + (out.read_bytes().decode("latin-1") if out.exists() else "")


def check(seed: int, count: int, each: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Search the output of some commands for a marker, `each` of a dump."""
    rng = random.Random(seed)
    path = folder / "dump.bin"
    path.with_suffix(".other").write_bytes(HARMLESS)
    for what, data in dumps(seed, count):
        path.write_bytes(data)
        for command in rng.sample(COMMANDS, each):
            assert leaks(printed(command, path, capsys), SECRETS) == [], f"seed {seed}: {command} {what}"


def test_no_marker_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(SEED, 39, 1, tmp_path, capsys)


@pytest.mark.ci
@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(2))  # `dev.py fuzz` draws many more
def test_no_marker_is_printed_in_a_long_run(part: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(SEED + 1 + part, 400 * TRIES, 3, tmp_path, capsys)


def test_the_search_finds_markers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dump.bin"
    path.write_bytes(kwire.encode_request(M.RenewDelegationTokenRequest(hmac=MARKER), 2, client_id="me"))
    for command in (["decode", "-v", "--no-pager"], ["decode", "--jsonl"], ["explain"], ["explain", "--html"]):
        assert leaks(printed([*command, "--show-secrets"], path, capsys), SECRETS)
    assert len(carriers()) > 40
