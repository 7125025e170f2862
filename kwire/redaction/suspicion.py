"""Do bytes that did not decode look as if they held a secret? Rather once too often than not."""

from __future__ import annotations

import re

from ..catalog import catalog_for
from ..codecs import codec_in
from ..frames import Frame, FrameDecoder, Response
from ..frames.sasl import seems_token

# Requests that carry secrets: AlterConfigs, SaslAuthenticate, the four of delegation tokens, IncrementalAlterConfigs,
# AlterUserScramCredentials, Envelope.
_KEYS = frozenset((33, 36, 38, 39, 40, 41, 44, 51, 58))
_ANSWERS = ("SaslAuthenticate", "CreateDelegationToken", "DescribeDelegationToken", "Envelope")
_REQUEST = re.compile(rb"\x00[\x21\x24\x26-\x29\x2c\x33\x3a]\x00[\x00-\x03][\x00-\xff]{4}(?:\x00[\x00-\xff]|\xff\xff)")
_PARTS = re.compile(
    rb"[ny],(?:a=[^,]*)?,[a-z]=|r=[!-~]{8,},s=|c=[A-Za-z0-9+/=]{4,},r=|v=[A-Za-z0-9+/]{20,}|auth=Bearer|[Pp]assword"
    rb"|\x00[^\x00-\x1f]+\x00[^\x00-\x1f]+\Z|jaas|[Ss]ecret"
)


def may_hold_secret(data: bytes) -> bool:
    """Whether to hide bytes that are no message: a request that carries secrets, or part of a SASL token, is in them.

    >>> may_hold_secret(bytes.fromhex("00000009 0024 0001")), may_hold_secret(bytes.fromhex("00000009 0003 0001"))
    (True, False)
    """
    if int.from_bytes(data[4:6], "big") in _KEYS or seems_token(data[4:]) or seems_token(data):
        return True
    return _REQUEST.search(data) is not None or _PARTS.search(data) is not None


def may_answer_with_secret(data: bytes) -> bool:
    """Whether a frame decodes to its last byte as an answer that carries a secret; of one whose request is not known.

    >>> may_answer_with_secret(bytes.fromhex("00000012 00000007 0000 ffff 00000006 763d68656c6c"))
    True
    """
    for api in _ANSWERS:
        for version in catalog_for().spec(f"{api}Response").versions:
            decoder = FrameDecoder(salvage=False, answers=codec_in(catalog_for(), f"{api}Response", version))
            if isinstance(decoder.decode(Frame(data)), Response):
                return True
    return False
