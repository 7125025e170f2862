"""The states of all connections of a capture between two packets, as bytes: decoding goes on from there elsewhere.

A state has, of each connection that is still open: its position in both streams, buffered segments, the bytes of an
open frame, requests in flight, SASL and the apis used so far; and the counts of the whole capture. It is read by the
same version of kwire only. What all ranges of a capture share, such as the known apis, is not part of it.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from io import BytesIO
from typing import Any

from ...protocol.frames.captured_frame import WHOLE_FILE
from ...protocol.headers.apis import Api, Apis, Call


class _StatePickler(pickle.Pickler):
    """Pickles a state without what its readers share."""

    def __init__(self, file: BytesIO, apis: Apis, shared: Sequence[Any]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._apis = apis
        self._numbers = {id(value): number for number, value in enumerate(shared)}

    def persistent_id(self, value: Any) -> int | None:
        return self._numbers.get(id(value))

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Api):
            return find_api, (self._apis, value.key, value.version, self._apis.get(value.number) is value)
        if isinstance(value, Call):
            return build_call, (value.api, value.client, value.version)
        return NotImplemented


class _StateReader(pickle.Unpickler):
    """Reads what `_StatePickler` wrote."""

    def __init__(self, file: BytesIO, shared: Sequence[Any]) -> None:
        super().__init__(file)
        self._shared = shared

    def persistent_load(self, number: int) -> Any:
        return self._shared[number]


def find_api(apis: Apis, key: int, version: int, is_known: bool) -> Api:
    """Return the api of a pickled state."""
    api = apis.get(key << 16 | version & 0xFFFF) if is_known else None
    return apis.unknown(key, version) if api is None else api


def build_call(api: Api, client: bytes, version: int) -> Call:
    """Return the call of a pickled state."""
    call = Call(api, client)
    call.version = version
    return call


def dump_state(state: Any, apis: Apis, shared: Sequence[Any]) -> bytes:
    """Return a state as bytes.

    Args:
        state: the state of a `FrameExtractor`, and of what reads its frames.
        apis: the known apis.
        shared: further objects that are not part of the state; each reader has its own, in the same order.
    """
    file = BytesIO()
    _StatePickler(file, apis, [WHOLE_FILE, apis, *shared]).dump(state)
    return file.getvalue()


def load_state(data: bytes, apis: Apis, shared: Sequence[Any]) -> Any:
    """Return the state that `dump_state` wrote; for the arguments see there."""
    return _StateReader(BytesIO(data), [WHOLE_FILE, apis, *shared]).load()
