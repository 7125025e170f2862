"""Which messages have fields that hold secrets, by the one table of such fields in `kwire.secrets`."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ..codecs import Codec, codec_in
from ..field_plan import Place, leaves, plan_of
from ..headers import header_version_for
from ..secrets import ENVELOPED, SECRET_FIELDS
from ..spec.catalog import catalog_for
from ..spec.folder import WIRE_TYPES
from .metadata import MESSAGES, is_of_metadata_log

_ALWAYS = ENVELOPED | SECRET_FIELDS.keys()
_CONFIG = frozenset(("name", "value"))


class Carrier(NamedTuple):
    """A message that always holds a secret, and the header in front of it."""

    codec: Codec
    header: Codec


def may_hold_secrets(codec: Codec, message: Any) -> bool:
    """Whether a message may hold a secret, by what it is and by what it is about.

    Args:
        codec: of the message.
        message: anything that has its attributes.
    """
    return may_carry(codec) or (codec.name in MESSAGES and is_of_metadata_log(message))


@cache
def may_carry(codec: Codec) -> bool:
    """Whether a message has a field that may hold a secret."""
    names = _names(codec)
    return bool(names & _ALWAYS) or names >= _CONFIG


@cache
def always_carries(codec: Codec) -> bool:
    """Whether a message has a field that always holds a secret."""
    return bool(_names(codec) & SECRET_FIELDS.keys())


@cache
def may_carry_in_some_version(name: str) -> bool:
    """Whether a message of Kafka's has a field that may hold a secret, in any of its versions."""
    versions = catalog_for().spec(name).versions
    return any(may_carry(codec_in(catalog_for(), name, version)) for version in versions)


@cache
def carriers() -> tuple[Carrier, ...]:
    """Return all requests and responses of Kafka's that always hold a secret, at every version."""
    found = []
    for spec in map(catalog_for().spec, catalog_for().names_with(_ALWAYS)):
        for version in spec.versions if spec.type in WIRE_TYPES else ():
            codec, header = codec_in(catalog_for(), spec.name, version), header_version_for(spec, version)
            if header is not None and _names(codec) & _ALWAYS:
                header_name = f"{spec.type.capitalize()}Header"
                found.append(Carrier(codec, codec_in(catalog_for(), header_name, header)))
    return tuple(found)


def _names(codec: Codec) -> set[str]:
    """Return the names of a message's fields, of those that tell whether there may be a secret."""
    return {step.name for step in leaves(plan_of(codec, _tells))}


def _tells(place: Place) -> bool | None:
    return place.name in _ALWAYS or place.name in _CONFIG or None
