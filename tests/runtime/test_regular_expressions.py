"""Regular expressions of users take linear time with RE2; without it, what could take long is refused."""

from __future__ import annotations

import sys

import pytest

import kwire
from kwire.runtime.regular_expressions import MOST_SEARCHED, BadPattern, Pattern, compile_pattern
from tests.linear_time.effort import no_hang


@pytest.fixture(params=["re2", "re"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Try both: with google-re2, which the tests install, and without."""
    if request.param == "re":
        monkeypatch.setitem(sys.modules, "re2", None)
    else:
        pytest.importorskip("re2")
    compile_pattern.cache_clear()
    request.addfinalizer(compile_pattern.cache_clear)
    return str(request.param)


@pytest.mark.parametrize(
    ("pattern", "text", "search", "fullmatch"),
    [
        ("orders", "my-orders-7", True, False),
        ("^orders-[0-9]+$", "orders-7", True, True),
        ("(orders|payments).*", "payments-eu", True, True),
        ("(?i)ORDERS", "orders", True, True),
        ("a{2,5}", "aaa", True, True),
        ("(foo)?bar", "bar", True, True),
        ("", "", True, True),
        ("x", "", False, False),
        ("ü.x", "füxü-x", True, False),
        ("a.c", "a\ud800c", True, True),
    ],
)
def test_both_engines_match_alike(engine: str, pattern: str, text: str, search: bool, fullmatch: bool) -> None:
    compiled: Pattern = compile_pattern(pattern)
    assert (compiled.search(text), compiled.fullmatch(text)) == (search, fullmatch)
    assert compiled.is_linear == (engine == "re2")


@pytest.mark.parametrize("pattern", ["(", "[", "a**", "*", "\ud800(", "(?=a)b", r"(a)\1"])
def test_what_is_no_pattern_or_not_regular_is_refused(engine: str, pattern: str) -> None:
    with pytest.raises(BadPattern) as caught:
        compile_pattern(pattern)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|a)*b", "(.*a){20}", "(a*)*b", "a*a*a*a*b", "(?:x+x+)+y"])
def test_a_pattern_that_could_take_for_ever_ends_or_is_refused(engine: str, pattern: str) -> None:
    if engine == "re":
        with pytest.raises(BadPattern, match=r"could take too long; pip install 'kwire\[regex\]'"):
            compile_pattern(pattern)
        return
    with no_hang():
        compiled = compile_pattern(pattern)
        assert compiled.search("a" * 30_000 + "!") is False or pattern == "(.*a){20}"
        assert compiled.fullmatch("a" * 30_000 + "!") is False


def test_filters_end(engine: str) -> None:
    if engine == "re":
        with pytest.raises(kwire.FilterError, match=r"kwire\[regex\]") as caught:
            kwire.parse_filter('client_id matches "^(a+)+$"')
        assert caught.value.column == 18
        return
    request = kwire.encode_request(kwire.messages.ApiVersionsRequest(), 0, client_id="a" * 60 + "!")
    with no_hang():
        assert not kwire.parse_filter('client_id matches "^(a+)+$"')(kwire.decode_request(request))


def test_without_re2_long_texts_are_searched_from_their_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    compile_pattern.cache_clear()
    text = "a" * MOST_SEARCHED + "b"
    assert not compile_pattern("b").search(text)
    assert not compile_pattern("a*b").fullmatch(text)
    assert compile_pattern("a").search(text)
    compile_pattern.cache_clear()
