"""`requests`, `responses` and `exchanges`: strategies of frames, each with its header and its message."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, overload

from hypothesis import strategies as st

from ...codecs.message_codec import Codec, codec_of
from ...protocol.frame_encoder import encode_request, encode_response
from ...protocol.headers.api_versions_downgrade import API_VERSIONS, UNSUPPORTED_VERSION
from ...protocol.headers.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE
from ...protocol.headers.requests_without_response import expects_response
from ...protocol.results import Request, Response
from ...protocol.single_frame import decode_request, decode_response
from ...schema.catalog import Catalog, catalog_for
from ...schema.message_classes import find_spec
from .drawn_messages import values_of
from .tree_values import TEXT

if TYPE_CHECKING:
    from ...messages import RequestMessage, ResponseMessage

    Q = TypeVar("Q", bound=RequestMessage[Any])
    A = TypeVar("A", bound=ResponseMessage)

CORRELATION_IDS = st.integers(-(2**31), 2**31 - 1)
AUTHENTICATION = (SASL_HANDSHAKE, SASL_AUTHENTICATE)
"""Apis that change what later frames of their connection mean."""


@overload
def requests(
    message: type[Q], version: int | None = None, *, catalog: Catalog | None = None
) -> st.SearchStrategy[Request[Q]]: ...


@overload
def requests(
    message: str | None = None, version: int | None = None, *, catalog: Catalog | None = None
) -> st.SearchStrategy[Request[Any]]: ...


def requests(
    message: Any = None, version: int | None = None, *, catalog: Catalog | None = None
) -> st.SearchStrategy[Any]:
    """Return a strategy of the frames of requests.

    Args:
        message: an api, such as `"Metadata"`, or a class of requests; by default all of them.
        version: the api version; by default all of them.
        catalog: the specs to use; by default those of Kafka's releases.

    Returns:
        A strategy of `kwire.Request`, as `kwire.decode_request` returns them: `frame.data` has the bytes of size,
        header and body. Correlation id, client id and unknown tagged fields of the body are drawn, too.

    Raises:
        UnknownMessage, UnsupportedVersion: see `kwire.codec`.
        TypeError: the message is no request.

    >>> import kwire
    >>> from hypothesis import given
    >>> @given(requests("Heartbeat", 4))
    ... def test_a_request_is_read(request):
    ...     size = int.from_bytes(request.frame.data[:4], "big")
    ...     assert (size, request.api_version) == (len(request.frame.data) - 4, 4)
    >>> test_a_request_is_read()
    """
    codecs = list_codecs("request", message, version, catalog or catalog_for())
    return st.sampled_from(codecs).flatmap(lambda codec: _requests_of(codec, catalog))


@overload
def responses(
    message: type[A], version: int | None = None, *, catalog: Catalog | None = None
) -> st.SearchStrategy[Response[A]]: ...


@overload
def responses(
    message: str | None = None, version: int | None = None, *, catalog: Catalog | None = None
) -> st.SearchStrategy[Response[Any]]: ...


def responses(
    message: Any = None, version: int | None = None, *, catalog: Catalog | None = None
) -> st.SearchStrategy[Any]:
    """Return a strategy of the frames of responses whose requests are unknown; for both see `exchanges`.

    Args:
        message: an api, such as `"Metadata"`, or a class of responses; by default all of them.
        version: the version of the body; by default all of them.
        catalog: the specs to use; by default those of Kafka's releases.

    Returns:
        A strategy of `kwire.Response`, as `kwire.decode_response` returns them: `frame.data` has the bytes of size,
        header and body. ApiVersions responses with the error UNSUPPORTED_VERSION have version 0, as KIP-511 demands.

    Raises:
        UnknownMessage, UnsupportedVersion: see `kwire.codec`.
        TypeError: the message is no response.

    >>> import kwire
    >>> from hypothesis import given
    >>> @given(responses(kwire.messages.HeartbeatResponse, 4))
    ... def test_a_response_is_read(response):
    ...     again = kwire.decode_response(response.frame.data, response.codec)
    ...     assert again.message.error_code == response.message.error_code
    >>> test_a_response_is_read()
    """
    codecs = list_codecs("response", message, version, catalog or catalog_for())
    return st.sampled_from(codecs).flatmap(lambda codec: _responses_of(codec, catalog))


@overload
def exchanges(
    message: type[Q], version: int | None = None, *, catalog: Catalog | None = None
) -> st.SearchStrategy[tuple[Request[Q], Response[Any] | None]]: ...


@overload
def exchanges(
    message: str | None = None, version: int | None = None, *, catalog: Catalog | None = None
) -> st.SearchStrategy[tuple[Request[Any], Response[Any] | None]]: ...


def exchanges(
    message: Any = None, version: int | None = None, *, catalog: Catalog | None = None
) -> st.SearchStrategy[Any]:
    """Return a strategy of requests, each with its response.

    Args:
        message: an api, such as `"Metadata"`, or a class of requests; by default all of them.
        version: the api version; by default all of them.
        catalog: the specs to use; by default those of Kafka's releases.

    Returns:
        A strategy of pairs; the response has the request's correlation id. It is None for a Produce request with
        `acks=0`, which gets none.

    Raises:
        UnknownMessage, UnsupportedVersion, TypeError: see `requests`.

    >>> import kwire
    >>> from hypothesis import given
    >>> @given(exchanges("Produce"))
    ... def test_an_exchange(exchange):
    ...     request, response = exchange
    ...     assert (response is None) == (request.message.acks == 0)
    >>> test_an_exchange()
    """
    codecs = list_codecs("request", message, version, catalog or catalog_for())
    return st.sampled_from(codecs).flatmap(lambda codec: exchanges_of(codec, catalog))


def list_codecs(kind: str, message: Any, version: int | None, catalog: Catalog) -> list[Codec]:
    """Return the codecs of a kind, which is request or response, that a message and a version select."""
    if message is None:
        specs = [catalog.spec(name) for name, (type_name, _) in sorted(catalog.heads().items()) if type_name == kind]
        if version is not None:
            specs = [spec for spec in specs if version in spec.versions]
    else:
        specs = [_find_spec(kind, message, version, catalog)]
    versions_of = catalog.versions_of
    return [codec_of(spec, each) for spec in specs for each in (versions_of(spec) if version is None else [version])]


def _find_spec(kind: str, message: Any, version: int | None, catalog: Catalog) -> Any:
    if isinstance(message, str) and message not in catalog:
        message = next((name for name in catalog.named(message) if name.endswith(kind.capitalize())), message)
    spec = find_spec(message, version, catalog=catalog)
    if spec.type != kind:
        raise TypeError(f"a {kind} is needed; {spec.name} is a {spec.type}")
    return spec


@cache
def _requests_of(codec: Codec, catalog: Catalog | None) -> st.SearchStrategy[Request]:
    def build(message: Any, correlation_id: int, client_id: str | None) -> Request:
        data = encode_request(
            message, codec.version, correlation_id=correlation_id, client_id=client_id, catalog=catalog
        )
        return decode_request(data, catalog=catalog)

    return st.builds(build, values_of(codec), CORRELATION_IDS, st.none() | TEXT)


@cache
def _bodies_of(codec: Codec) -> st.SearchStrategy[Any]:
    bodies = values_of(codec)
    if codec.spec.api_key == API_VERSIONS and codec.version > 0:
        return bodies.filter(lambda message: message.error_code != UNSUPPORTED_VERSION)
    return bodies


@cache
def _responses_of(codec: Codec, catalog: Catalog | None) -> st.SearchStrategy[Response]:
    def build(message: Any, correlation_id: int) -> Response:
        data = encode_response(message, codec.version, correlation_id=correlation_id, catalog=catalog)
        return decode_response(data, codec, catalog=catalog)

    return st.builds(build, _bodies_of(codec), CORRELATION_IDS)


@cache
def exchanges_of(codec: Codec, catalog: Catalog | None) -> st.SearchStrategy[tuple[Request, Response | None]]:
    """Return the strategy of exchanges whose requests a codec encodes."""
    specs = catalog or catalog_for()
    spec = specs.find(codec.spec.api_key or 0, "response", codec.version)
    if spec is None:
        raise TypeError(f"the catalog has no response to {codec.name} v{codec.version}")
    bodies = _bodies_of(codec_of(spec, codec.version))

    def answer(request: Request, message: Any) -> tuple[Request, Response | None]:
        if not expects_response(request.message):
            return request, None
        correlation_id = request.correlation_id or 0
        data = encode_response(message, codec.version, correlation_id=correlation_id, catalog=catalog)
        return request, decode_response(data, request, catalog=catalog)

    return st.builds(answer, _requests_of(codec, catalog), bodies)
