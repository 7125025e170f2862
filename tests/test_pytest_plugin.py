"""The pytest plugin, in sessions of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kwire
from kwire.pytest_plugin import assert_frames_equal, pytest_assertrepr_compare
from kwire.testing.replay.recording import Recording
from tests.conftest import ROOT
from tests.linear_time.effort import at_most
from tests.protocol.test_frame_decoder import request, response

FIXTURE = ROOT / "fixtures/kafka/MetadataRequest/v4.hex"


def session(folder: Path, test: str, *arguments: str, code: int = 0) -> str:
    """Run a test file in a child process, and return what pytest wrote."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-p", "kwire.pytest_plugin", "-p", "no:cacheprovider", *arguments]
    # The plugin is named, not found: where kwire is installed it would be loaded twice.
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "CI": "",
        "COLUMNS": "80",
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_a_failed_comparison_shows_the_field(tmp_path: Path) -> None:
    test = f"""
def test_frames():
    assert {request(1, client_id="orders")!r} == {request(1, client_id="orderz")!r}
"""
    text = session(tmp_path, test, code=1)
    assert "Kafka frames differ in header.client_id at offset 12\n" in text
    assert 'left:  header.client_id = "orders"    00 06 6f 72 64 65 72 73' in text
    assert 'right: header.client_id = "orderz"    00 06 6f 72 64 65 72 7a' in text


def test_a_failed_comparison_of_messages_requests_and_responses_names_the_fields(tmp_path: Path) -> None:
    test = """
import kwire
M = kwire.messages
def asked(*names, id=1):
    request = M.MetadataRequest(topics=[M.MetadataRequest.MetadataRequestTopic(name=name) for name in names])
    return request, kwire.decode_request(kwire.encode_request(request, 4, correlation_id=id))
def test_messages():
    assert asked("a", "same")[0] == asked("b", "same")[0]
def test_requests():
    assert asked("a")[1] == asked("a", "b", id=2)[1]
def test_responses():
    one, other = (kwire.decode_response(kwire.encode_response(M.MetadataResponse(controller_id=id), 4),
            kwire.codec("MetadataResponse", 4)) for id in (1, 2))
    assert one == other
"""
    text = session(tmp_path, test, code=1)
    assert "MetadataRequest are not equal" in text
    assert "topics[0].name: 'a' != 'b'" in text
    assert "topics[1]: nothing != MetadataRequestTopic(...)" in text
    assert "header.correlation_id: 1 != 2" in text
    assert "controller_id: 1 != 2" in text


def test_differences_of_values_are_short_and_hide_secrets(pytestconfig: pytest.Config) -> None:
    m = kwire.messages
    one, other = (m.MetadataResponse(cluster_id="x" * 500 + end, controller_id=3) for end in ("a", "b"))
    [_, line] = pytest_assertrepr_compare(pytestconfig, "==", one, other) or []
    assert line == "cluster_id: ...'xxxxxxxxa' from 492 on != ...'xxxxxxxxb' from 492 on"
    token, wrong = (m.SaslAuthenticateRequest(auth_bytes=secret) for secret in (b"SECRET1", b"SECRET2"))
    assert "SECRET" not in str(pytest_assertrepr_compare(pytestconfig, "==", token, wrong))
    frames = [kwire.decode_request(kwire.encode_request(one, 2)) for one in (token, wrong)]
    assert "SECRET" not in str(pytest_assertrepr_compare(pytestconfig, "==", *frames))
    config = m.CreateTopicsRequest.CreatableTopicConfig
    configs = [config(name="ssl.keystore.password", value=value) for value in ("SECRET1", "SECRET2")]
    assert "value: [hidden] (7 bytes) != " in str(pytest_assertrepr_compare(pytestconfig, "==", *configs))
    assert pytest_assertrepr_compare(pytestconfig, "!=", token, token) is None
    assert pytest_assertrepr_compare(pytestconfig, "==", token, one) is not None
    many = [m.ConsumerGroupDescribeRequest(group_ids=[f"{kind}{n}" for n in range(99)]) for kind in "ab"]
    lines = pytest_assertrepr_compare(pytestconfig, "==", *many) or []
    assert (len(lines), lines[-1]) == (12, "and more")


def test_other_bytes_are_left_to_pytest(tmp_path: Path) -> None:
    text = session(tmp_path, "def test_bytes():\n    assert b'some bytes' == b'same bytes'\n", code=1)
    assert "Kafka" not in text
    assert "At index 1 diff" in text


def test_nothing_heavy_is_loaded_until_it_is_used(tmp_path: Path) -> None:
    test = """
import sys
def test_light():
    assert not {"construct", "msgspec", "hexdump"} & set(sys.modules)
def test_other_bytes_load_nothing_either():
    try:
        assert b"some" == b"same"
    except AssertionError:
        pass
    assert not {"construct", "msgspec", "hexdump"} & set(sys.modules)
"""
    assert "2 passed" in session(tmp_path, test)


