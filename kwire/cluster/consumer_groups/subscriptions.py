"""The subscription of a member, as the input of an assignor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...errors import DecodeError
from ...protocol.nested import decode_cooperative_user_data, decode_sticky_user_data, decode_subscription
from ..assignors import UNREADABLE, Member, member_of

_USER_DATA: Mapping[str, Callable[[bytes], Any]] = {
    "sticky": decode_sticky_user_data,
    "cooperative-sticky": decode_cooperative_user_data,
}


def assignor_member(assignor: str, member_id: str, subscription: bytes, instance_id: str | None = None) -> Member:
    """Create a member for an assignor from its subscription.

    Args:
        assignor: the assignor whose user data is in the subscription.
        member_id: the member id in the JoinGroup response.
        subscription: the bytes of the member's metadata in this response.
        instance_id: the instance id of a static member.

    Raises:
        DecodeError: the bytes are not a valid subscription.
    """
    message = decode_subscription(subscription).message
    user_data: Any = None
    reader = _USER_DATA.get(assignor)
    if reader is not None and message.user_data:
        try:
            user_data = reader(message.user_data)
        except DecodeError:
            user_data = UNREADABLE
    return member_of(member_id, message, user_data=user_data, group_instance_id=instance_id)
