"""The grammar of SCRAM's messages (RFC 5802, section 7)."""

from __future__ import annotations

import re

_NAME = r"(?:[^,=\x00]|=2C|=3D)+"
_NONCE = r"r=(?P<nonce>[!-+\--~]+)"
_BASE64 = "[A-Za-z0-9/+=]+"
CLIENT_FIRST = re.compile(rf"(?P<header>n,(?:a=(?P<authzid>{_NAME}))?,)(?P<bare>n=(?P<name>{_NAME}),{_NONCE}.*)")
CLIENT_FINAL = re.compile(rf"(?P<unproved>c=(?P<binding>{_BASE64}),{_NONCE}.*),p=(?P<proof>{_BASE64})")
SERVER_FIRST = re.compile(rf"{_NONCE},s=(?P<salt>{_BASE64}),i=(?P<iterations>[0-9]{{1,9}})(?:,.*)?")
GS2_HEADER = "n,,"  # neither channel binding nor an authorization id
