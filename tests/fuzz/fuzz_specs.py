"""Specs: a text is refused with a place, or it describes a message whose defaults are encoded and come back."""

from __future__ import annotations

from collections.abc import Iterator

from kwire.codecs.message_codec import codec_of
from kwire.errors import EncodeError, SpecError
from kwire.schema.spec_reader import read_spec
from tests.conftest import ROOT

MOST = 1500  # bytes of a spec: mutations of longer ones seldom matter
FEW = 40  # versions that are tried


def fuzz_specs(data: bytes) -> None:
    """Read a spec, and use it in its first versions."""
    try:
        spec = read_spec(data.decode("utf-8", "surrogateescape"), "x.json")
    except SpecError as error:
        assert error.json_path.startswith("$") and str(error)
        return
    for version in list(spec.versions)[:FEW]:
        codec = codec_of(spec, version)
        message = codec.message_class()
        try:
            body = codec.encode(message)
        except EncodeError:  # a default that is not ignorable in this version
            continue
        assert repr(codec.decode(body)) == repr(message)


def seeds() -> Iterator[bytes]:
    """Yield small specs of Kafka's messages."""
    for path in sorted((ROOT / "schemas").glob("**/*.json")):
        if path.stat().st_size <= MOST:
            yield path.read_bytes()


if __name__ == "__main__":
    from tests.fuzz.running import run

    run(fuzz_specs, seeds())
