"""Arguments that name an api or a message, and perhaps a version: NAME or NAME:VERSION."""

from __future__ import annotations

from ...codecs.message_codec import Codec, codec_in
from ...runtime.lazy_patterns import lazy_pattern
from ...schema.catalog import Catalog
from .usage_error import UsageError

_NAMED = lazy_pattern(r"([A-Za-z0-9_-]+)(?:[:\s]v?(\d{1,5}))?")


def name_and_version(text: str) -> tuple[str, int | None]:
    """Parse NAME or NAME:VERSION, the syntax of all arguments that name an api or a message. Raises UsageError."""
    match = _NAMED.fullmatch(text)
    if match is None:
        raise UsageError(f"{text}: write NAME or NAME:VERSION, such as Metadata:12")
    return match[1], None if match[2] is None else int(match[2])


def named_codecs(text: str, catalog: Catalog) -> list[Codec]:
    """Find the codecs that NAME or NAME:VERSION names: an api's request and response, or one message.

    Without a version, the newest is used. Raises UsageError, UnknownMessage, UnsupportedVersion.
    """
    word, version = name_and_version(text)
    names = catalog.named(word, version)
    return [codec_in(catalog, name, catalog.spec(name).versions.last if version is None else version) for name in names]


def named_codec(text: str, catalog: Catalog, *, bare: bool = False) -> Codec:
    """Find the codec that `--as` names: a message, or an api's response.

    Raises:
        UsageError: the text is not NAME:VERSION, or names an api although a bare body needs a message.
        UnknownMessage, UnsupportedVersion: there is no such api, message or version.
    """
    word, version = name_and_version(text)
    if version is None:
        raise UsageError(f"--as {text}: write NAME:VERSION, such as Metadata:12")
    names = catalog.named(word, version)
    if len(names) > 1 and bare:
        raise UsageError(f"--as {text}: write {' or '.join(f'{name}:{version}' for name in names)} for a body")
    return codec_in(catalog, names[-1], version)
