"""Names of secrets, and what stands for one."""

from __future__ import annotations

import pytest

from kwire.redact.sensitive_configs import is_sensitive, names_sensitive
from kwire.schema.catalog import catalog_for
from kwire.schema.sensitive_fields import SECRET_FIELDS, Hidden


def test_every_name_is_a_field_of_some_message() -> None:
    catalog = catalog_for()
    structs = [struct for name in catalog.names() for struct in catalog.spec(name).structs()]
    assert SECRET_FIELDS.keys() <= {field.attribute for struct in structs for field in struct.fields}


@pytest.mark.parametrize(
    "name",
    [
        "ssl.key.password",
        "listener.name.internal.ssl.keystore.password",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "listener.name.x.plain.sasl.jaas.config",
        "delegation.token.master.key",
        "delegation.token.secret.key",
        "password.encoder.old.secret",
        "sasl.oauthbearer.client.credentials.client.secret",
        "s3.access.key",
        "s3.private_key",
        "ssl.truststore.certificates",
        "sasl.passwd",
        "key.passphrase",
        "sasl.oauthbearer.assertion.private.key.file",
    ],
)
def test_configurations_that_hold_passwords_are_known(name: str) -> None:
    assert is_sensitive(name)
    assert names_sensitive(b"\x00\x10" + name.encode() + b"\x05wonder")
    assert names_sensitive(name.upper().encode())


@pytest.mark.parametrize("name", ["retention.ms", "cleanup.policy", "ssl.keystore.location", "sasl.mechanism"])
def test_others_are_not(name: str) -> None:
    assert not is_sensitive(name)


def test_hidden_values_have_their_size_and_can_be_compared() -> None:
    one, same, other = Hidden(b"wonder"), Hidden(b"wonder"), Hidden(b"wander")
    assert one == same
    assert one != other
    assert one != b"wonder"
    assert (str(one), len(one), hash(one)) == ("[hidden] (6 bytes)", 6, hash(same))
    assert str(Hidden("ü")) == "[hidden] (2 bytes)"
    assert not hasattr(one, "__dict__")
