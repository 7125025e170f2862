"""Which api a frame is of, which way it goes and whom it answers, as `frames.peeking` tells, by the million.

Frames come as they were cut; of each that is wanted, and of every piece that is none, a row goes out. What waits for
an answer can be taken along to another process, which reads on from there. Looks at bodies only where a header leaves
open which way a frame goes.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

from ..errors import DecodeError
from ..faults import UnexpectedResponse
from ..frames import Frame, FrameDecoder, Source, Undecodable, cut_short
from ..frames.peeking import SHORTEST
from ..frames.pieces import CutShort, loses, unexpected_response
from ..frames.reading import FrameReading
from ..frames.said import NOBODY, Batch
from ..frames.said import Ends as Named
from .apis import HANDSHAKE, Api, Apis
from .faults import Fault, fault_of
from .talks import Asked, Ends, State, Talk
from .walking import Cut

# offset, bytes, nanoseconds, ends, whether it asks, api, correlation id, client id, what is wrong
Row = tuple[int, bytes, int | None, Ends | None, bool | None, Api | None, int | None, str | None, Fault | None]
Sink = Callable[[Row], None]
DIRECTIONS = {True: "request", False: "response", None: None}
TALK_COST, ASKED_COST = 1500, 120  # bytes of memory
_NUMBERS = Struct(">ii").unpack_from
_INT32 = Struct(">i").unpack_from


class Pairing:
    """The frames of any number of connections, each in its order.

    Args:
        apis: the apis that are known.
        sink: takes the rows.
    """

    def __init__(self, apis: Apis, sink: Sink) -> None:
        self.apis, self.sink = apis, sink
        self._talks: dict[Any, Talk] = {}

    @property
    def weight(self) -> int:
        """About how many bytes of memory all that is remembered takes."""
        return sum(TALK_COST + (len(talk.waiting) + len(talk.ids)) * ASKED_COST for talk in self._talks.values())

    def state(self, least: int) -> State:
        """Return what is to be known of the frames so far, to go on elsewhere; they are raw ones."""
        talk = self._talk(None)
        waiting = tuple((number, api.number, client) for number, api, client in talk.waiting)
        return State(waiting, talk.bare, talk.tokens, least)

    def resume(self, state: State) -> None:
        """Go on from a state."""
        talk = self._talk(None)
        talk.bare, talk.tokens = state.bare, state.tokens
        for number, api_number, client in state.waiting:
            api = self.apis.get(api_number)
            if api is not None:
                talk.add((number, api, client))

    def raw(self, cuts: list[Cut]) -> None:
        """Take raw frames, of which only their content says which way they go."""
        talk, sink, get = self._talk(None), self.sink, self.apis.get
        talk.forget()
        waiting, ids = talk.waiting, talk.ids
        for offset, data, fault in cuts:
            if fault is None and len(data) >= SHORTEST:
                first, second = _NUMBERS(data, 4)
                api = get(first)
                if waiting and waiting[0][0] == first:
                    if api is None:
                        _, api, client = waiting.popleft()
                        if api.answers:
                            sink((offset, data, None, None, False, api, first, client, None))
                        continue
                elif api is not None and first not in ids and data.startswith(talk.client, 12) and api.is_plain:
                    waiting.append((second, api, talk.name))
                    ids.add(second)
                    talk.bare = False
                    if api.asks:
                        sink((offset, data, None, None, True, api, second, talk.name, None))
                    continue
            place = offset, data, None, None
            self._carefully(talk, place, None) if fault is None else self._piece(place, None, fault)

    def said(self, batch: Batch) -> None:
        """Take what the connections of a capture said."""
        talks, sink, get = self._talks, self.sink, self.apis.get
        for said in batch:
            if type(said) is not tuple:
                talks.pop(said, None)
                continue
            whose, asked, offset, now, data, fault, first, second = said
            talk = talks.get(whose.connection) or self._talk(whose.connection, whose, now)
            ends = talk.ends
            if asked and fault is None:
                api = get(-1 if first is None else first)
                if api is not None and data.startswith(talk.client, 12) and api.is_plain:
                    talk.waiting.append((second, api, talk.name))
                    if api.asks:
                        sink((offset, data, now, ends, True, api, second, talk.name, None))
                    continue
            elif fault is None and talk.waiting and talk.waiting[0][0] == first:
                _, api, client = talk.waiting.popleft()
                if api.answers:
                    sink((offset, data, now, ends, False, api, first, client, None))
                continue
            self._carefully(talk, (offset, data, now, ends), asked, fault)

    def frame(self, frame: Frame) -> None:
        """Take a frame of any other container."""
        source = frame.source
        for number in frame.closed:
            self._talks.pop(number, None)
        now = None if source.time is None else round(source.time * 1e6) * 1000
        whose = Named(source.client, source.broker, -1) if source.client and source.broker else NOBODY
        key = (source.client, source.broker) if source.connection is None else source.connection
        talk = self._talk(key, whose, now)
        place = source.offset or 0, frame.data, now, talk.ends
        if frame.message is not None and frame.version is not None and frame.fault is None:
            self._named(talk, place, frame)
        else:
            asked = None if source.direction is None else source.direction == "request"
            self._carefully(talk, place, asked, frame.fault)

    def _talk(self, key: Any, whose: Named = NOBODY, now: int | None = None) -> Talk:
        talk = self._talks.get(key)
        if talk is None:
            ends = Ends(whose.client, whose.broker, now) if whose.client else None
            talk = self._talks[key] = Talk(ends)
        return talk

    def _named(self, talk: Talk, place: Any, frame: Frame) -> None:
        """Take a frame of which its container says what it holds."""
        api, data = self.apis.named(frame), frame.data
        codec = api.codec(None)
        asked = {"request": True, "response": False}.get(codec.spec.type) if codec else None
        number: int | None = None
        client = None
        if not api.bare and len(data) >= 8:
            if asked:
                header = talk.request(data, self.apis)
                number, client = (header[0], header[2]) if header else (None, None)
                if header:
                    talk.add(header)
            else:
                number = _INT32(data, 4)[0]
                answered = talk.later(number, False)
                client = answered[2] if answered else None
        if api.answers if asked is False else api.asks:
            self.sink((*place, asked, api, number, client, None))

    def _carefully(self, talk: Talk, place: Any, asked: bool | None, error: DecodeError | None = None) -> None:
        """Take anything."""
        data = place[1]
        talk.lossy |= loses(error)
        if error is not None and not isinstance(error, CutShort):
            self._piece(place, asked, error)
            return
        cut = error or cut_short(data)
        fault = None if cut is None else fault_of(cut)
        if len(data) < 8 or _INT32(data)[0] < len(data) - 4:
            self._neither(talk, place, asked, cut)
            return
        request = None if asked is False else talk.request(data, self.apis)
        if asked is not True and self._is_answer(talk, data, request):
            self._answer(place, talk.waiting.popleft(), fault)
        elif request is not None and (asked or not self._is_late(talk, data, request)):
            self._ask(talk, place, request, fault)
        elif asked is not True and (late := talk.later(_INT32(data, 4)[0], asked)) is not None:
            self._answer(place, late, fault)
        else:
            self._neither(talk, place, asked, cut)

    def _piece(self, place: Any, asked: bool | None, error: DecodeError) -> None:
        """Take what is no whole frame."""
        self.sink((*place, asked, None, None, None, fault_of(error)))

    def _ask(self, talk: Talk, place: Any, request: Asked, fault: Fault | None) -> None:
        number, api, client = request
        talk.add(request)
        talk.bare = api.number == HANDSHAKE
        if talk.bare:
            talk.tokens = 0
        if api.asks:
            self.sink((*place, True, api, number, client, fault))

    def _answer(self, place: Any, answered: Asked, fault: Fault | None) -> None:
        number, api, client = answered
        if api.answers:
            self.sink((*place, False, api, number, client, fault))

    def _is_answer(self, talk: Talk, data: bytes, request: Any) -> bool:
        """Whether a frame is the answer awaited next; it may look like a request, too."""
        if not talk.waiting or talk.waiting[0][0] != _INT32(data, 4)[0]:
            return False
        awaited = talk.waiting[0][1].response
        if request is None or awaited is None:
            return request is None
        result: Any = FrameDecoder(self.apis.catalog, answers=awaited).decode(Frame(data))
        return not isinstance(result, Undecodable) and bool(result.codec.spec.type == "response")

    def _is_late(self, talk: Talk, data: bytes, request: Asked) -> bool:
        """Whether what looks like a request is none, but the answer to one awaited later."""
        codec = request[1].request
        if codec is None or not talk.awaits(_INT32(data, 4)[0]):
            return False
        return isinstance(
            FrameReading(Frame(data), self.apis.catalog, salvage=True, trace=False).request(codec), Undecodable
        )

    def _neither(self, talk: Talk, place: Any, asked: bool | None, cut: DecodeError | None) -> None:
        """Say why a frame, which may be `cut` short, is neither request nor answer, unless it is a token."""
        data = place[1]
        if talk.bare and asked is None and len(data) == 4 + int.from_bytes(data[:4], "big"):
            talk.tokens += 1
            self.sink((*place, talk.tokens % 2 == 1, None, None, None, None))
            return
        source = Source(direction=DIRECTIONS[asked])
        result: Any = FrameDecoder(self.apis.catalog).decode(Frame(data, source))
        error, header = getattr(result, "error", None), result.header
        is_request = hasattr(header, "request_api_key")
        is_late = asked is None and talk.waiting and not is_request and len(data) >= 8
        if error is None or is_late or isinstance(error, UnexpectedResponse | CutShort):
            need = talk.waiting[0][0] if talk.waiting else None
            found = int.from_bytes(data[4:8], "big", signed=True)
            error = cut or unexpected_response(found, need, lossy=talk.lossy)
        api = self.apis.unknown(header.request_api_key, header.request_api_version) if is_request else None
        number, client = (header.correlation_id, header.client_id) if is_request else (None, None)
        self.sink((*place, is_request or asked, api, number, client, fault_of(error)))
