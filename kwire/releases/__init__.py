"""Which Kafka release speaks which versions of which api, and by what name. The table is `schemas/releases.json`.

Knows api keys, names and versions; knows no messages.
"""

from .lookup import Release, first_release, release, removed_in
from .table import Api, Releases, releases

__all__ = ["Api", "Release", "Releases", "first_release", "release", "releases", "removed_in"]
