"""Parses the defaults of fields in specs, by the rules of Kafka's generator."""

from __future__ import annotations

import base64
from typing import Any

from ..errors import excerpt
from ..runtime.lazy_patterns import lazy_pattern
from .json_with_comments import JsonValue
from .version_ranges import Versions

RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
_ZERO: dict[str, Any] = {
    **dict.fromkeys(RANGES, 0),
    "bool": False,
    "float64": 0.0,
    "string": "",
    "bytes": b"",
    "records": None,
    "uuid": bytes(16),
}
LONGEST_TEXT = 32767
_INTEGER = lazy_pattern(r"-?[0-9]{1,19}|0x[0-9A-Fa-f]{1,16}")
_FLOAT = lazy_pattern(r"-?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?|Infinity)|NaN")
_UUID = lazy_pattern(r"[A-Za-z0-9_-]{22}(?:==)?")
NULLABLE = frozenset({"string", "bytes", "records"})


def parse_default(type_name: str, given: JsonValue | None, versions: Versions, nullable: Versions) -> Any:
    """Return the default as a Python value; `...` means a new struct.

    As in Kafka's generator, an unquoted null means that no default is given; "null" in quotes is null. Raises SpecError
    at the position of `given` if it does not match the type.
    """
    is_array = type_name.startswith("[]")
    zero = () if is_array else _ZERO.get(type_name, ...)
    if given is None or given.value in ("", None) or (type_name == "records" and given.value == "null"):
        return zero
    if given.value == "null" and (is_array or zero is ... or type_name in NULLABLE):
        return _check_null(given, versions, nullable)
    if is_array or zero is ... or type_name in ("bytes", "records"):
        raise given.error(f"a default of {type_name} can only be null or left out", 'write "null", or drop the default')
    return _SCALARS[type_name](given, type_name)


def _check_null(given: JsonValue, versions: Versions, nullable: Versions) -> None:
    if not nullable.covers(versions):
        raise given.error(
            f"null cannot be the default: the field is there in {versions} and nullable in {nullable}",
            f'write "nullableVersions": "{versions}"',
        )


def _parse_integer(given: JsonValue, type_name: str) -> int:
    low, high = RANGES[type_name]
    number = given.value
    if not isinstance(number, int):
        text = given.text()
        if not _INTEGER.fullmatch(text):
            raise given.error(f"{excerpt(text)} is not an integer", 'write it as "-1", -1 or "0x7f"')
        number = int(text, 16 if text.startswith("0x") else 10)
    if isinstance(number, bool) or not low <= number <= high:
        raise given.error(f"{excerpt(given.value)} is not an {type_name}", f"write a number from {low} to {high}")
    return number


def _parse_boolean(given: JsonValue, type_name: str) -> bool:
    return given.boolean()


def _parse_float(given: JsonValue, type_name: str) -> float:
    number = given.value
    if isinstance(number, bool) or not isinstance(number, int | float):
        number = given.text()
        if not _FLOAT.fullmatch(number):
            raise given.error(f"{excerpt(number)} is not a number", 'write it as "0.5" or 0.5')
    try:
        return float(number)
    except OverflowError:
        raise given.error(f"{excerpt(number)} is not a float64", 'write it as "0.5" or 0.5') from None


def _parse_string(given: JsonValue, type_name: str) -> str:
    text = given.text()
    size = len(text.encode(errors="replace"))
    if size > LONGEST_TEXT or any("\ud800" <= character <= "\udfff" for character in text):
        raise given.error(f"a text of {size} bytes that cannot be written", "write at most 32767 bytes of UTF-8")
    return text


def _parse_uuid(given: JsonValue, type_name: str) -> bytes:
    text = given.text()
    if not _UUID.fullmatch(text):
        raise given.error(f"{excerpt(text)} is not a uuid", "write 22 characters of base64url")
    return base64.urlsafe_b64decode(text[:22] + "==")


_SCALARS: dict[str, Any] = {
    **dict.fromkeys(RANGES, _parse_integer),
    "bool": _parse_boolean,
    "float64": _parse_float,
    "string": _parse_string,
    "uuid": _parse_uuid,
}
