"""GET requests to a server that may be hostile: bounded answers, one deadline for all of them, no redirects."""

from __future__ import annotations

import base64
import http.client
import io
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from ...errors import CallError, without_password
from ..address import Address
from ..call_errors import call_errors
from ..connection import connect
from ..deadline import Deadline


class HttpServer:
    """A server that is asked over HTTP, with a connection for each request.

    Args:
        url: its URL, perhaps with user and password, which are sent as Basic authentication.
        timeout: the seconds that all requests may take together.
        user: USER:PASSWORD, if the URL has none.
        most_bytes: the maximum size of a body.

    Attributes:
        name: the URL without user and password.

    Raises:
        CallError: it is not the URL of an HTTP server.
    """

    def __init__(self, url: str, *, timeout: float, user: str = "", most_bytes: int) -> None:
        self._host, self._port, self._path, self._tls, own_user = _split_url(url)
        self.name: str = f"{'https' if self._tls else 'http'}://{self._place}{self._path}"
        self._left, self._most_bytes = timeout, most_bytes
        user = own_user or user
        self._login = base64.b64encode(user.encode()).decode() if user else ""

    @property
    def _place(self) -> str:
        return str(Address(self._host, self._port))

    def get(self, path: str) -> tuple[int, bytes]:
        """Send a GET request; return status and body of the response. A body that is too large is cut one byte later.

        Raises:
            CallError: there is no answer in time, or it is not HTTP.
        """
        with (
            self._waiting() as deadline,
            connect(Address(self._host, self._port), deadline) as plain,
            self._secured(plain, deadline) as sock,
            call_errors(self._place),
        ):
            head = [f"GET {self._path}{path} HTTP/1.1", f"Host: {self._place}", "Accept: application/json"]
            head += ["Connection: close", *([f"Authorization: Basic {self._login}"] if self._login else [])]
            sock.settimeout(deadline.left())
            sock.sendall("\r\n".join([*head, "", ""]).encode("ascii"))
            response = http.client.HTTPResponse(_TimedSocket(sock, deadline), method="GET")  # type: ignore[arg-type]
            response.begin()
            body = response.read(self._most_bytes + 1)
        return response.status, body

    @contextmanager
    def _secured(self, connection: socket.socket, deadline: Deadline) -> Iterator[socket.socket]:
        """Yield the connection, with TLS if the URL asks for it; the system's authorities are trusted."""
        if not self._tls:
            yield connection
            return
        connection.settimeout(deadline.left())
        with call_errors(self._place, is_tls=True):
            secured = ssl.create_default_context().wrap_socket(connection, server_hostname=self._host)
        with secured:
            yield secured

    @contextmanager
    def _waiting(self) -> Iterator[Deadline]:
        """Yield what is left of the deadline."""
        begun = time.monotonic()
        try:
            if self._left <= 0:
                raise CallError(self._place, "no answer in time")
            yield Deadline(self._left)
        except (http.client.HTTPException, ValueError):  # of a response that is not HTTP
            raise CallError(self._place, "it does not answer in HTTP") from None
        finally:
            self._left -= time.monotonic() - begun


class _TimedSocket:
    """What `HTTPResponse` reads from: each read ends at the deadline, however slowly bytes arrive."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock, self._deadline = sock, deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._sock, self._deadline))


class _TimedReader(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock, self._deadline = sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(self._deadline.left())
        return self._sock.recv_into(buffer)


def _split_url(url: str) -> tuple[str, int, str, bool, str]:
    """Return host, port, path, whether TLS is used, and USER:PASSWORD. Raises CallError."""
    shown = without_password(url.split("@")[-1])
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise CallError(shown, "this is not a URL", "write http://HOST:PORT") from None
    path = parts.path.rstrip("/")
    is_plain = path.isascii() and path.isprintable() and " " not in path
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or not is_plain:
        raise CallError(shown, "this is not the URL of a schema registry", "write http://HOST:PORT")
    if not parts.hostname.isascii() or not parts.hostname.isprintable():
        raise CallError(shown, "this is not a host name", "write http://HOST:PORT")
    is_tls = parts.scheme == "https"
    user = "" if parts.username is None else f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return parts.hostname, port or (443 if is_tls else 80), path, is_tls, user
