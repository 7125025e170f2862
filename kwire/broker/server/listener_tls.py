"""TLS settings of a listener, from PEM files."""

from __future__ import annotations

import ssl
from pathlib import Path

from ...errors import DumpError


def tls_context(certificate: str, key: str | None = None, client_ca: str | None = None) -> ssl.SSLContext:
    """Return the TLS settings of a listener.

    Args:
        certificate: a PEM file with the certificate of the brokers and the intermediate certificates of its chain.
        key: a PEM file with its private key, unless the key is in the same file.
        client_ca: a PEM file of the authorities that sign client certificates; clients must then present one.

    Raises:
        DumpError: a file is not PEM, or the key belongs to another certificate, or the key has a password.
        OSError: a file cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for file in (certificate, key, client_ca):
        if file is not None:
            Path(file).open("rb").close()  # OpenSSL's error does not name the file
    try:
        context.load_cert_chain(certificate, key, password=lambda: b"")
        if client_ca is not None:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except ssl.SSLError as error:
        hint = "give PEM files: a certificate with its key, which has no password"
        raise DumpError(f"no certificate with its key: {error.reason or error}", file=certificate, hint=hint) from None
    return context
