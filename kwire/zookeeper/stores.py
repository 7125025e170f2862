"""Znodes that store ids, features, overrides, ACLs and tokens. As in `znode_values`."""

from __future__ import annotations

import msgspec

from .base import Node


class ClusterId(Node, frozen=True, kw_only=True):
    """`/cluster/id` (KIP-78). The version is text here."""

    ORDERS = {"1": "version id"}
    id: str
    version: str = "1"


class FeatureState(Node, frozen=True, kw_only=True):
    """`/feature`: finalized features; status 0 is disabled, 1 enabled (KIP-584)."""

    ORDERS = {1: "features version status", 2: "features version status"}
    features: dict[str, dict[str, int]]
    status: int
    version: int = 2


class ProducerIdBlock(Node, frozen=True, kw_only=True):
    """`/latest_producer_id_block`: the producer ids given out last, and to whom (KIP-98). Bounds are text."""

    ORDERS = {1: "version broker block_start block_end"}
    broker: int
    block_start: str
    block_end: str
    version: int = 1


class ConfigEntity(Node, frozen=True, kw_only=True):
    """`/config/topics/TOPIC`, `/config/users/USER/clients/CLIENT` and so on: the overrides of one of them."""

    ORDERS = {1: "version config"}
    config: dict[str, str]
    version: int = 1


class ConfigChange(Node, frozen=True, kw_only=True):
    """`/config/changes/config_change_N`: whose overrides changed (KIP-55)."""

    ORDERS = {1: "version entity_type entity_name", 2: "version entity_path"}
    version: int = 2
    entity_path: str | None = None
    entity_type: str | None = None
    entity_name: str | None = None


class Acl(Node, frozen=True, kw_only=True):
    """One rule of an `AclList`."""

    ORDERS = {None: "principal permissionType host operation"}
    principal: str
    permission_type: str = msgspec.field(name="permissionType")
    host: str
    operation: str


class AclList(Node, frozen=True, kw_only=True):
    """`/kafka-acl/TYPE/NAME`, `/kafka-acl-extended/prefixed/TYPE/NAME`: the rules of a resource (KIP-11, KIP-290)."""

    ORDERS = {1: "acls version"}
    acls: tuple[Acl, ...]
    version: int = 1


class DelegationToken(Node, frozen=True, kw_only=True):
    """`/delegation_token/tokens/ID` (KIP-48; KIP-373 for the requester). Times are numbers here."""

    ORDERS = {3: "issueTimestamp renewers tokenRequester tokenId owner expiryTimestamp maxTimestamp version"}
    token_id: str = msgspec.field(name="tokenId")
    owner: str
    token_requester: str | None = msgspec.field(default=None, name="tokenRequester")
    renewers: tuple[str, ...] = ()
    issue_timestamp: int = msgspec.field(name="issueTimestamp")
    expiry_timestamp: int = msgspec.field(name="expiryTimestamp")
    max_timestamp: int = msgspec.field(name="maxTimestamp")
    version: int = 3


class ConsumerRegistration(Node, frozen=True, kw_only=True):
    """`/consumers/GROUP/ids/ID`: a member of a group of the first, ZooKeeper-based consumer."""

    ORDERS = {1: "version subscription pattern timestamp"}
    subscription: dict[str, int]
    pattern: str
    timestamp: str
    version: int = 1
