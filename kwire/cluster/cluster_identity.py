"""Which cluster data is from: a model holds one cluster, and refuses a second cluster id."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import KwireError


class MixedClusters(KwireError):
    """Raised if data of several clusters is read as one.

    Attributes:
        cluster: the name under which they were read; empty if they have none.
        files: each cluster id with a file that contains it.
    """

    hint = "give the files of one cluster at a time; `kwire pipeline` takes several, with --cluster REGEX for paths"

    def __init__(self, cluster: str = "", files: dict[str, str] | None = None) -> None:
        super().__init__(cluster, files)
        self.cluster: str = cluster
        self.files: dict[str, str] = files or {}

    def __str__(self) -> str:
        ids = ", ".join(f"{cluster_id} ({file})" for cluster_id, file in self.files.items())
        name = f"cluster {self.cluster}: " if self.cluster else ""
        return f"{name}its files name {len(self.files)} cluster ids: {ids}; {self.hint}"


class ClusterIdentity:
    """The cluster ids that were read, each with the first file that contains it.

    >>> identity = ClusterIdentity()
    >>> identity.add("R-blQ", "a.pcap")
    >>> identity.add(None, "b.pcap")
    >>> identity.check()
    >>> identity.files
    {'R-blQ': 'a.pcap'}
    """

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def add(self, cluster_id: str | None, file: str) -> None:
        """Note the cluster id of a message; messages of old versions have none."""
        if cluster_id:
            self.files.setdefault(cluster_id, file)

    def check(self) -> None:
        """Raise MixedClusters if more than one cluster id was read."""
        if len(self.files) > 1:
            raise MixedClusters("", dict(self.files))


def files_of_ids(rows: Iterable[tuple[str, Iterable[str]]]) -> dict[str, str]:
    """Return each cluster id with the first file that contains it.

    Args:
        rows: files with the cluster ids in them.

    >>> files_of_ids([("b.pcap", ["x"]), ("a.pcap", ["x", "y"])])
    {'x': 'a.pcap', 'y': 'a.pcap'}
    """
    identity = ClusterIdentity()
    for file, ids in sorted((file, tuple(ids)) for file, ids in rows):
        for cluster_id in ids:
            identity.add(cluster_id, file)
    return identity.files
