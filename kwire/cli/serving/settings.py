"""The settings of the served brokers, from options and server.properties."""

from __future__ import annotations

import argparse

from ...broker import Settings
from ..options.releases import named_release
from ..options.usage_error import UsageError
from .security_settings import security_settings
from .server_properties import migration_policy_in, numbers_in, selects_by_rack


def settings_for(options: argparse.Namespace) -> Settings:
    """Return the settings from the options; raises UsageError, DumpError or OSError for invalid ones."""
    most = Settings().most_partitions
    if not 1 <= options.partitions <= most or options.replication_factor < 1:
        raise UsageError(f"a topic has at least one partition with one replica, and up to {most} partitions")
    if options.retention_bytes < -1:
        raise UsageError("--retention-bytes takes a number of bytes, or -1 for unlimited")
    return Settings(
        auto_create_topics=not options.no_auto_create,
        read_only=options.read_only,
        rack_aware_fetch=options.rack_aware_fetch or any(map(selects_by_rack, options.config or ())),
        num_partitions=options.partitions,
        default_replication_factor=options.replication_factor,
        retention_bytes=options.retention_bytes,
        migration_policy=migration_policy_in(options.config or ()),
        replica_assignor=options.assignor or ("multi-level" if options.profile == "KIP-879" else "rack-aware"),
        profile=options.profile,
        release=options.release and named_release(options.release).name,
        **numbers_in(options.config or ()),
        **security_settings(options),
    )