def test_golden_fixtures_are_read_from_beside_the_test(tmp_path: Path) -> None:
    (tmp_path / "golden.hex").write_bytes(FIXTURE.read_bytes())
    (tmp_path / "other.hex").write_text("00 01\n")
    test = """
import pytest
import kwire
def test_it(kwire_fixture):
    golden = kwire_fixture("golden.hex")
    assert kwire.codec("MetadataRequest", 4).encode(golden.message) == golden.data
    assert golden.result.api_name == "Metadata"
    assert golden.fixture.writer.startswith("Apache Kafka")
def test_no_fixture(kwire_fixture):
    with pytest.raises(kwire.KwireError, match="this is not a fixture"):
        kwire_fixture("other.hex")
    with pytest.raises(FileNotFoundError):
        kwire_fixture("none.hex")
"""
    assert "2 passed" in session(tmp_path, test)


def test_the_plugin_has_an_entry_point() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert '[project.entry-points.pytest11]\nkwire = "kwire.pytest_plugin"\n' in text


def test_a_response_without_its_request_can_be_named() -> None:
    changed = response(1)[:-5] + b"\x04" + response(1)[-4:]
    with pytest.raises(AssertionError, match=r"Kafka frames differ in controller_id at offset 12\n"):
        assert_frames_equal(response(1), changed, answers="Metadata:1")
    with pytest.raises(ValueError, match="write NAME:VERSION"):
        assert_frames_equal(response(1), changed, answers="Metadata")


def test_what_is_no_frame_is_told_by_its_first_byte() -> None:
    assert_frames_equal(b"abc", bytearray(b"abc"))
    with pytest.raises(AssertionError, match=r"^bytes differ at offset 2: 63 and the end"):
        assert_frames_equal(b"abc", b"ab")


def test_only_equality_of_frames_is_the_plugins_business(pytestconfig: pytest.Config) -> None:
    one, other = request(1), request(2)
    assert pytest_assertrepr_compare(pytestconfig, "==", one, bytearray(other)) is not None
    for op, left, right in (
        ("!=", one, one),
        ("==", one, "text"),
        ("==", one, b""),
        ("==", one, one[:-1]),
        ("==", one, other + bytes(9)),
        ("==", b"\0\0\0\4\xff\xff\xff\xff", b"\0\0\0\4\xff\xff\xff\xfe"),
    ):
        assert pytest_assertrepr_compare(pytestconfig, op, left, right) is None


@pytest.mark.parametrize("data", [bytes(1 << 23), b"\0\0\0\4abcd" * (1 << 18), b"\0\0\0\4" + bytes(1 << 20)])
def test_a_wall_of_bytes_takes_no_minutes(data: bytes, pytestconfig: pytest.Config) -> None:
    with at_most(6_000_000):
        assert pytest_assertrepr_compare(pytestconfig, "==", data, data[:-1] + b"x") is None


def test_brokers_are_fixtures_whose_scope_is_an_option(tmp_path: Path) -> None:
    test = """
seen = []
def test_one(kafka, kafka_cluster):
    seen.append(kafka)
    assert len(kafka_cluster.bootstrap_servers.split(",")) == 3
    assert len(kafka_cluster.log_dirs(1)) == 2
def test_two(kafka, request):
    is_shared = request.config.getoption("--kwire-scope") == "session"
    assert (kafka is seen[0]) == is_shared
"""
    assert "2 passed" in session(tmp_path, test)
    assert "2 passed" in session(tmp_path, test, "--kwire-scope", "session")
    assert session(tmp_path, test, "-o", "kwire_scope=never", code=4) == ""  # the reason is on stderr


def test_a_failed_test_names_the_seed_of_chaos(tmp_path: Path) -> None:
    test = """
from kwire.testing import Kafka
def test_it():
    with Kafka(chaos=4711):
        pass
    assert False
def test_other():
    assert False
"""
    text = session(tmp_path, test, code=1)
    assert text.count("kwire.testing.Kafka(chaos=4711) repeats the disturbances") == 1


def test_a_failed_test_leaves_a_recording_of_its_clusters(tmp_path: Path) -> None:
    test = """
import pytest
from kwire.testing import Kafka
def test_fixture(kafka):
    kafka.produce("t", b"x") if kafka.create_topic("t") else None
    assert 0
def test_in_block():
    with Kafka(brokers=2, chaos=5) as one, Kafka() as other:
        raise ValueError
def test_well(kafka):
    pass
"""
    text = session(tmp_path, test, "--kwire-recordings", "found", "--junitxml", "junit.xml", code=1)
    names = ["test_fixture", "test_in_block", "test_in_block-2"]
    files = [tmp_path / "found" / f"test_it.py-{name}.kwire.zip" for name in names]
    assert sorted((tmp_path / "found").iterdir()) == sorted(files)
    assert text.count("- kwire recording -") == 2
    assert all(f"kwire replay {file}\n" in text for file in files)
    assert str(files[0]) in (tmp_path / "junit.xml").read_text()
    recordings = [Recording.read(file) for file in files]
    assert [recording.test for recording in recordings] == [f"test_it.py::{name}" for name in (*names[:2], names[1])]
    assert {recording.options.brokers for recording in recordings[1:]} == {1, 2}
    assert {recording.options.chaos for recording in recordings[1:]} == {5, None}
    without = session(tmp_path, test, "--kwire-recordings", "off", code=1)
    assert "kwire recording" not in without
    (tmp_path / "blocked").touch()
    blocked = session(tmp_path, test, "--kwire-recordings", "blocked", code=1)
    assert "it cannot be written: [Errno 17] File exists" in blocked
