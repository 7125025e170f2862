"""Which messages carry secrets, by the names of their fields."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..codecs.field_search import FieldLocation, leaf_steps, plan_fields
from ..codecs.message_codec import Codec, codec_in
from ..protocol.headers.header_versions import header_version_for
from ..protocol.message_summary import carries_metadata_log, is_of_metadata_log
from ..schema.catalog import catalog_for
from ..schema.sensitive_fields import ENVELOPED, SECRET_FIELDS
from ..schema.spec_layers import WIRE_TYPES

ALWAYS_SECRET = ENVELOPED | SECRET_FIELDS.keys()
_CONFIG = frozenset(("name", "value"))


def may_hold_secrets(codec: Codec, message: Any) -> bool:
    """Whether a message may contain a secret, judging by its type and the names in it.

    Args:
        codec: the codec of the message.
        message: the message, or an object with its attributes.
    """
    return may_carry(codec) or (carries_metadata_log(codec) and is_of_metadata_log(message))


@cache
def may_carry(codec: Codec) -> bool:
    """Whether a message has a field that may contain a secret."""
    names = _names(codec)
    return bool(names & ALWAYS_SECRET) or names >= _CONFIG


@cache
def always_carries(codec: Codec) -> bool:
    """Whether a message has a field that always contains a secret."""
    return bool(_names(codec) & SECRET_FIELDS.keys())


@cache
def may_carry_in_some_version(name: str) -> bool:
    """Whether a Kafka message has a field that may contain a secret, in any version."""
    versions = catalog_for().spec(name).versions
    return any(may_carry(codec_in(catalog_for(), name, version)) for version in versions)


@cache
def carriers() -> dict[Codec, list[Codec]]:
    """Return the requests and responses of Kafka that contain a secret in every version, by the header before them."""
    by_header: dict[Codec, list[Codec]] = {}
    for spec in map(catalog_for().spec, catalog_for().names_with(ALWAYS_SECRET)):
        for version in spec.versions if spec.type in WIRE_TYPES else ():
            codec = codec_in(catalog_for(), spec.name, version)
            header = header_version_for(spec, version)
            if header is not None and _names(codec) & ALWAYS_SECRET:
                header_codec = codec_in(catalog_for(), f"{spec.type.capitalize()}Header", header)
                by_header.setdefault(header_codec, []).append(codec)
    return by_header


def _names(codec: Codec) -> set[str]:
    """Return the names of a message's fields that indicate a secret."""
    return {step.name for step in leaf_steps(plan_fields(codec, _may_tell))}


def _may_tell(location: FieldLocation) -> bool | None:
    return location.name in ALWAYS_SECRET or location.name in _CONFIG or None
