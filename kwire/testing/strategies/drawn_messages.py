"""`messages`: a strategy of one message at one version."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, overload

from hypothesis import strategies as st

from ...codecs.message_codec import Codec
from ...codecs.message_codec import codec as find_codec
from .tree_values import values

if TYPE_CHECKING:
    from msgspec import Struct

    from ...schema.catalog import Catalog

    M = TypeVar("M", bound=Struct)


@overload
def messages(message: type[M], version: int, *, catalog: Catalog | None = None) -> st.SearchStrategy[M]: ...


@overload
def messages(message: str, version: int, *, catalog: Catalog | None = None) -> st.SearchStrategy[Any]: ...


def messages(message: Any, version: int, *, catalog: Catalog | None = None) -> st.SearchStrategy[Any]:
    """Return a strategy of all messages of a class that have a version's fields.

    Args:
        message: a class of `kwire.messages`, or its name, such as `"MetadataRequest"`.
        version: the version whose fields are drawn; the others keep their defaults.
        catalog: the specs to use; by default those of Kafka's releases.

    Returns:
        A strategy of messages. Each equals what the bytes of `kwire.codec(message, version).encode` decode to.

    Raises:
        UnknownMessage, UnsupportedVersion: see `kwire.codec`.

    >>> import kwire
    >>> from hypothesis import given
    >>> codec = kwire.codec(kwire.messages.HeartbeatRequest, 4)
    >>> @given(messages(kwire.messages.HeartbeatRequest, 4))
    ... def test_a_heartbeat_comes_back(heartbeat):
    ...     assert codec.decode(codec.encode(heartbeat)) == heartbeat
    >>> test_a_heartbeat_comes_back()
    """
    return values_of(find_codec(message, version, catalog=catalog))


@cache
def values_of(codec: Codec) -> st.SearchStrategy[Any]:
    """Return the strategy of what a codec encodes."""
    return values(codec.schema)
