"""Golden fixtures: what their first lines say, and who may have written the bytes."""

from __future__ import annotations

import dataclasses

import pytest

from kwire.capture.hex_text.golden_fixture import check_writer, parse_fixture
from kwire.errors import DumpError

BROKER = """\
# fixture: Broker v0 body
# profile: KIP-36
# writer: by hand from KIP-36
# about: an id, a host, a port
#
00000000  00 00 03 eb  id = 1003   int32
                       a heading
00000004  00 01 61     host = "a"  string
00000007  00 00 23 84  port = 9092 int32
"""


def test_a_fixture_gives_its_message_its_bytes_and_its_head() -> None:
    fixture = parse_fixture(BROKER)
    assert fixture is not None
    assert (fixture.message, fixture.version, fixture.bare, fixture.profile) == ("Broker", 0, True, "KIP-36")
    assert (fixture.writer, fixture.data.hex()) == ("by hand from KIP-36", "000003eb00016100002384")
    assert fixture.head == tuple(BROKER.splitlines()[:5])


def test_a_fixture_of_a_frame_or_of_released_bytes_is_marked() -> None:
    text = "# fixture: RequestHeader v2 frame\n# writer: Apache Kafka 4.4.0\n00000000  00 03\n"
    fixture = parse_fixture(text)
    assert fixture is not None
    assert (fixture.bare, fixture.profile, fixture.writer) == (False, None, "Apache Kafka 4.4.0")
    assert (fixture.version, fixture.data) == (2, b"\x00\x03")


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n", "\n \n# about: a message without fields\n"])
def test_a_message_may_have_no_bytes_at_all(end: str) -> None:
    fixture = parse_fixture("# fixture: UpdateMetadataRequest v32767 body\n# writer: Apache Kafka 3.9.2" + end)
    assert fixture is not None
    assert (fixture.data, fixture.version) == (b"", 32767)


def test_lines_of_windows_are_read() -> None:
    assert parse_fixture(BROKER.replace("\n", "\r\n")) == parse_fixture(BROKER)


@pytest.mark.parametrize(
    "text", ["", "\n", "00000000  00 03\n", "# about: x\n# fixture: Broker v0 body\n", "#fixture: Broker v0 body\n"]
)
def test_other_text_is_no_fixture(text: str) -> None:
    assert parse_fixture(text) is None


@pytest.mark.parametrize(
    "first",
    [
        "# fixture:",
        "# fixture: Broker",
        "# fixture: Broker v0",
        "# fixture: Broker 0 body",
        "# fixture: Broker v-1 body",
        "# fixture: Broker v\u0663 body",
        "# fixture: Broker v123456 body",
        "# fixture: Broker v0 response",
        "# fixture: Broker v0 body of mine",
        "# fixture: Bro ker v0 body",
        "# fixture: ../Broker v0 body",
    ],
)
def test_a_first_line_that_is_not_right_is_refused(first: str) -> None:
    with pytest.raises(DumpError) as caught:
        parse_fixture(BROKER.replace("# fixture: Broker v0 body", first), "f.hex")
    assert str(caught.value) == "f.hex:1: the first line is invalid; # fixture: NAME vN body (or: frame)"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("", "f.hex: no line names the writer of the bytes; # writer: Apache Kafka 3.9.2"),
        ("# writer:\n", "f.hex: no line names the writer of the bytes; # writer: Apache Kafka 3.9.2"),
        ("# writer:  \n", "f.hex: no line names the writer of the bytes; # writer: Apache Kafka 3.9.2"),
        *(
            (
                line,
                "f.hex: kwire wrote these bytes, so they verify nothing; "
                "take bytes that another implementation wrote, or write them by hand",
            )
            for line in (
                "# writer: kwire 0.1\n",
                "# writer: by hand with KWire\n",
                "# writer: kwire\n# writer: Apache Kafka 3.9.2\n",
                "# writer: Apache Kafka 3.9.2\n# writer: kwire\n",
            )
        ),
    ],
)
def test_bytes_without_a_writer_or_of_kwire_are_refused(line: str, error: str) -> None:
    with pytest.raises(DumpError) as caught:
        parse_fixture(BROKER.replace("# writer: by hand from KIP-36\n", line), "f.hex")
    assert str(caught.value) == error


def test_a_writer_is_checked_by_itself() -> None:
    check_writer("Apache Kafka 3.9.2")
    for writer in ("", " \t", "kwire"):
        with pytest.raises(DumpError):
            check_writer(writer)


def test_bytes_that_cannot_be_read_are_refused_with_their_line() -> None:
    with pytest.raises(DumpError) as caught:
        parse_fixture(BROKER.replace("00000004", "00000005"), "f.hex")
    assert (caught.value.file, caught.value.line) == ("f.hex", 8)


def test_of_two_writers_the_first_counts() -> None:
    fixture = parse_fixture(BROKER.replace("#\n", "# writer: another\n"))
    assert fixture is not None
    assert fixture.writer == "by hand from KIP-36"


def test_a_fixture_is_a_value() -> None:
    fixture = parse_fixture(BROKER)
    assert fixture is not None
    with pytest.raises(dataclasses.FrozenInstanceError):
        fixture.version = 1  # type: ignore[misc]
