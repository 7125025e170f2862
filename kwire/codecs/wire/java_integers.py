"""Integers that overflow like Java's int and long."""

from __future__ import annotations


def wrap_int32(value: int) -> int:
    """Wrap a number to 32 bits like Java's int.

    >>> wrap_int32(2**31), wrap_int32(-(2**31) - 1)
    (-2147483648, 2147483647)
    """
    return (value + 2**31) % 2**32 - 2**31


def wrap_int64(value: int) -> int:
    """Wrap a number to 64 bits, like Java's long.

    >>> wrap_int64(2**63)
    -9223372036854775808
    """
    return (value + 2**63) % 2**64 - 2**63
