"""Finds the clients that send requests which a release does not support."""

from __future__ import annotations

from typing import NamedTuple

from ..protocol.headers.api_versions_downgrade import API_VERSIONS
from ..schema.releases import release, releases
from .traffic import Traffic


class UnsupportedUse(NamedTuple):
    """Requests of a client that a release does not support.

    `breaks` is false if the version is newer than the release's: clients that negotiate versions use an older one.
    `why` describes what the release does. `asks` is whether the client negotiates: whether it sent an ApiVersions
    request, which may have been before the capture.
    """

    client: str
    software: str
    ip: str
    api: str
    version: int
    requests: int
    breaks: bool
    why: str
    asks: bool


def unsupported_uses(traffic: Traffic, release_name: str) -> list[UnsupportedUse]:
    """Return the clients and versions that a release does not support; those that break come first.

    Args:
        traffic: the counts, with any columns.
        release_name: the release, for example `4.0`.

    Raises:
        UnknownMessage: there is no such release.
    """
    uses = []
    asking = {(user.client, user.ip) for user in traffic.used if user.api_key == API_VERSIONS}
    new = release(release_name)
    for user, requests in traffic.used.items():
        if user.api_key not in releases().apis:
            continue
        supported = new.versions(user.api_key)
        if user.version in supported:
            continue
        breaks = not supported or user.version < supported.first
        why = f"{release_name} supports {supported}" if supported else f"{release_name} has no such api"
        api = releases().name_of(None, user.api_key)
        asks = (user.client, user.ip) in asking
        uses.append(UnsupportedUse(user.client, user.software, user.ip, api, user.version, requests, breaks, why, asks))
    return sorted(uses, key=lambda use: (not use.breaks, use.client, use.software, use.ip, use.api, use.version))
