"""Golden fixtures: the text of one, annotations written anew, decoding."""

from __future__ import annotations

from ..capture.hex_text.golden_fixture import Fixture, check_writer, parse_fixture
from ..errors import DumpError
from ..protocol import Frame, FrameDecoder, Request, Response, Token, Undecodable
from ..schema.catalog import catalog_for
from .annotated_hex import annotate


def fixture_text(result: Request | Response, writer: str, profile: str | None = None) -> str:
    """Write a fixture of a traced result.

    Args:
        result: a result of a `FrameDecoder` with `trace`.
        writer: the software that wrote the bytes.
        profile: the KIP whose draft they follow.

    Raises:
        DumpError: the writer is missing, or is kwire.
    """
    check_writer(writer)
    framing = "body" if result.frame.bare else "frame"
    head = [f"# fixture: {result.codec.name} v{result.codec.version} {framing}"]
    head += [f"# profile: {profile}"] if profile else []
    head.append(f"# writer: {writer}")
    return "\n".join(head) + "\n" + annotate(result.frame.data, result.spans, codec=result.codec)


def rewrite_fixture(text: str, file: str = "") -> str:
    """Rewrite the annotations of a fixture; its header and its bytes stay the same.

    Raises:
        DumpError: the text is not a fixture, or its bytes do not decode as its message.
    """
    fixture = parse_fixture(text, file)
    if fixture is None:
        raise DumpError("this is not a fixture", file=file, hint="begin it with # fixture: NAME vN body")
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
