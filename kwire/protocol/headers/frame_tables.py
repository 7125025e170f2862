"""Native tables of whole frames, by the codec of their bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...codecs import native
from ...codecs.fast_path import table_of
from ...codecs.message_codec import Codec, codec_in
from ...runtime.caches import once
from ...schema.catalog import Catalog
from .header_versions import header_version_for

if TYPE_CHECKING:
    from ...codecs.native import FrameTable

HEADERS = {"request": "RequestHeader", "response": "ResponseHeader"}


def header_codec(catalog: Catalog, codec: Codec) -> Codec | None:
    """Return the codec of the header before a body; None if there is no header.

    Args:
        catalog: the specs of the header.
        codec: the codec of a request or a response.
    """
    version = header_version_for(codec.spec, codec.version)
    return None if version is None else codec_in(catalog, HEADERS[codec.spec.type], version)


@once
def frame_table(catalog: Catalog, codec: Codec) -> FrameTable | None:
    """Return the table that reads and writes whole frames with this body.

    It is None without the native engine, and for messages without a header. What the table refuses with `REFUSALS` must
    be read or written in parts, which explains it.
    """
    header = header_codec(catalog, codec)
    if header is None:
        return None
    header_table = table_of(header)
    body_table = table_of(codec)
    if header_table is None or body_table is None:
        return None
    return native.FrameTable(header_table, body_table)
