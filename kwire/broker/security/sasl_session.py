"""The authentication state of one connection: before, during and after SASL (KIP-152), and when it ends (KIP-368).

It handles tokens, but no messages (see `apis.security.sasl`) and no sockets.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from ...protocol.sasl.mechanisms import AuthenticationFailed
from ...protocol.sasl.scram_credentials import Users
from ...protocol.sasl.server_exchange import SaslServerExchange
from .principals import ANONYMOUS


class SaslSession:
    """The authentication state of one connection.

    Args:
        users: the users who can authenticate.
        mechanisms: the SASL mechanisms that the listener enables; if empty, clients need not authenticate.
        rng: the random generator for salts and nonces.
        most_seconds: the time in seconds after which clients must authenticate again (KIP-368); 0 disables the limit.
        who: the principal of a client without SASL: anonymous, or the subject of the client's certificate.

    Attributes:
        has_failed: whether the connection must be closed once the response is sent.
        takes_tokens: whether the next frame is a raw token without a header, as after SaslHandshake v0.

    >>> session = SaslSession(Users({"alice": "wonder"}), ["PLAIN"], Random(1))
    >>> session.handshake("PLAIN", 1), session.authenticate(b"\\0alice\\0wonder", now=0.0), session.principal
    (True, b'', 'User:alice')
    """

    __slots__ = (
        "_ends",
        "_exchange",
        "_most_seconds",
        "_rng",
        "has_failed",
        "is_authenticated",
        "mechanisms",
        "principal",
        "takes_tokens",
        "users",
    )

    def __init__(
        self,
        users: Users,
        mechanisms: Sequence[str],
        rng: Random,
        most_seconds: float = 0.0,
        who: str = ANONYMOUS,
    ) -> None:
        self.users: Users = users
        self.mechanisms: Sequence[str] = mechanisms
        self._rng, self._most_seconds = rng, most_seconds
        self.principal: str = who
        self.is_authenticated: bool = not mechanisms
        self.has_failed: bool = False
        self.takes_tokens: bool = False
        self._exchange: SaslServerExchange | None = None
        self._ends: float | None = None

    def problem(self, api: str, now: float) -> str:
        """Return the reason to refuse a request and close its connection; the empty string if the request may be
        handled.
        """
        if api in ("SaslHandshake", "SaslAuthenticate"):
            return ""
        if self._exchange is not None:
            return f"{api} during SASL authentication"
        if not self.is_authenticated and api != "ApiVersions":
            return f"{api} before SASL authentication"
        if self._ends is not None and now >= self._ends:
            return f"{api} after the SASL session has ended"
        return ""

    @property
    def may_begin(self) -> bool:
        """Whether SaslHandshake is valid now: before authentication, and again later if sessions expire."""
        return bool(self.mechanisms) and (not self.is_authenticated or self._ends is not None)

    @property
    def is_under_way(self) -> bool:
        """Whether the next token of an authentication is expected."""
        return self._exchange is not None

    def handshake(self, mechanism: str, version: int) -> bool:
        """Begin authentication; returns False if the listener does not enable the mechanism."""
        self.has_failed = mechanism not in self.mechanisms
        if not self.has_failed:
            self._exchange = SaslServerExchange(mechanism, self.users, self._rng)
            self.takes_tokens = version == 0
        return not self.has_failed

    def authenticate(self, token: bytes, now: float) -> bytes:
        """Return the server's token in response to a client's token; raises AuthenticationFailed if authentication
        fails.
        """
        assert self._exchange is not None
        try:
            answer = self._exchange.answer(token)
            self._complete(self._exchange.name, now)
        except AuthenticationFailed:
            self.has_failed = True
            raise
        return answer

    def _complete(self, name: str | None, now: float) -> None:
        if name is None:
            return
        who = f"User:{name}"
        if self._ends is not None and who != self.principal:
            names = f"from {self.principal.replace(':', '.', 1)}: {who.replace(':', '.', 1)}"
            raise AuthenticationFailed(f"Cannot change principals during re-authentication {names}")
        self.principal, self.is_authenticated = who, True
        self._exchange, self.takes_tokens = None, False
        self._ends = now + self._most_seconds if self._most_seconds else None

    def lifetime_ms(self, now: float) -> int:
        """Return the remaining lifetime of the session in milliseconds; 0 if it is unlimited."""
        return 0 if self._ends is None else int((self._ends - now) * 1000)
