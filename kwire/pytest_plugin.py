"""The pytest plugin: compares frames field by field, reads golden fixtures, and explains failed comparisons.

pytest imports this module in every session of an environment that has kwire, so heavy imports wait until first use.
Failed comparisons are explained for messages, decoded frames, and bytes that are Kafka frames.
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from .capture.hex_text.golden_fixture import Fixture
    from .protocol import Request, Response
    from .testing import Kafka
    from .testing.replay.recording import Recording

LONGEST = 1 << 22  # bytes; a failed comparison of more bytes is left to pytest's own explanation
_VALUES = frozenset(("kwire.messages", "kwire.protocol.results"))  # the modules of messages and decoded frames
_CLUSTERS = "kwire.testing.running_clusters"  # loaded once a test begins a cluster
LONGEST_NAME = 100  # characters of the name of a recording
_HEADER = 8  # bytes: the size, then a correlation id, or an api key and a version


class Golden(NamedTuple):
    """A golden fixture: its bytes, the message that they decode to, and how they were decoded."""

    data: bytes
    message: Any
    result: Request | Response
    fixture: Fixture


class ReadGolden(Protocol):
    """The value of the fixture `kwire_fixture`: a function that returns the `Golden` at a path."""

    def __call__(self, path: str | Path) -> Golden:
        """Read a fixture."""
        ...


@pytest.fixture
def kwire_fixture(request: pytest.FixtureRequest) -> ReadGolden:
    """Read golden fixtures: `kwire_fixture("metadata.v12.hex")` has `data`, `message` and `result`.

    The path is relative to the test's file; if there is no such file, to the root of the session. Raises KwireError for
    a file that is not a fixture, or whose bytes do not decode strictly.
    """

    def read(path: str | Path) -> Golden:
        from .capture.hex_text.golden_fixture import parse_fixture
        from .errors import DumpError
        from .render.fixture import decode_fixture

        beside = request.path.parent / path
        file = beside if beside.exists() else request.config.rootpath / path
        fixture = parse_fixture(file.read_text("utf-8"), str(file))
        if fixture is None:
            raise DumpError("this is not a fixture", file=str(file), hint="begin it with # fixture: NAME vN body")
        result = decode_fixture(fixture)
        return Golden(fixture.data, result.message, result, fixture)

    return read


SCOPES = ("function", "class", "module", "package", "session")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that sets how long the clusters of `kafka` and `kafka_cluster` live."""
    about = "how long the cluster of the fixtures kafka and kafka_cluster lives"
    parser.getgroup("kwire").addoption("--kwire-scope", choices=SCOPES, default=None, help=f"{about}: function")
    parser.addini("kwire_scope", f"{about} (function, class, module, package or session)", default="function")
    about = "the directory of recordings of failed tests, for kwire replay; 'off' for none; default: in pytest's cache"
    parser.getgroup("kwire").addoption("--kwire-recordings", metavar="DIR", default=None, help=about)
    parser.addini("kwire_recordings", about, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Raise an error for an invalid scope."""
    scope = _scope("", config)
    if scope not in SCOPES:
        raise pytest.UsageError(f"kwire_scope is {scope!r}; it is one of {', '.join(SCOPES)}")


def _scope(fixture_name: str, config: pytest.Config) -> Any:
    return config.getoption("--kwire-scope") or config.getini("kwire_scope")


@pytest.fixture(scope=_scope)
def kafka() -> Iterator[Kafka]:
    """A Kafka broker in memory: `kafka.bootstrap_servers` is for clients; see `kwire.testing.Kafka` for the rest.

    Each test has its own broker; with `--kwire-scope module` or the ini value `kwire_scope`, tests share one, whose
    rules and network are reset only before the first test.
    """
    from .testing import Kafka

    with Kafka() as made:
        yield made


@pytest.fixture(scope=_scope)
def kafka_cluster() -> Iterator[Kafka]:
    """Three brokers in memory, each in a different rack and with two log directories; otherwise like `kafka`."""
    from .testing import Kafka

    with Kafka(brokers=3, racks=("r1", "r2", "r3"), log_dirs=2) as made:
        yield made


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forget the clusters of earlier tests."""
    if clusters := sys.modules.get(_CLUSTERS):
        clusters.begin_test()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Name the seeds of chaos, and the recordings of clusters, in the report of a failed test."""
    report = yield
    clusters = sys.modules.get(_CLUSTERS)
    if not report.failed or clusters is None:
        return report
    if chosen := clusters.list_seeds():
        text = "".join(f"kwire.testing.Kafka(chaos={seed}) repeats the disturbances\n" for seed in chosen)
        report.sections.append(("kwire chaos", text))
    try:
        files = _write_recordings(item, clusters.list_recordings())
    except Exception as error:  # a recording must not hide the failure of the test
        report.sections.append(("kwire recording", f"it cannot be written: {error}\n"))
        return report
    if files:
        text = "".join(f"kwire replay {shlex.quote(str(file))}\n" for file in files)
        report.sections.append(("kwire recording", text))
        item.user_properties += [("kwire_recording", str(file)) for file in files]  # JUnit's XML has them
    return report


def _write_recordings(item: pytest.Item, recordings: list[Recording]) -> list[Path]:
    """Write the recordings of the clusters of a test, and return the files."""
    folder = item.config.getoption("--kwire-recordings") or item.config.getini("kwire_recordings")
    if folder == "off" or not recordings:
        return []
    if not folder and not hasattr(item.config, "cache"):  # -p no:cacheprovider
        return []
    directory = item.config.rootpath / folder if folder else item.config.cache.mkdir("kwire")
    directory.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.\[\]-]+", "-", item.nodeid)[-LONGEST_NAME:].lstrip("-.")
    files = []
    for number, recording in enumerate(recordings, 1):
        file = directory / f"{name}{f'-{number}' if number > 1 else ''}.kwire.zip"
        replace(recording, test=item.nodeid).write(file)
        files.append(file)
    return files


def assert_frames_equal(left: bytes | bytearray, right: bytes | bytearray, answers: str | None = None) -> None:
    """Fail if two dumps of frames differ, with the first field that differs.

    Args:
        left, right: complete frames, one or many, including sizes and headers.
        answers: the type of a response without a preceding request, such as `Metadata:12`.

    Raises:
        AssertionError: the dumps differ. If they are not frames, the text names the first byte that differs.
        ValueError: `answers` is not NAME:VERSION.
        UnknownMessage, UnsupportedVersion: there is no such response.

    >>> import kwire
    >>> frames = [kwire.encode_request(kwire.messages.MetadataRequest(), 4, correlation_id=id) for id in (1, 2)]
    >>> assert_frames_equal(frames[0], frames[0])
    >>> assert_frames_equal(*frames)
    Traceback (most recent call last):
        ...
    AssertionError: Kafka frames differ in header.correlation_id at offset 8
      Metadata v4 request, correlation 1, no client id, 19 bytes, frame 0 at 0
      left:  header.correlation_id = 1    00 00 00 01
      right: header.correlation_id = 2    00 00 00 02
    """
    __tracebackhide__ = True
    if bytes(left) == bytes(right):
        return
    lines = _difference(bytes(left), bytes(right), answers)
    raise AssertionError("\n".join(lines or [_first_byte(left, right)]))


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: object, right: object) -> list[str] | None:
    """Return lines about the fields in which two messages, decoded frames or bytes of frames differ."""
    values = {type(side).__module__ for side in (left, right) if type(side).__name__ != "Undecodable"}
    if op == "==" and values and values <= _VALUES:
        return _value_lines(left, right)
    if op != "==" or not isinstance(left, bytes | bytearray) or not isinstance(right, bytes | bytearray):
        return None
    if not (_looks_framed(left) and _looks_framed(right)):
        return None
    try:
        lines = _difference(bytes(left), bytes(right), None)
    except Exception:  # an explanation must not hide the failure of the test
        return None
    return ["Kafka frames are not equal", *lines] if lines else None


def _value_lines(left: object, right: object) -> list[str] | None:
    from .render.differences.value_differences import value_lines

    try:
        lines = value_lines(left, right)
    except Exception:  # an explanation must not hide the failure of the test
        return None
    names = " and ".join(dict.fromkeys((type(left).__name__, type(right).__name__)))
    return [f"{names} are not equal", *lines] if lines else None


def _looks_framed(data: bytes | bytearray) -> bool:
    """Whether the bytes consist of frames, by their sizes alone; fast, and without imports."""
    if not _HEADER <= len(data) <= LONGEST:
        return False
    at = 0
    while at + _HEADER <= len(data):
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        if size < 4:
            return False
        at += 4 + size
    return at == len(data)


def _difference(left: bytes, right: bytes, answers: str | None) -> list[str]:
    from .codecs.message_codec import codec
    from .render.differences.field_differences import field_difference_lines
    from .schema.catalog import catalog_for

    if answers is None:
        return field_difference_lines(left, right)
    name, _, version = answers.partition(":")
    if not version.isdecimal():
        raise ValueError(f"{answers!r}: write NAME:VERSION, such as Metadata:12")
    return field_difference_lines(left, right, codec(catalog_for().named(name, int(version))[-1], int(version)))


def _first_byte(left: bytes | bytearray, right: bytes | bytearray) -> str:
    pairs = enumerate(zip(left, right, strict=False))
    at = next((index for index, (one, other) in pairs if one != other), min(len(left), len(right)))
    one, other = (data[at : at + 8].hex(" ") or "the end" for data in (left, right))
    return f"bytes differ at offset {at}: {one} and {other} (not Kafka frames, so there are no fields to compare)"
