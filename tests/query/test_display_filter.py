"""Display filters choose what they say, know types and names, and show where a mistake is."""

from __future__ import annotations

import pickle
import time

import pytest

import kwire
from kwire.query.display_filter import parse_filter, parse_path
from kwire.query.filter_error import FilterError
from kwire.schema.catalog import Catalog
from kwire.schema.message_spec import MessageSpec
from tests.conftest import ROOT

RESULTS = list(kwire.decode_frames(kwire.read_dump(str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"))))


def chosen(text: str) -> list[kwire.Request | kwire.Response | kwire.Token | kwire.Undecodable]:
    wanted = parse_filter(text)
    return [result for result in RESULTS if wanted(result)]


def codes(message: object) -> set[int]:
    """Find error codes by hand, another way than the filter does."""
    if isinstance(message, tuple):
        return set().union(*map(codes, message)) if message else set()
    names = getattr(message, "__struct_fields__", ())
    own = {int(getattr(message, name)) for name in names if name == "error_code"}
    return own.union(*(codes(getattr(message, name)) for name in names))


def test_specs_are_read_as_far_as_a_filter_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first field tells that the path exists, and that it is a number: 200 specs take as long as 5 MB of frames."""
    names, spec = list[str](), Catalog.spec

    def counted(self: Catalog, name: str) -> MessageSpec:
        names.append(name)
        return spec(self, name)

    monkeypatch.setattr(Catalog, "spec", counted)
    wanted = parse_filter("error_code != 0 and error_code < 100")
    assert len(names) < 10
    assert wanted.messages is not None
    assert len(wanted.messages) > 80
    assert len(names) > 80
    with pytest.raises(FilterError, match=r"topics is struct or text, not number"):
        parse_filter("topics == 3")


def test_error_codes_at_any_depth() -> None:
    expected = [one for one in RESULTS if codes(one.message) - {0}]  # type: ignore[union-attr]
    assert chosen("error_code") == chosen("errorCode != 0") == expected
    assert len(expected) == 6


def test_a_name_of_a_value_is_its_number() -> None:
    assert chosen("error_code == MEMBER_ID_REQUIRED") == chosen("error_code == 79") != []
    assert chosen("error_code == member_id_required") == chosen("error_code == 79")
    assert chosen("error_code in (MEMBER_ID_REQUIRED, 56) and error_code == 0x4f") == chosen("error_code == 79")


@pytest.mark.parametrize("name", ["Metadata", "metadata", "METADATA", "3", '"MetadataRequest"'])
def test_an_api_in_any_form(name: str) -> None:
    expected = [one for one in RESULTS if isinstance(one, kwire.Request | kwire.Response) and one.api_key == 3]
    assert expected
    assert chosen(f"api == {name}") == expected


def test_precedence() -> None:
    either = len(chosen("api == fetch or api == metadata and type == request"))
    assert either == len(chosen("api == fetch")) + len(chosen("api == metadata and type == request"))
    assert len(chosen("(api == fetch or api == metadata) && type == request")) < either
    assert len(chosen("! api == fetch")) + len(chosen("api == fetch")) == len(RESULTS)


def test_elements_and_texts() -> None:
    everywhere, first = chosen('topics[].name == "orders"'), chosen('topics[0].name == "orders"')
    assert 0 < len(first) <= len(everywhere)
    assert chosen('topics.name matches "^ord.rs$"') == everywhere == chosen('topics[].name contains "rders"')
    assert chosen("topics") and chosen(".topics") == chosen("topics")


def test_units_and_latency() -> None:
    slow = chosen("latency > 250ms")
    assert slow == chosen("latency > 0.25") == chosen("latency >= 0.00416667min") != []
    for one in slow:
        assert isinstance(one, kwire.Response)
        assert one.asked_at is not None
        assert one.frame.source.time is not None
        assert one.frame.source.time - one.asked_at > 0.25
    assert chosen("size > 1kB") == [one for one in RESULTS if len(one.frame.data) > 1000]


def test_time() -> None:
    times = [one.frame.source.time for one in RESULTS]
    assert 0 < len(chosen('time < "2026-11-21T06:27:00Z"')) < len(RESULTS)
    assert len(chosen(f"time <= {times[0]}")) == 1


def test_a_time_without_a_zone_is_utc_wherever_the_filter_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = chosen('time < "2026-11-21T06:27:00Z"')
    assert wanted == chosen('time < "2026-11-21T08:27:00+02:00"')
    try:
        for zone in ("America/New_York", "UTC-9", "UTC"):
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            assert chosen('time < "2026-11-21T06:27:00"') == wanted
    finally:
        monkeypatch.undo()
        time.tzset()


def test_not_in_holds_where_in_does_not() -> None:
    assert chosen("api not in (fetch, produce)") == chosen("not api in (fetch, produce)") != RESULTS
    assert chosen("correlation_id not in (1, 2)") == chosen("not (correlation_id == 1 or correlation_id == 2)")
    assert parse_filter("error_code not in (0)").messages is None


def test_the_frame_of_the_request() -> None:
    (asked,) = chosen("frame == 22")
    (answer,) = chosen("request_frame == 22")
    assert (type(asked), type(answer)) == (kwire.Request, kwire.Response)
    assert answer.correlation_id == asked.correlation_id  # type: ignore[union-attr]
    assert chosen("requestFrame == 22 and client_id == 'lab-rack-range-2'") == [answer]


def test_null_is_a_value() -> None:
    assert {one.codec.name for one in chosen("group_instance_id == null")} >= {"HeartbeatRequest"}  # type: ignore[union-attr]
    assert not set(map(id, chosen("group_instance_id == null"))) & set(map(id, chosen("group_instance_id != null")))


def test_only_messages_that_have_the_fields() -> None:
    assert parse_filter("rack_id == null and type == request").messages == parse_filter("rack_id").messages
    assert parse_filter("not rack_id").messages is None
    assert parse_filter("rack_id or latency > 1").messages is None
    only = parse_filter("api == fetch and rack_id")
    assert only.messages == frozenset(("FetchRequest",))
    assert only.may_hold(1, True)
    assert not only.may_hold(1, False)
    assert not only.may_hold(3, True)


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("", 0, "expected the name of a field"),
        ("api ==", 6, "expected a value"),
        ("api == metdata", 7, "did you mean Metadata"),
        ("topics[].nam == 'x'", 0, "did you mean name"),
        ("topics[].name == 3", 17, "is text, not number"),
        ("latency > 'slow'", 10, "is number, not text"),
        ("is_internal == 1", 15, "is boolean, not number"),
        ("error_code == NOT_LEADR", 14, "is not a value of error_code"),
        ("latency > 3parsec", 11, "parsec is not a unit"),
        ("(api == fetch", 13, "expected a closing parenthesis"),
        ("api == fetch latency", 13, "expected and, or, or the end"),
        ("error_code not 3", 15, "expected in"),
        ("error_code in 3", 14, "expected a list"),
        ("error_code in (3", 16, "expected a comma or a closing"),
        ('client_id == "x', 13, "no closing quote"),
        ('client_id ~ "("', 12, "not a regular expression"),
        ("size > null", 7, "needs a number or a text"),
        ('time > "yesterday"', 7, "no time"),
        ("api # 3", 4, "has no meaning"),
        ("(" * 200, 100, "more than 100 levels"),
    ],
)
def test_a_mistake_is_shown_where_it_is(text: str, column: int, problem: str) -> None:
    with pytest.raises(FilterError, match=problem) as caught:
        parse_filter(text)
    assert caught.value.column == column
    assert caught.value.__notes__ == [f"  {text}\n  {' ' * column}^"]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_filter_that_is_too_long() -> None:
    with pytest.raises(FilterError, match="at most 10000 characters"):
        parse_filter("a" * 10_001)


def test_a_path_has_several_values() -> None:
    (result,) = chosen("api == LeaderAndIsr and type == response and error_code == 56") or chosen(
        "api == DescribeLogDirs and type == response"
    )
    found = list(parse_path("error_code").values(result))
    assert len(found) > 1
    with pytest.raises(FilterError):
        parse_path("topics name")
