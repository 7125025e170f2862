"""Puts the adapter in the place of `kafka.protocol`."""

from __future__ import annotations

import sys

from . import broker_versions, connection, messages

# Modules of kafka.protocol with messages: each name is found in all of them.
MESSAGES = (
    "admin",
    "admin.transactions",
    "api_data",
    "api_message",
    "consumer",
    "consumer.group",
    "consumer.metadata",
    "metadata",
    "producer",
    "producer.transaction",
)
OTHERS = {
    "api_key": broker_versions,
    "broker_version_data": broker_versions,
    "parser": connection,
    "sasl": messages,
}
PACKAGE = "kafka.protocol"
INIT = f"""\"\"\"kafka.protocol over kwire.\"\"\"

from {__name__} import install

install()
"""


def install() -> None:
    """Make the modules importable as those of kafka-python; its `kafka/protocol/__init__.py`, `INIT`, calls this."""
    messages.__dict__.update({name: getattr(connection, name) for name in ("SaslBytesRequest", "SaslBytesResponse")})
    for name in MESSAGES:
        sys.modules[f"{PACKAGE}.{name}"] = messages
    for name, module in OTHERS.items():
        sys.modules[f"{PACKAGE}.{name}"] = module
