"""Spans and metrics of requests and jobs, by OpenTelemetry, for programs that use it.

kwire imports nothing of OpenTelemetry itself: where a program has imported its API (the extra `otel`; programs that set
up an SDK have), spans and metrics go to the providers that the program has set. Elsewhere, nothing is measured. What is
reported has no secrets: no passwords, no bytes of messages, no texts of errors.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

API = "opentelemetry.trace"
CLIENT, BROKER, JOB = "client", "broker", "job"
_NAMES = {
    CLIENT: "messaging.client.operation.duration",
    BROKER: "kafka.broker.request.duration",
    JOB: "kafka.job.duration",
}


class Measurement:
    """A request or job that is measured. Attributes may be added while it lasts."""

    def __init__(self, span: Any) -> None:
        self._span = span
        self.error: str | None = None

    def note(self, **attributes: str | int | float | bool) -> None:
        """Add attributes to the span; an underscore in a name stands for a dot."""
        for name, value in attributes.items():
            self._span.set_attribute(f"kafka.{name.replace('_', '.')}", value)

    def fail(self, error: str) -> None:
        """Say that it failed, by the name of an error."""
        self.error = error


class _Unmeasured(Measurement):
    """What is not measured."""

    def __init__(self) -> None:
        super().__init__(None)

    def note(self, **attributes: str | int | float | bool) -> None:
        """Do nothing."""


_UNMEASURED = nullcontext(_Unmeasured())


def observe(kind: str, name: str, **attributes: str | int | None) -> AbstractContextManager[Measurement]:
    """Return a context that measures its block as a span and in a histogram of durations in seconds.

    Args:
        kind: `CLIENT` for a request to a broker, `BROKER` for one that a broker serves, `JOB` for a job.
        name: the name of the span: that of the api or job.
        attributes: of the span, with underscores for dots, such as `server_address`; None is left out. Names are those
            of OpenTelemetry's conventions of messaging systems where these have one.

    >>> with observe(CLIENT, "Metadata", server_address="localhost") as measurement:
    ...     measurement.note(api_version=12)
    """
    if API not in sys.modules:
        return _UNMEASURED
    return _observed(kind, name, {key: value for key, value in attributes.items() if value is not None})


@contextmanager
def _observed(kind: str, name: str, attributes: dict[str, Any]) -> Iterator[Measurement]:
    instruments = _instruments()
    span_kind = instruments.kinds[kind]
    members = {_DOTTED.get(key) or key.replace("_", "."): _shortened(value) for key, value in attributes.items()}
    measured = {"kafka.job": name} if kind == JOB else {"messaging.system": "kafka", "messaging.operation.name": name}
    begun = time.perf_counter()
    with instruments.tracer.start_as_current_span(
        name, kind=span_kind, attributes=members | measured, record_exception=False, set_status_on_exception=False
    ) as span:
        measurement = Measurement(span)
        try:
            yield measurement
        except BaseException as error:
            measurement.fail(type(error).__name__)
            raise
        finally:
            if measurement.error is not None:
                span.set_attribute("error.type", measurement.error)
                span.set_status(instruments.failed)
                measured["error.type"] = measurement.error
            instruments.durations[kind].record(time.perf_counter() - begun, measured)


_DOTTED = {"client_id": "messaging.client.id", "api_version": "kafka.api.version"}
LONGEST = 256  # characters of a text: a client's id may have 32,767


def _shortened(value: Any) -> Any:
    return value[:LONGEST] if isinstance(value, str) else value


class _Instruments:
    """The tracer and histograms of this library. Those of the API become real once a program sets providers."""

    def __init__(self) -> None:
        from opentelemetry import metrics, trace

        from .. import __version__

        self.tracer: Any = trace.get_tracer("kwire", __version__)
        meter = metrics.get_meter("kwire", __version__)
        self.durations: dict[str, Any] = {
            kind: meter.create_histogram(name, unit="s", description=f"Duration of a {kind}'s work")
            for kind, name in _NAMES.items()
        }
        kinds = trace.SpanKind
        self.kinds: dict[str, Any] = {CLIENT: kinds.CLIENT, BROKER: kinds.SERVER, JOB: kinds.INTERNAL}
        self.failed: Any = trace.StatusCode.ERROR


@cache
def _instruments() -> _Instruments:
    return _Instruments()
