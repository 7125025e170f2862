"""Stand-ins of addresses: distinct, of the same length, and addresses themselves."""

from __future__ import annotations

from ipaddress import ip_address

from hypothesis import given
from hypothesis import strategies as st

from kwire.redact.address_rewriter import AddressRewriter


@given(st.lists(st.ip_addresses().map(str), unique=True, max_size=40))
def test_stand_ins_are_distinct_addresses_of_the_same_length(hosts: list[str]) -> None:
    addresses = AddressRewriter()
    stand_ins = {host: addresses.host(host) for host in hosts if not ip_address(host).is_unspecified}
    assert [addresses.host(host) for host in stand_ins] == list(stand_ins.values())
    assert len(set(stand_ins.values())) == len(stand_ins)
    for host, stand_in in stand_ins.items():
        assert stand_in is not None
        assert len(stand_in) == len(host)
        assert ip_address(stand_in).version == ip_address(host).version


@given(st.lists(st.tuples(st.integers(0, 65535), st.booleans()), max_size=300))
def test_ports_are_distinct(ports: list[tuple[int, bool]]) -> None:
    addresses = AddressRewriter()
    stand_ins = {port: addresses.port(port, is_broker=is_broker) for port, is_broker in ports}
    assert len(set(stand_ins.values())) == len(stand_ins)
    assert all(0 <= stand_in <= 65535 for stand_in in stand_ins.values())
    assert {port: addresses.port(port) for port in stand_ins} == stand_ins


def test_all_ports_have_stand_ins() -> None:
    addresses = AddressRewriter()
    assert len({addresses.port(port, is_broker=port % 2 == 0) for port in range(1 << 16)}) == 1 << 16


def test_few_addresses_of_one_shape_stay_when_all_are_used() -> None:
    addresses = AddressRewriter()
    hosts = [f"1.1.1.{number}" for number in range(10)] + [f"1.1.{number}.1" for number in range(10)]
    assert len({addresses.host(host) for host in hosts}) == len(set(hosts))


def test_names_and_other_forms_have_none() -> None:
    addresses = AddressRewriter()
    assert [addresses.host(text) for text in ("broker-1", "010.0.0.1", "::0001", "", "0.0.0.0")] == [None] * 5
