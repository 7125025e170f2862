"""The annotated hexdump: every byte, indented by depth, and read back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given

import kwire
from kwire.capture.hex_text.parser import parse_hex_text
from kwire.render.annotated_hex import annotate
from kwire.render.colours import Style
from tests.codecs.test_round_trip import FOUNDING, messages

PARTITION = """\
                                   ungrouped_partition_states[0]
0000000c  00 01 74                   topic_name = "t"                     string
0000000f  00 00 00 02                partition_index = 2                   int32
00000013  00 00 00 01                controller_epoch = 1                  int32
00000017  ff ff ff ff                leader = -1                           int32
0000001b  00 00 00 05                leader_epoch = 5                      int32
0000001f  00 00 00 00                isr = []                              array
00000023  00 00 00 07                partition_epoch = 7                   int32
00000027  00 00 00 02 00 00 00 01    replicas = [1, 2]                     array
0000002f  00 00 00 02
00000033  01                         is_new_replica = true                  bool
"""


def leader_and_isr() -> bytes:
    cls: Any = kwire.messages.LeaderAndIsrRequest
    state = cls.LeaderAndIsrPartitionState(
        topic_name="t",
        partition_index=2,
        controller_epoch=1,
        leader=-1,
        leader_epoch=5,
        partition_epoch=7,
        replicas=(1, 2),
        is_new_replica=True,
    )
    return kwire.codec("LeaderAndIsrRequest", 1).encode(cls(ungrouped_partition_states=(state,)))


def test_structs_have_headings_and_int_arrays_are_on_one_line() -> None:
    data = leader_and_isr()
    text = annotate(data, kwire.codec("LeaderAndIsrRequest", 1).trace(data))
    assert PARTITION in text
    assert max(map(len, text.splitlines())) <= 80


def test_types_are_left_out_on_request() -> None:
    data = leader_and_isr()
    text = annotate(data, kwire.codec("LeaderAndIsrRequest", 1).trace(data), types=False)
    assert '0000000c  00 01 74                   topic_name = "t"\n' in text


def test_tags_known_and_unknown_are_named() -> None:
    data = bytes.fromhex("0000 01 00000000 02 0301 01 6302 abcd")
    text = annotate(data, kwire.codec("ApiVersionsResponse", 3).trace(data))
    assert text.splitlines()[3:] == [
        "00000007  02                       tagged_fields = 2                   tag count",
        "00000008  03 01                    zk_migration_ready = tag 3, 1 byte  tag, size",
        "0000000a  01                       zk_migration_ready = true                bool",
        "0000000b  63 02 ab cd              unknown_tags[99] = abcd (2 bytes)",
    ]


def test_a_fault_is_below_its_bytes() -> None:
    codec = kwire.codec("MetadataRequest", 0)
    bad_text, too_long = bytes.fromhex("00000001 0003 61ff62"), bytes.fromhex("00000001 0009 61ff62")
    assert annotate(bad_text, codec.trace(bad_text, salvage=True)).splitlines()[2:] == [
        '00000004  00 03 61 ff 62             name = "a\ufffdb"                         string',
        "                                   ! BadText: the text is not UTF-8",
    ]
    assert annotate(too_long, codec.trace(too_long, salvage=True)).splitlines()[2:] == [
        "00000004  00 09 61 ff 62             name = 000961ff62 (5 bytes)  not understood",
        "                                   ! BadLength: length 9 needs 9 bytes, 3 left",
    ]


def test_colours_change_nothing_but_colours() -> None:
    data = leader_and_isr()
    spans = kwire.codec("LeaderAndIsrRequest", 1).trace(data)
    coloured = annotate(data, spans, Style(colour=True))
    assert "\x1b[36mleader_epoch\x1b[0m = 5" in coloured
    for code in ("\x1b[36m", "\x1b[2m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == annotate(data, spans)


@given(messages(FOUNDING))
def test_an_annotated_hexdump_reads_back(made: tuple[kwire.Codec, Any]) -> None:
    codec, message = made
    data = codec.encode(message)
    text = annotate(data, codec.trace(data))
    assert not data or parse_hex_text(text) == (data, "annotated hexdump")
    assert all(line.isprintable() for line in text.splitlines())


@pytest.mark.parametrize("width", [40, 60, 70, 80, 90, 120])
def test_no_number_is_cut(width: int) -> None:
    cls: Any = kwire.messages.MetadataResponse
    partition = cls.MetadataResponsePartition(
        replica_nodes=tuple(range(1_000_000_000, 1_000_000_009)), leader_id=-(2**31), error_code=56
    )
    topic = cls.MetadataResponseTopic(name="t", partitions=(partition,))
    codec = kwire.codec("MetadataResponse", 12)
    data = codec.encode(cls(topics=(topic,)))
    text = annotate(data, codec.trace(data), Style(width=width), codec=codec)
    assert "topic_authorized_operations = -2147483648" in text
    assert ("NOT_ASKED_FOR" in text) == (width >= 120)
    assert "leader_id = -2147483648" in text
    assert "error_code = 56" in text
    shown = re.search(r"replica_nodes = \[(.*?)(?:, \.\.\.)?\]", text)
    assert shown
    assert all(len(number) == 10 for number in shown[1].split(", "))
