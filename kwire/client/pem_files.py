"""Loads certificates and keys from PEM files, for clients and listeners; the errors name the file and what is due."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ..errors import DumpError
from .call_errors import tls_reason


def load_certificate(context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    """Load a certificate with its private key.

    Args:
        context: the TLS settings that get it.
        certificate: a PEM file with the certificate and the intermediate certificates of its chain.
        key: a PEM file with its private key; None if the key is in the same file.

    Raises:
        DumpError: a file is not PEM, or the key belongs to another certificate, or the key has a password.
        OSError: a file cannot be read.
    """
    hint = "give PEM files: a certificate with its key, which has no password"
    with _pem_errors("no certificate with its key", certificate, hint):
        if key is not None:
            Path(key).open("rb").close()
        context.load_cert_chain(certificate, key, password=lambda: b"")  # otherwise OpenSSL would ask at the terminal


def authority_errors(file: str) -> AbstractContextManager[None]:
    """Let the block load a PEM file of authorities; for the errors see `load_certificate`."""
    return _pem_errors("no certificate", file, "give a PEM file with one certificate or several")


@contextmanager
def _pem_errors(problem: str, file: str, hint: str) -> Iterator[None]:
    """Raise DumpError if the block finds that a file is not PEM, OSError if the file cannot be read."""
    Path(file).open("rb").close()  # OpenSSL's error does not name the file
    try:
        yield
    except ssl.SSLError as error:
        raise DumpError(f"{problem}: {tls_reason(error)}", file=file, hint=hint) from None
