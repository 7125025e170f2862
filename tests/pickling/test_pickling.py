"""What a program sends to other processes arrives: codecs, results, catalogs, messages of one's own specs."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.protocol import SaslMessage
from tests.conftest import ROOT

DUMP = ROOT / "fixtures/dumps/kafka-3.9-zk.bin"
SPEC = """{"apiKey": 900, "type": "request", "listeners": ["broker"], "name": "PingRequest", "validVersions": "0-2",
 "flexibleVersions": "2+", "fields": [{"name": "Text", "type": "string", "versions": "0+"},
 {"name": "Hops", "type": "[]Hop", "versions": "1+", "fields": [{"name": "Host", "type": "string", "versions": "1+"}]}]}
"""


@pytest.fixture
def own(tmp_path: Path) -> kwire.Catalog:
    (tmp_path / "PingRequest.json").write_text(SPEC)
    return kwire.Catalog.from_directory(tmp_path)


def ping(catalog: kwire.Catalog) -> Any:
    cls = catalog.messages.PingRequest
    return cls(text="hello", hops=(cls.Hop(host="b1"),))


def test_a_message_of_ones_own_specs_is_shown(own: kwire.Catalog) -> None:
    assert "PingRequest v2" in repr(kwire.show(ping(own), 2))
    assert "PingRequest v2" in repr(kwire.show(ping(own), 2, catalog=own))
    frame = kwire.encode_request(ping(own), 2, correlation_id=1, catalog=own)
    assert "Ping v2 request" in repr(kwire.show(frame, catalog=own))
    with pytest.raises(TypeError, match=r"show\(message, 2\)"):
        kwire.show(ping(own))
    assert kwire.codec(type(ping(own)), 2) is kwire.codec("PingRequest", 2, catalog=own)


def again(thing: Any) -> Any:
    for protocol in (2, 4, 5):
        copied = pickle.loads(pickle.dumps(thing, protocol))
    return copied


RELEASED = [
    kwire.codec("MetadataRequest", 4),
    kwire.codec("TopicMetadataResponse", 1, profile="KIP-36"),
    kwire.codec("ConsumerGroupHeartbeatRequest", 0, release="3.6"),
    kwire.Catalog.of(),
    kwire.Catalog.of(profile="KIP-879"),
    kwire.Catalog.of(release="3.9"),
    kwire.codec("MetadataRequest", 4).spec,
]


@pytest.mark.parametrize("thing", RELEASED, ids=lambda thing: type(thing).__name__)
def test_what_comes_with_kwire_is_pickled_by_name_and_found_again(thing: Any) -> None:
    assert again(thing) is thing
    assert copy.deepcopy(thing) is copy.copy(thing) is thing
    assert len(pickle.dumps(thing)) < 800


def test_a_method_of_a_codec_is_pickled_with_it() -> None:
    codec = kwire.codec("MetadataRequest", 4)
    for method in (codec.decode, codec.encode, codec.json_text):
        assert again(method) == method


def test_ones_own_specs_are_pickled_by_their_text(own: kwire.Catalog) -> None:
    codec = kwire.codec("PingRequest", 2, catalog=own)
    message = ping(own)
    for thing in (own, codec, codec.spec):
        assert again(thing) is thing
    for value in (message, message.hops[0]):
        assert again(value) == copy.deepcopy(value) == value
        assert type(again(value)) is type(value)
    assert len(pickle.dumps(codec)) < 1000


def test_results_of_all_kinds_are_pickled_and_copied() -> None:
    frames = [*kwire.read_dump(DUMP), kwire.protocol.Frame(b"\0\0\0\4\xff\xff\xff\xff")]
    results: list[Any] = list(kwire.decode_frames(frames, trace=True))
    token = kwire.protocol.Token(frame=frames[0], content=SaslMessage("PLAIN", "credentials", 3, {}), from_client=True)
    assert {type(result).__name__ for result in results} == {"Request", "Response", "Undecodable"}
    for result in [*results, token]:
        for copied in (again(result), copy.deepcopy(result)):
            assert type(copied) is type(result)
            assert copied.codec is result.codec
            assert copied.frame == result.frame
            assert str(getattr(copied, "error", "")) == str(getattr(result, "error", ""))
    assert again(results[:-1]) == results[:-1]


def test_columns_read_the_same_after_pickling(own: kwire.Catalog) -> None:
    pytest.importorskip("pyarrow")
    for columns, body in (
        (
            kwire.columns("StopReplicaRequest", 0, columns=["controller_id"]),
            bytes.fromhex("00000007 00000001 00 00000000"),
        ),
        (
            kwire.columns("PingRequest", 2, "hops[]", catalog=own, max_rows=7),
            kwire.codec("PingRequest", 2, catalog=own).encode(ping(own)),
        ),
    ):
        for copied in (again(columns), copy.deepcopy(columns)):
            assert next(copied.read([body])).rows.equals(next(columns.read([body])).rows)
            assert copied.schema == columns.schema


def decoded_there(work: tuple[Any, bytes]) -> Any:
    """Decode in another process; both what is sent and what comes back is pickled."""
    codec, data = work
    return codec.decode(data), codec


METHODS = ["fork", pytest.param("spawn", marks=pytest.mark.ci), pytest.param("forkserver", marks=pytest.mark.ci)]


@pytest.mark.skipif(sys.platform == "win32", reason="there is spawn only")
@pytest.mark.parametrize("method", METHODS)
def test_codecs_and_messages_travel_between_processes(method: str, own: kwire.Catalog, tmp_path: Path) -> None:
    codec = kwire.codec("PingRequest", 2, catalog=own)
    request = kwire.codec("MetadataRequest", 4)
    shutil.rmtree(tmp_path)  # the other process may be on a machine that has no such folder
    work = [(codec, codec.encode(ping(own))), (request, request.encode(kwire.messages.MetadataRequest()))]
    with multiprocessing.get_context(method).Pool(1) as pool:
        (message, there), (released, same) = pool.map_async(decoded_there, work).get(60)
    assert (message, there is codec) == (ping(own), True)
    assert (released, same is request) == (kwire.messages.MetadataRequest(), True)


def test_a_codec_of_a_changed_tree_says_that_it_cannot_be_pickled() -> None:
    from kwire.codecs.message_codec import Codec
    from kwire.codecs.schema_tree import grow_tree

    spec = kwire.codec("ControlledShutdownRequest", 1).spec
    with pytest.raises(TypeError, match="has a tree of its own, and cannot be pickled"):
        pickle.dumps(Codec(spec, 1, grow_tree(spec, 1)))


def test_two_loads_of_a_folder_are_the_same_unless_it_has_changed(own: kwire.Catalog, tmp_path: Path) -> None:
    first = ping(own)
    assert kwire.Catalog.from_directory(tmp_path) is own
    alone = kwire.Catalog.from_directory(tmp_path, alone=True)
    assert kwire.codec("PingRequest", 2, catalog=alone).encode(first)
    (tmp_path / "PingRequest.json").write_text(SPEC.replace("Text", "Word"))
    changed = kwire.Catalog.from_directory(tmp_path)
    with pytest.raises(kwire.EncodeError, match=r"PingRequest\.json.* of other specs"):
        kwire.codec("PingRequest", 2, catalog=changed).encode(first)
    assert again(first) == first
