"""What is recorded reads as a capture, by kwire and by dpkt."""

from __future__ import annotations

import io
from pathlib import Path

import dpkt
import pytest

import kwire
from kwire.capture.pcap_writer import PORTION, PcapWriter, TcpWriter
from kwire.client.address import Address

M = kwire.messages
ASKED = kwire.encode_request(M.MetadataRequest(topics=None), 1, correlation_id=7, client_id="me")
ANSWER = kwire.encode_response(M.MetadataResponse(controller_id=3), 1, correlation_id=7)


def recorded(host: str, *payloads: tuple[bytes, bool]) -> bytes:
    stream = io.BytesIO()
    connection = TcpWriter(PcapWriter(stream), Address(host, 40000), Address(host, 9092), 1000 * 10**9)
    for number, (data, by_client) in enumerate(payloads):
        connection.send((2001 + 2 * number) * 10**9 // 2, data, by_client=by_client)
    connection.close()
    return stream.getvalue()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_conversation(host: str, tmp_path: Path) -> None:
    path = tmp_path / "seen.pcap"
    path.write_bytes(recorded(host, (ASKED, True), (ANSWER, False)))
    asked, answer = kwire.decode_frames(kwire.read_dump(path))
    assert (asked.frame.data, answer.frame.data) == (ASKED, ANSWER)
    assert [result.frame.source.time for result in (asked, answer)] == [1000.5, 1001.5]
    assert asked.frame.source.broker == str(Address(host, 9092))
    assert isinstance(answer, kwire.Response)


def test_large_portions_are_several_packets(tmp_path: Path) -> None:
    records = bytes(2 * PORTION)
    topics = [
        M.ProduceRequest.TopicProduceData(partition_data=[M.ProduceRequest.PartitionProduceData(records=records)])
    ]
    data = kwire.encode_request(M.ProduceRequest(acks=0, topic_data=topics), 3)
    path = tmp_path / "seen.pcap"
    path.write_bytes(recorded("127.0.0.1", (data, True)))
    (frame,) = kwire.read_dump(path)
    assert frame.data == data


def test_another_reader_agrees() -> None:
    packets = [dpkt.ip.IP(data).data for _, data in dpkt.pcap.Reader(io.BytesIO(recorded("127.0.0.1", (ASKED, True))))]
    assert [packet.flags for packet in packets] == [2, 18, 16, 24, 17, 17]
    assert b"".join(packet.data for packet in packets) == ASKED
    first = packets[0].seq
    assert [packet.seq - first for packet in packets if packet.sport == 40000] == [0, 1, 1, 1 + len(ASKED)]
    assert [packet.ack for packet in packets if packet.sport == 9092] == [1, 1 + len(ASKED) + 1]
