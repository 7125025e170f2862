"""The requests from a controller to one incarnation of a broker, as encoded bytes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from ...protocol import Frame, FrameDecoder, Request, Response, Source, encode_request, encode_response
from .controller.request_batch import SendRequest

LinkKey = tuple[int, int, int]  # controller epoch, broker, epoch of the broker


@dataclass(slots=True)
class RequestExchange:
    """A request, as the broker receives it, and its response; None until there is one."""

    broker_id: int
    controller_epoch: int
    request: Any
    version: int
    response: Any = None


class Link:
    """The requests from a controller to one incarnation of a broker, in order."""

    def __init__(self, broker_id: int, controller_epoch: int) -> None:
        self.broker_id: int = broker_id
        self.controller_epoch: int = controller_epoch
        self.waiting: deque[tuple[RequestExchange, bytes]] = deque()
        self.answer: bytes | None = None
        self._sent = 0
        self._decoder = FrameDecoder(salvage=False)

    def send(self, sent: SendRequest) -> RequestExchange:
        """Append a request to the queue."""
        self._sent += 1
        data = encode_request(sent.message, sent.version, correlation_id=self._sent, client_id="controller")
        exchange = RequestExchange(self.broker_id, self.controller_epoch, sent.message, sent.version)
        self.waiting.append((exchange, data))
        return exchange

    @property
    def can_deliver(self) -> bool:
        """Whether a request can be delivered to the broker now."""
        return bool(self.waiting) and self.answer is None

    def deliver(self, handle: Any) -> None:
        """Deliver the next request to the broker; `handle` is its `KafkaBroker.handle`."""
        exchange, data = self.waiting[0]
        request = self._decoder.decode(_frame(data, "request"))
        assert isinstance(request, Request), request
        exchange.request = request.message
        response = handle(request.message, exchange.version)
        self.answer = encode_response(response, exchange.version, correlation_id=request.correlation_id or 0)

    def take_answer(self) -> RequestExchange:
        """Deliver the response to the controller."""
        assert self.answer is not None
        response = self._decoder.decode(_frame(self.answer, "response"))
        assert isinstance(response, Response), response
        exchange, _ = self.waiting.popleft()
        exchange.response = response.message
        self.answer = None
        return exchange

    def drop(self) -> None:
        """Break the connection: a response in transit is lost, and its request will be sent again."""
        self.answer = None
        self._decoder = FrameDecoder(salvage=False)


def _frame(data: bytes, direction: str) -> Frame:
    return Frame(data, Source(connection=0, direction=direction))
