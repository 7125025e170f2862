"""The classes of Kafka's messages, each one `msgspec.Struct` for all versions: `kwire.messages.MetadataRequest`.

A class is created on first use; its inner structs are its attributes: `UpdateMetadataRequest.UpdateMetadataBroker`. The
classes of a profile are in `getattr(kwire.messages, "KIP-112")`, and layouts that existed up to Kafka 3.6 in
`kwire.messages.kafka_3_6`. Type checkers and editors read a stub instead of this, which `kwire.schema.stubs` generates.
"""

from __future__ import annotations

from typing import Any

from ..errors import UnknownMessage
from ..schema.catalog import catalog_for, profiles
from ..schema.message_classes import Messages, message_class


def __getattr__(name: str) -> Any:
    """Find a message class by name, or the classes of a profile or a release."""
    if name == "__all__":
        return catalog_for().names()
    try:
        if name in profiles():
            return Messages(catalog_for(name))
        if name.startswith("kafka_"):
            return Messages(catalog_for(release=name.removeprefix("kafka_").replace("_", ".")))
        message = message_class(catalog_for().spec(name))
    except UnknownMessage as error:
        raise AttributeError(str(error)) from None
    globals()[name] = message  # the next access is a plain attribute, without a call of this function
    return message


def __dir__() -> list[str]:
    return catalog_for().names()
