"""What is taken out, and why: one table of kinds with their reasons, one of the fields of each kind."""

from __future__ import annotations

from ..gist import is_topic_field
from ..secrets import SECRET_FIELDS

# kind -> why it is taken out
REASONS: dict[str, str] = {
    "records": "keys, values and headers of records are payload; batch headers stay, with their checksums made anew",
    "sasl": "SASL tokens carry passwords and proofs of them",
    "scram": "salts and salted passwords stand for the password",
    "token": "the HMAC of a delegation token is its password",
    "config": "values of configurations hold passwords and paths",
    "group": "subscriptions and assignments of group members carry what their clients like",
    "offset": "the text beside a committed offset is the client's own",
    "metrics": "telemetry of clients",
    "envelope": "a forwarded request may hold anything of the above",
    "text": "error messages repeat names and values",
    "client": "client ids are names of applications",
    "topic": "topic names tell what a business does",
    "groupid": "group, transaction and member ids are names of applications",
    "host": "names and addresses of machines",
    "rack": "racks are names of places",
    "path": "directories of brokers name machines, disks and people",
    "user": "principals are names of people",
    "unknown": "nobody knows what unknown tags, tails and undecodable frames hold",
}
# The same name gets the same stand-in.
NAMES = frozenset(("client", "topic", "groupid", "host", "rack", "path", "user"))
# Names that are made of others: racks of many levels (KIP-879), paths, and addresses that Java prints as /10.0.0.1.
SEPARATORS = {"rack": b"/", "path": b"/", "host": b"/"}

_BYTES = {
    "records": "records",
    "unaligned_records": "records",
    **SECRET_FIELDS,
    "metadata": "group",
    "assignment": "group",
    "member_metadata": "group",
    "member_assignment": "group",
    "metrics": "metrics",
    "request_data": "envelope",
    "response_data": "envelope",
    "request_principal": "user",
    "client_host_address": "host",
}
_TEXTS = {
    "value": "config",
    "metadata": "offset",
    "committed_metadata": "offset",
    "error_message": "text",
    "client_id": "client",
    "group_id": "groupid",
    "groups": "groupid",
    "group": "groupid",
    "transactional_id": "groupid",
    "member_id": "groupid",
    "group_instance_id": "groupid",
    "host": "host",
    "v0_host": "host",
    "host_name": "host",
    "client_host": "host",
    "principal": "user",
    "principal_name": "user",
    "owner_principal_name": "user",
    "token_requester_principal_name": "user",
    "token_id": "token",
    "user": "user",
    "resource_name": "topic",
    "leader": "groupid",
    "subscribed_topic_regex": "topic",
    "key": "groupid",
    "coordinator_keys": "groupid",
    "group_ids": "groupid",
    "groups_names": "groupid",
    "instance_id": "groupid",
    "transactional_ids": "groupid",
    "transactional_id_pattern": "groupid",
    "v3_and_below_transactional_id": "groupid",
    "host_filter": "host",
    "rack": "rack",
    "rack_id": "rack",
    "log_dir": "path",
    "path": "path",
    "principal_filter": "user",
    "entity_name": "user",
    "resource_name_filter": "topic",
    "repartition_sink_topics": "topic",
    "sink_topic": "topic",
    "source_topic_regex": "topic",
    "stores": "topic",
    "successors": "topic",
    "acknowledge_error_message": "text",
    "batch_index_error_message": "text",
    "reason": "text",
    "status_detail": "text",
}
# Structs whose `name` is one -> its kind.
_NAMED = {
    "ScramCredentialDeletion": "user",
    "ScramCredentialUpsertion": "user",
    "UserName": "user",
    "ClientMetricsResource": "topic",
    "TopologyDescriptionNode": "topic",
}


def kind_for(struct: str, attribute: str, is_text: bool) -> str | None:
    """Return what kind of thing a field of text or bytes holds; None if it may stay.

    >>> kind_for("PartitionProduceData", "records", False), kind_for("MetadataResponseTopic", "name", True)
    ('records', 'topic')
    """
    if not is_text:
        return _BYTES.get(attribute)
    if is_topic_field(struct, attribute):
        return "topic"
    return _NAMED.get(struct) if attribute == "name" else _TEXTS.get(attribute)
