"""Golden fixtures: written new from a decoded frame, or with new annotations. The bytes are never changed."""

from __future__ import annotations

from ..errors import DumpError
from ..fixtures import Fixture, check_writer, parse_fixture
from ..frames import Frame, FrameDecoder, Request, Response, Token, Undecodable
from ..spec.catalog import catalog_for
from .annotate import annotate


def fixture_text(result: Request | Response, writer: str, profile: str | None = None) -> str:
    """Write a fixture of a traced result.

    Args:
        result: of a `FrameDecoder` with `trace`.
        writer: who wrote the bytes.
        profile: the KIP whose drafts they follow.

    Raises:
        DumpError: kwire is said to have written them, or nobody.
    """
    check_writer(writer)
    framing = "body" if result.frame.bare else "frame"
    head = [f"# fixture: {result.codec.name} v{result.codec.version} {framing}"]
    head += [f"# profile: {profile}"] if profile else []
    head.append(f"# writer: {writer}")
    return "\n".join(head) + "\n" + annotate(result.frame.data, result.spans, codec=result.codec)


def rewrite_fixture(text: str, file: str = "") -> str:
    """Write a fixture's annotations anew; its head and its bytes stay.

    Raises:
        DumpError: it is no fixture, or its bytes do not decode as what it says.
    """
    fixture = parse_fixture(text, file)
    if fixture is None:
        raise DumpError("this is no fixture", file=file, hint="begin it with # fixture: NAME vN body")
    result = decode_fixture(fixture)
    return "".join(f"{line}\n" for line in fixture.head) + annotate(fixture.data, result.spans, codec=result.codec)


def decode_fixture(fixture: Fixture) -> Request | Response:
    """Decode a fixture strictly, with spans. Raises the DecodeError of its bytes."""
    frame = Frame(
        fixture.data,
        message=fixture.message,
        version=fixture.version,
        bare=fixture.bare,
        profile=fixture.profile,
    )
    result = FrameDecoder(catalog_for(fixture.profile), salvage=False, trace=True).decode(frame)
    if isinstance(result, Undecodable):
        raise result.error
    assert not isinstance(result, Token)  # a fixture is one message
    return result
