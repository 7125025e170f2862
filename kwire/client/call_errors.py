"""What sockets, TLS and look-ups of host names raise, as `CallError`: the only place that knows these exceptions."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EADDRINUSE

from ..errors import CallError

WANTS_CERTIFICATE = "does it want a certificate that it trusts? see --cert and --key, and its log"


@contextmanager
def call_errors(where: object, doing: str = "", hint: str = "", *, is_tls: bool = False) -> Iterator[None]:
    """Raise a CallError for what the block raises about a connection.

    Args:
        where: the address, for the error.
        doing: what fails, such as `cannot connect`.
        hint: what to try.
        is_tls: whether the block is a TLS handshake, so that every failure is one of TLS.

    Raises:
        CallError: the block raised OSError (with it TimeoutError, gaierror, SSLError), or the UnicodeError of IDNA.

    >>> import socket
    >>> with call_errors("a..b:9092", "cannot connect"):
    ...     socket.getaddrinfo("a..b", 9092)
    Traceback (most recent call last):
        ...
    kwire.errors.CallError: a..b:9092: cannot connect: this is not a host name
    """
    try:
        yield
    except ssl.SSLError as error:  # with TLS 1.3 a broker refuses a client's certificate as late as its first response
        raise _tls_failure(error, str(where)) from None
    except OSError as error:
        if is_tls and not isinstance(error, TimeoutError):
            raise _tls_failure(error, str(where)) from None
        raise CallError(str(where), _problem(doing, error), hint) from None
    except UnicodeError as error:
        raise CallError(str(where), _problem(doing, error), "a label has 1 to 63 characters") from None


def _problem(doing: str, error: OSError | UnicodeError) -> str:
    return f"{doing}: {why(error)}" if doing else why(error)


def why(error: OSError | UnicodeError) -> str:
    """Return the reason of an error of a socket or of a look-up as text."""
    if isinstance(error, ssl.SSLError):
        return tls_reason(error)
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, UnicodeError):  # of the codec idna, from getaddrinfo
        return "this is not a host name"
    if error.errno == EADDRINUSE:  # asyncio's text repeats the address
        return os.strerror(EADDRINUSE)
    return error.strerror or str(error)


def tls_reason(error: OSError) -> str:
    """Return the reason that OpenSSL or the system gave for a failure, as text."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if not isinstance(error, ssl.SSLError):  # asyncio's has no text where the other side closes
        return error.strerror or str(error) or "it closed the connection"
    return (error.reason or str(error)).replace("_", " ").lower()


def _tls_failure(error: OSError, where: str) -> CallError:
    """Return the CallError for a failed TLS connection."""
    reason = tls_reason(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return CallError(where, f"its certificate is not trusted: {reason}", "name the authority's file with --ca")
    if "alert" in reason:  # the broker refuses: mostly it wants a certificate that it trusts
        return CallError(where, f"it refuses TLS: {reason}", WANTS_CERTIFICATE)
    hint = "is this a listener without TLS? see --security-protocol"
    return CallError(where, f"it does not answer in TLS: {reason}", hint)
