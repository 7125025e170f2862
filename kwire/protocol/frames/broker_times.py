"""Where a broker spent the time of a request, as its request log says."""

from __future__ import annotations

from typing import NamedTuple


class BrokerTimes(NamedTuple):
    """The parts of a request's time at its broker, in seconds; None where the log of this release lacks one.

    They are the times of `RequestChannel.Request.updateRequestMetrics`: the network between client and broker is not
    part of them.

    Attributes:
        total: from the last byte of the request to the last byte of the response.
        queue: in the queue of requests, before a handler took it.
        local: in the handler.
        remote: waiting in a purgatory: for followers (acks=all), for records (Fetch), for members (JoinGroup).
        throttle: what a quota made the client wait; the response may have been sent before (KIP-219).
        response_queue: of the response, in the queue of the network thread.
        send: writing the response to the socket.
    """

    total: float | None = None
    queue: float | None = None
    local: float | None = None
    remote: float | None = None
    throttle: float | None = None
    response_queue: float | None = None
    send: float | None = None
