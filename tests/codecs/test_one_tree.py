"""Decode, encode, trace, JSON and strategies read one construct tree: change a node, and all of them change."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.codecs import wire
from kwire.codecs.message_codec import Codec
from kwire.codecs.schema_tree import grow_tree
from kwire.testing.strategies.tree_values import values


class Shifted(wire.Integer):
    """An int32 that stands on the wire as one more than it is: a rule that only this test knows."""

    def __init__(self) -> None:
        super().__init__("shifted int32", "i")
        self.low, self.high = 0, 9

    def _parse(self, stream: wire.Reader, context: Any, path: str) -> int:
        return super()._parse(stream, context, path) - 1

    def _build(self, obj: Any, stream: wire.Writer, context: Any, path: str) -> None:
        super()._build(obj, stream, context, path)
        stream.out[-4:] = self.struct.pack(obj + 1)


def changed_codec() -> Codec:
    """Return the codec of ControlledShutdownRequest v1 with its one int32 shifted."""
    spec = kwire.codec("ControlledShutdownRequest", 1).spec
    schema = grow_tree(spec, 1)
    schema.fields[0].subcon = Shifted()
    return Codec(spec, 1, schema)


def test_decode_encode_trace_and_json_follow_the_changed_node() -> None:
    codec = changed_codec()
    message = codec.decode(b"\0\0\0\x04")
    assert message.broker_id == 3
    assert codec.encode(message) == b"\0\0\0\x04"
    assert [(span.type, span.value) for span in codec.trace(b"\0\0\0\x04")] == [("shifted int32", 3)]
    assert codec.to_json(message) == {"brokerId": 3}
    assert codec.from_json({"brokerId": 3}) == message
    assert codec.schema.parse(b"\0\0\0\x04") == message
    assert codec.schema.build(message) == b"\0\0\0\x04"


def test_json_refuses_what_the_changed_node_cannot_carry() -> None:
    try:
        changed_codec().from_json({"brokerId": 10})
    except kwire.EncodeError as error:
        assert str(error) == "ControlledShutdownRequest v1: brokerId: an integer from 0 to 9 is needed, not 10"
    else:
        raise AssertionError("10 was accepted")


@given(st.data())
def test_strategies_follow_the_changed_node(data: st.DataObject) -> None:
    codec = changed_codec()
    message = data.draw(values(codec.schema))
    assert 0 <= message.broker_id <= 9
    assert codec.decode(codec.encode(message)) == message


def test_the_unchanged_codec_is_as_it_was() -> None:
    assert kwire.codec("ControlledShutdownRequest", 1).decode(b"\0\0\0\x04").broker_id == 4
