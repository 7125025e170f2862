"""Every field that holds bytes or a secret has a rule; every rule has a reason."""

from __future__ import annotations

from kwire.redact.redaction_rules import _BYTES, _TEXTS, NAMES, REASONS, kind_for
from kwire.schema.catalog import catalog_for


def test_no_field_of_bytes_stays_by_oversight() -> None:
    catalog, seen = catalog_for(), 0
    for name in catalog.names():
        spec = catalog.spec(name)
        for struct in spec.structs() if spec.type in ("request", "response") else ():
            for field in struct.fields:
                if field.element in ("bytes", "records"):
                    assert kind_for(struct.name, field.attribute, False) in REASONS, (name, field.name)
                    seen += 1
    assert seen == 23


# Texts that stay: words of Kafka's own, names of settings, features, listeners and software; `KEPT` says so.
HARMLESS = """
    assignor_name client_software_name client_software_version configuration_keys documentation entity_type
    feature group_state group_type listener match mechanism mechanisms name owner_principal_type principal_type
    process_id protocol_data protocol_name protocol_type requested_metrics server_assignor state_filters states_filter
    subtopology_id token_requester_principal_type transaction_state types_filter unknown_state_filters
""".split()


def test_no_text_stays_by_oversight() -> None:
    catalog = catalog_for()
    stay = {
        field.attribute
        for name in catalog.names()
        for struct in (catalog.spec(name).structs() if catalog.spec(name).type in ("request", "response") else ())
        for field in struct.fields
        if field.element == "string" and kind_for(struct.name, field.attribute, True) is None
    }
    assert sorted(stay) == HARMLESS


def test_every_kind_has_a_reason() -> None:
    assert {*_BYTES.values(), *_TEXTS.values(), "topic", "unknown"} == set(REASONS)
    assert set(REASONS) > NAMES


def test_what_may_stay_and_what_may_not() -> None:
    assert kind_for("CreatableTopicConfig", "name", True) is None
    assert kind_for("CreatableTopicConfig", "value", True) == "config"
    assert kind_for("DescribeConfigsSynonym", "value", True) == "config"
    assert kind_for("UserName", "name", True) == "user"
    assert kind_for("JoinGroupRequestProtocol", "metadata", False) == "group"
    assert kind_for("OffsetFetchResponsePartition", "metadata", True) == "offset"
