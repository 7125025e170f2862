"""A redacted frame has the same size and the same shape, and no secret in it."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire import messages
from kwire.redact.address_rewriter import AddressRewriter
from kwire.redact.redactor import Redactor
from tests.conftest import ROOT, spread
from tests.protocol.test_frame_decoder import request


def redacted(message: Any, version: int, *keep: str, client: str = "app") -> bytes:
    data = kwire.encode_request(message, version, client_id=client)
    out = Redactor(keep).redact(kwire.Frame(data))
    assert len(out) == len(data)
    return out


def test_names_get_pseudonyms_of_the_same_length_everywhere() -> None:
    frames = list(kwire.read_dump(ROOT / "fixtures/dumps/kafka-3.9-zk.bin"))
    redactor = Redactor()
    out = [redactor.redact(frame) for frame in frames]
    assert [len(data) for data in out] == [116, 38, 359, 12, 55, 238]
    results = list(kwire.decode_frames(map(kwire.Frame, out)))
    before = list(kwire.decode_frames(frames))
    reply, truth = results[5], before[5]
    assert isinstance(reply, kwire.Response)
    assert isinstance(truth, kwire.Response)
    assert isinstance(reply.message, messages.MetadataResponse)
    assert isinstance(truth.message, messages.MetadataResponse)
    assert reply.message.topics[0].name == "xxxxx0"
    assert {broker.host for broker in reply.message.brokers} == {"xxxxxxxx0"}
    assert [broker.rack for broker in truth.message.brokers] == ["/dc1/r2", "/dc2/r1", "/dc1/r1"]
    places = [
        (broker.rack or "").split("/") for broker in reply.message.brokers
    ]  # levels are kept, and which are the same
    assert [len(place) for place in places] == [3, 3, 3]
    assert places[0][1] == places[2][1] != places[1][1]
    assert places[1][2] == places[2][2] != places[0][2]
    assert reply.message.topics[0].partitions == truth.message.topics[0].partitions
    for data in out:
        assert not any(word in data for word in (b"lonely", b"born-after", b"lab-producer", b"127.0.0.1", b"dc1"))


def test_what_is_kept_stays() -> None:
    wanted = messages.MetadataRequest(topics=(messages.MetadataRequest.MetadataRequestTopic(name="orders"),))
    assert b"orders" in redacted(wanted, 9, "topic")
    assert b"app" in redacted(wanted, 9, "client")
    out = redacted(wanted, 9)
    assert b"orders" not in out
    assert b"app" not in out


def test_topics_of_kafkas_own_stay() -> None:
    wanted = messages.MetadataRequest(
        topics=(messages.MetadataRequest.MetadataRequestTopic(name="__consumer_offsets"),)
    )
    assert b"__consumer_offsets" in redacted(wanted, 9)


def test_secrets_go() -> None:
    Alter, Scram = messages.IncrementalAlterConfigsRequest, messages.AlterUserScramCredentialsRequest  # noqa: N806
    config = Alter.AlterableConfig(name="ssl.key.password", value="secret")
    cases = (
        (messages.SaslAuthenticateRequest(auth_bytes=b"\0user\0secret"), 2),
        (messages.SaslAuthenticateRequest(auth_bytes=b"\0user\0secret"), 0),
        (Alter(resources=(Alter.AlterConfigsResource(resource_name="1", configs=(config,)),)), 1),
        (Scram(upsertions=(Scram.ScramCredentialUpsertion(name="u", salt=b"secret", salted_password=b"secret"),)), 0),
        (messages.RenewDelegationTokenRequest(hmac=b"secret"), 2),
        (messages.MetadataRequest(unknown_tags=b"\x63\x06secret"), 9),
    )
    for message, version in cases:
        out = redacted(message, version)
        assert b"secret" not in out
        (result,) = kwire.decode_frames([kwire.Frame(out)])
        assert isinstance(result, kwire.Request)
        assert result.faults == ()
    assert b"ssl.key.password" in redacted(cases[2][0], 1)


def test_undecodable_frames_and_tails_go_whole() -> None:
    redactor = Redactor()
    assert redactor.redact(kwire.Frame(b"\0\0\0\x0a\0user\0pass")) == b"\0\0\0\x0a" + b"x" * 10
    tail = bytearray(request(1) + b"secret")
    tail[3] += 6
    assert redactor.redact(kwire.Frame(bytes(tail)))[-6:] == b"xxxxxx"
    assert redactor.counts["unknown"] == 2
    assert redactor.redact(kwire.Frame(b"\0\0")) == b"\0\0"


def test_short_names_do_not_grow() -> None:
    redactor = Redactor()
    for number in range(50):
        data = kwire.encode_request(messages.MetadataRequest(topics=None), 1, client_id=chr(0x30 + number))
        assert len(redactor.redact(kwire.Frame(data))) == len(data)


def test_names_of_one_length_differ() -> None:
    redactor, found = Redactor(), set()
    for number in range(1000):
        wanted = messages.MetadataRequest(topics=(messages.MetadataRequest.MetadataRequestTopic(name=f"t{number:03}"),))
        data = redactor.redact(kwire.Frame(kwire.encode_request(wanted, 1)))
        (result,) = kwire.decode_frames([kwire.Frame(data)])
        assert isinstance(result, kwire.Request)
        assert isinstance(result.message, messages.MetadataRequest)
        assert result.message.topics
        found.add(result.message.topics[0].name)
    assert len(found) == 1000


def test_users_keep_their_type_and_wildcards_stay() -> None:
    Acls = messages.CreateAclsRequest  # noqa: N806
    acl = Acls.AclCreation(resource_type=2, resource_name="*", principal="User:alice", host="*", operation=3)
    out = redacted(Acls(creations=(acl, acl)), 1)
    assert out.count(b"User:xxxx0") == 2
    assert out.count(b"\x00\x01*") == 4
    assert b"alice" not in out


@pytest.mark.parametrize("count", [8, 12, 14, 16, 18, 21, 24, 26, 28])
def test_an_undecodable_frame_stays_the_same(count: int) -> None:
    topic = messages.MetadataRequest.MetadataRequestTopic
    wanted = messages.MetadataRequest(topics=(topic(name="ab"), topic(name="cd")))
    data = kwire.encode_request(wanted, 1, client_id="app", correlation_id=7)[:count]
    before, after = (next(iter(kwire.decode_frames([kwire.Frame(each)]))) for each in (data, redact(data)))
    assert isinstance(before, kwire.Undecodable)
    assert isinstance(after, kwire.Undecodable)
    assert after.codec is before.codec
    assert after.frame.data[:14] == before.frame.data[:14]
    assert not any(name in after.frame.data for name in (b"app", b"ab", b"cd"))
    assert len(after.frame.data) == count


def redact(data: bytes) -> bytes:
    return Redactor().redact(kwire.Frame(data))


def test_a_secret_before_undecodable_bytes_is_removed() -> None:
    Alter = messages.IncrementalAlterConfigsRequest  # noqa: N806
    config = Alter.AlterableConfig(name="ssl.key.password", value="secret")
    message = Alter(resources=(Alter.AlterConfigsResource(resource_name="1", configs=(config, config)),))
    data = kwire.encode_request(message, 0, client_id="app")
    for count in range(len(data)):
        assert b"secret" not in redact(data[:count])
        assert b"sec" not in redact(data[:count])


def test_a_configuration_that_damage_turned_into_numbers_is_blanked() -> None:
    configs = [{"name": "sasl.jaas.config", "value": "Zq7Mk4RwXe9TpB2v"}]
    topic = {"name": "a", "numPartitions": 1, "replicationFactor": 1, "configs": configs}
    topic["assignments"] = [{"partitionIndex": 1, "brokerIds": [1]}]
    message = kwire.codec("CreateTopicsRequest", 5).from_json({"topics": [topic], "timeoutMs": 1, "validateOnly": True})
    frame = bytearray(kwire.encode_request(message, 5, client_id="me"))
    count = frame.index(bytes.fromhex("00000001 02 00000001")) + 4
    for brokers in range(8, 16):
        frame[count] = brokers + 1
        (result,) = kwire.decode_frames([kwire.Frame(bytes(frame))])
        assert isinstance(result, kwire.Undecodable)
        after = Redactor().redact(kwire.Frame(bytes(frame)))
        assert len(after) == len(frame)
        assert all(part not in after for part in (b"Zq7M", b"k4Rw", b"Xe9T", b"pB2v"))


def test_a_configuration_that_damage_made_part_of_a_name_is_blanked() -> None:
    name = b"alice\x00\x10sasl.jaas.config\x00\x10Zq7Mk4RwXe9TpB2v"
    request = kwire.messages.UpdateFeaturesRequest
    names = (name.decode(), "b")
    message = request(
        feature_updates=tuple(request.FeatureUpdateKey(feature=one, max_version_level=1) for one in names)
    )
    frame = bytearray(kwire.encode_request(message, 0, client_id="me"))
    frame[frame.rindex(b"\x02b")] = 0  # null, which is not allowed
    after = Redactor().redact(kwire.Frame(bytes(frame)))
    assert len(after) == len(frame)
    assert b"Zq7M" not in after


MARK = b"Zq7Mk4RwXe9TpB2v"
CARRIERS = (
    (messages.RenewDelegationTokenRequest(hmac=MARK), (0, 1, 2)),
    (messages.SaslAuthenticateRequest(auth_bytes=b"\0alice\0" + MARK), (0, 1, 2)),
    (messages.CreateDelegationTokenResponse(principal_name="alice", token_id="id", hmac=MARK), (0, 1, 2, 3)),
)


@pytest.mark.parametrize(("message", "versions"), spread(CARRIERS, 1, 2), ids=lambda one: type(one).__name__)
def test_a_secret_under_any_other_api_is_blanked(message: Any, versions: tuple[int, ...]) -> None:
    """Where it is read as ids, times and epochs, and bytes are left over."""
    for version in versions:
        if type(message).__name__.endswith("Response"):
            data = kwire.encode_response(message, version, correlation_id=7)
        else:
            data = kwire.encode_request(message, version, client_id="me")
        for api in range(93):
            for other in range(14):
                frame = data[:4] + bytes([0, api, 0, other]) + data[8:]
                (result,) = kwire.decode_frames([kwire.Frame(frame)])
                is_sound = isinstance(result, kwire.Request) and not result.faults
                assert is_sound or not any(part in redact(frame) for part in (MARK[:8], MARK[8:])), (api, other)


def test_a_frame_of_an_unknown_version_stays_one() -> None:
    data = kwire.encode_request(messages.MetadataRequest(topics=None), 9, client_id="app", correlation_id=7)
    newer = data[:6] + b"\0\x63" + data[8:]
    before, after = kwire.decode_frames(map(kwire.Frame, (newer, redact(newer))))
    assert isinstance(before, kwire.Undecodable)
    assert isinstance(after, kwire.Undecodable)
    assert str(after.error) == str(before.error)
    assert b"app" not in after.frame.data


def test_a_tail_of_zeros_stays_as_librdkafka_sends_it() -> None:
    data = kwire.encode_request(messages.ApiVersionsRequest(), 0, client_id="app") + bytes(4)
    data = (len(data) - 4).to_bytes(4, "big") + data[4:]
    assert Redactor().redact(kwire.Frame(data)) == data.replace(b"app", b"xx0")
    assert b"tail" not in Redactor().redact(kwire.Frame(data[:3] + bytes([data[3]]) + data[4:-4] + b"tail"))


def test_addresses_and_ports_in_messages_are_those_of_the_packets() -> None:
    addresses = AddressRewriter()
    client = addresses.source(kwire.Source(client="10.1.2.3:51000", broker="10.1.2.4:19092"))
    broker = messages.MetadataResponse.MetadataResponseBroker
    brokers = (broker(node_id=1, host="10.1.2.4", port=19092), broker(node_id=2, host="kafka-2", port=-1))
    asked = kwire.Frame(kwire.encode_request(messages.MetadataRequest(topics=None), 1))
    frames = [asked, kwire.Frame(kwire.encode_response(messages.MetadataResponse(brokers=brokers), 1))]
    redactor = Redactor(addresses=addresses)
    _, result = kwire.decode_frames([kwire.Frame(redactor.redact(frame)) for frame in frames])
    assert isinstance(result, kwire.Response)
    assert isinstance(result.message, messages.MetadataResponse)
    first, second = result.message.brokers
    assert f"{first.host}:{first.port}" == client.broker == "10.1.1.2:9092"
    assert client.client == "10.1.1.1:10000"
    assert (second.host, second.port) == ("xxxxxx0", -1)
