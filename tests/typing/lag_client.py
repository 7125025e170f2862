"""A client that asks a broker for the end offsets of a topic; each line with a mistake says so."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import assert_type

import kwire
from kwire.messages import ListOffsetsRequest, ListOffsetsResponse

LATEST = -1
CODEC = kwire.codec(ListOffsetsRequest, 7)


def request_for(topic: str, partitions: Iterable[int]) -> ListOffsetsRequest:
    rows = [
        ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp="latest")  # mistake
        for index in partitions
    ]
    wanted = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=rows)
    ListOffsetsRequest(replica_id=None, topics=[wanted])  # mistake
    return ListOffsetsRequest(replica_id=-1, topics=[wanted])


def end_offsets(broker: socket.socket, topic: str, partitions: list[int]) -> dict[int, int]:
    broker.sendall(kwire.encode_request(request_for(topic, partitions), 7, correlation_id=1))
    reply = kwire.decode_response(broker.recv(1 << 16), CODEC)
    assert_type(reply, kwire.Response[ListOffsetsResponse])
    if reply.correlation_ids != 1:  # mistake
        raise ConnectionError(reply.message.error_code)  # mistake
    found: dict[int, int] = {}
    for row in reply.message.topics:
        for partition in row.partitions:
            found[partition.partition_index] = partition.offset
            found[partition.partition_index] = row.name  # mistake
    return found


def lag(ends: dict[int, int], committed: kwire.messages.OffsetFetchResponse) -> int:
    return sum(ends[one.partition_index] - one.committed_offset for row in committed.topics for one in row.partitions)
