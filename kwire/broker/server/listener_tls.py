"""TLS settings of a listener, from PEM files."""

from __future__ import annotations

import ssl

from ...client.pem_files import authority_errors, load_certificate


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
    load_certificate(context, certificate, key)
    if client_ca is not None:
        with authority_errors(client_ca):
            context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
