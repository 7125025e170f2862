"""Parses and applies display filters (`kwire decode --where`) and paths to fields (`--fields`).

A path names a field at any depth of a message: `error_code` is any error code, `topics[].name` the name of any topic. A
word that is a property of the frame itself, such as `latency`, means that property. A comparison is true if it is true
for any of the values. This module does not read files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..protocol import Result
from ..schema.catalog import Catalog, catalog_for
from ..schema.field_names import snake_case
from .expression import Expression
from .field_path import FieldPath
from .filter_parser import FilterParser
from .frame_context import FrameContext
from .result_values import match_results
from .tokens import split_tokens


@dataclass(frozen=True, slots=True)
class DisplayFilter:
    """A parsed display filter.

    Attributes:
        text: the filter.
        expression: its typed tests.

    >>> import kwire
    >>> frames = list(kwire.read_dump("fixtures/dumps/kafka-3.9-zk.bin"))
    >>> wanted = parse_filter('type == "response" and brokers[].port > 1024')
    >>> [result.codec.name for result in kwire.decode_frames(frames) if wanted(result)]
    ['MetadataResponse']
    >>> sorted(parse_filter("rack_id and api == fetch").messages)
    ['FetchRequest']
    """

    text: str
    expression: Expression = field(repr=False)
    _matches: Callable[[Result], bool] = field(repr=False)

    def __call__(self, result: Result) -> bool:
        """Return whether a frame matches the filter; call it for the frames of a dump in order."""
        return self._matches(result)

    @property
    def messages(self) -> frozenset[str] | None:
        """The names of the only messages that can match; None if any frame may match."""
        return self.expression.messages

    def may_hold(self, api_key: int, is_request: bool, catalog: Catalog | None = None) -> bool:
        """Return whether the filter can match a message whose body is not decoded yet."""
        messages = self.messages
        if messages is None:
            return True
        spec = (catalog or catalog_for()).find(api_key, "request" if is_request else "response")
        return spec is None or spec.name in messages


def parse_filter(text: str, catalog: Catalog | None = None) -> DisplayFilter:
    """Parse a display filter.

    Args:
        text: the expression: tests such as `topics[].name == "orders"`, joined by `and`, `or`, `not`, parentheses.
        catalog: the specs whose fields the filter may name; those of Kafka's releases by default.

    Returns:
        The filter; call it with a `Request`, `Response`, `FilterToken` or `Undecodable`.

    Raises:
        FilterError: the text is not an expression, names a field that no message has, or compares a field with a value
            of another type. The error has the column.

    >>> import kwire
    >>> wanted = parse_filter("api == Heartbeat and error_code == REBALANCE_IN_PROGRESS")
    >>> [wanted(frame) for frame in kwire.decode_frames(kwire.read_dump("fixtures/dumps/kafka-4.4-metadata.bin"))]
    [False, False]
    """
    if not isinstance(text, str):
        raise TypeError(f"the text of a filter is needed, not {type(text).__name__}")
    expression = FilterParser(text, catalog or catalog_for()).whole()
    return DisplayFilter(text, expression, match_results(expression, FrameContext()))


def names_property(name: str, *texts: str | None) -> bool:
    """Return whether filters or lists of paths name a property of frames. Raises FilterError.

    >>> names_property("latency", None, "api == 'X' and latency > 1s"), names_property("latency", "api == 'latency'")
    (True, False)
    """
    tokens = (token for text in texts if text for token in split_tokens(text))
    return any(token.kind == "path" and snake_case(str(token.value)) == name for token in tokens)


def parse_path(text: str, catalog: Catalog | None = None) -> FieldPath:
    """Parse the path of a field, in the syntax of `--fields`.

    Raises:
        FilterError: the text is not a path, or no message has such a field.

    >>> parse_path("topics[0].errorCode").steps
    (('topics', 0), ('error_code', None))
    """
    parser = FilterParser(text, catalog or catalog_for())
    operand = parser.path()
    parser.end()
    return operand.path
