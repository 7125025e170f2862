"""Apis are found by the number that requests begin with, and no others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire.protocol.headers.apis import MOST_KNOWN, Api, Apis
from kwire.schema.catalog import catalog_for

CATALOG = catalog_for()


@given(
    st.one_of(
        st.integers(-(2**31), 2**31 - 1),
        st.tuples(st.integers(0, 95), st.integers(-1, 20)).map(lambda two: (two[0] << 16) + two[1]),
    )
)
def test_an_api_is_found_if_the_catalog_has_it(number: int) -> None:
    key, version = number >> 16, (number & 0xFFFF ^ 0x8000) - 0x8000
    found, spec = Apis(CATALOG).get(number), CATALOG.find(key, "request", version)
    assert (found and (found.key, found.version, found.name)) == (spec and (key, version, spec.api_name))
    assert found is None or found.number == number


def test_it_is_looked_up_once_and_chosen_once() -> None:
    chosen: list[Api] = []
    apis = Apis(CATALOG, chosen.append)
    assert apis.get(3 << 16) is apis.get(3 << 16)
    assert len(chosen) == 1
    for number in range(3 * MOST_KNOWN):
        apis.get(number)
    assert len(chosen) < 40


def test_headers_and_codecs() -> None:
    apis = Apis(CATALOG)
    old, new, first = apis.get(3 << 16 | 1), apis.get(3 << 16 | 12), apis.get(7 << 16)
    assert old is not None
    assert new is not None
    assert first is not None
    assert [(api.request_header, api.response_header) for api in (old, new, first)] == [(1, 0), (2, 1), (0, 0)]
    assert [api.is_sasl for api in (old, new, first)] == [False, False, False]
    assert [codec and codec.name for codec in (old.codec(True), old.codec(False), old.codec(None))] == [
        "MetadataRequest",
        "MetadataResponse",
        None,
    ]
    unknown = apis.unknown(3, 99)
    assert (unknown.name, unknown.codec(True), unknown.request_header) == ("Metadata", None, None)


def test_a_draft_has_its_own() -> None:
    found = Apis(catalog_for("KIP-879")).get(68 << 16)
    assert found is not None
    assert found.name == "CreateReplicaAssignment"
