"""The settings of the served brokers, from options and server.properties."""

from __future__ import annotations

import argparse
from typing import Any

from ...broker import Settings
from ...broker.settings_configs import settings_from
from ...errors.refused import InvalidConfig
from ..options.releases import named_release
from ..options.usage_error import UsageError
from .security_settings import security_settings
from .server_properties import read_properties, remark_without_effect, set_configs, shared_configs


def settings_for(options: argparse.Namespace) -> Settings:
    """Return the settings from the options, which win over configs; raises UsageError, DumpError or OSError for
    invalid ones."""
    files = options.config or []
    brokers = [read_properties(file) for file in files]
    configs = shared_configs(brokers, files) | set_configs(options.set)
    release = named_release(options.release).name if options.release else None
    remark_without_effect(
        {name: value for broker in brokers for name, value in broker.configs.items()} | configs, release
    )
    try:
        settings = settings_from(
            configs,
            realistic=options.realistic,
            chaos=options.chaos,
            read_only=options.read_only,
            replica_assignor=options.assignor or ("multi-level" if options.profile == "KIP-879" else "rack-aware"),
            profile=options.profile,
            release=release,
            **_given_fields(options),
            **security_settings(options, configs),
        )
    except InvalidConfig as error:
        raise UsageError(str(error)) from None
    if not 1 <= settings.num_partitions <= settings.most_partitions or settings.default_replication_factor < 1:
        limit = settings.most_partitions
        raise UsageError(f"a topic has at least one partition with one replica, and up to {limit} partitions")
    if settings.retention_bytes < -1:
        raise UsageError("--retention-bytes takes a number of bytes, or -1 for unlimited")
    return settings


def _given_fields(options: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of settings that options set."""
    given: dict[str, Any] = {
        "num_partitions": options.partitions,
        "default_replication_factor": options.replication_factor,
        "retention_bytes": options.retention_bytes,
        "auto_create_topics": False if options.no_auto_create else None,
        "rack_aware_fetch": options.rack_aware_fetch or None,
    }
    return {name: value for name, value in given.items() if value is not None}
