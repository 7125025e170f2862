"""Checks values of configs by their definitions, as Kafka's ConfigDef and its validators do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ...errors.refused import InvalidConfig
from ...values import ConfigType
from .definitions import Definition, definitions_of

MOST_LENGTH = 20_000  # the maximum length of a value; only lists of throttled replicas get that long
LIMITS: Mapping[int, int] = {ConfigType.SHORT: 1 << 15, ConfigType.INT: 1 << 31, ConfigType.LONG: 1 << 63}
_RANGE = re.compile(r"\[(-?[\d.]+),\.\.\.(?:,(-?[\d.]+))?\](?: or (-?\d+))?")
_WORDS = re.compile(r"(\(case insensitive\) )?\[(\w[\w., :-]*)\]")
_REPLICAS = r"\*|(\d+:\d+(,\d+:\d+)*)?"
_DURATION = r"by_duration:P(?!$)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?"
# Validators of Kafka's whose text is no rule: the pattern that they check.
PATTERNS = {
    "follower.replication.throttled.replicas": _REPLICAS,
    "leader.replication.throttled.replicas": _REPLICAS,
    "share.auto.offset.reset": rf"latest|earliest|{_DURATION}",
}


def check_configs(
    given: Iterable[tuple[str, str | None]],
    definitions: Mapping[str, Definition] | None = None,
    kind: str = "topic",
) -> dict[str, str]:
    """Validate and return configs of a resource.

    Args:
        given: names and values.
        definitions: the configs that the resource has; by default those of topics in the newest release.
        kind: the kind of resource, for error messages.

    Raises:
        InvalidConfig: a config is unknown, or its value is invalid.

    >>> check_configs([("retention.ms", "1000")])
    {'retention.ms': '1000'}
    """
    known = definitions_of(kind, None) if definitions is None else definitions
    checked = {}
    for name, value in given:
        if name not in known:
            raise _unknown_config(kind, name)
        if value is None or (takes := describe_valid(known[name], value)):
            raise InvalidConfig("bad_config_value", config=name, value=value, takes=takes if value else "a value")
        checked[name] = value.strip()
    return checked


def _unknown_config(kind: str, name: str) -> InvalidConfig:
    if kind == "topic":
        return InvalidConfig("unknown_config", config=name)
    if kind == "group":
        return InvalidConfig("unknown_group_config", config=name)
    if kind == "broker":
        return InvalidConfig("unknown_broker_config", config=name)
    return InvalidConfig("unknown_client_metrics_config", config=name)


def describe_valid(definition: Definition, value: str) -> str:
    """Return what a config takes, if a value is not valid; empty if it is."""
    # Kafka: ConfigDef.parseType, then the validator
    text = value.strip()
    if len(text) > MOST_LENGTH:
        return f"at most {MOST_LENGTH} characters"
    if pattern := PATTERNS.get(definition.name):
        return "" if re.fullmatch(pattern, text, re.ASCII) else pattern
    if definition.type == ConfigType.BOOLEAN:
        return "" if text.lower() in ("true", "false") else "true or false"
    if definition.type in LIMITS or definition.type == ConfigType.DOUBLE:
        return _describe_valid_number(definition, text)
    words = _WORDS.fullmatch(definition.valid)
    if words is None:
        return ""
    allowed = words[2].split(", ")
    if words[1]:
        return "" if text.upper() in map(str.upper, allowed) else definition.valid
    if definition.type == ConfigType.LIST:
        items = [item.strip() for item in text.split(",")] if text else []
        is_valid = set(items) <= set(allowed) and len(set(items)) == len(items)
        return "" if is_valid else f"a list of {', '.join(allowed)}"
    return "" if text in allowed else f"one of {', '.join(allowed)}"


def _describe_valid_number(definition: Definition, text: str) -> str:
    low, high = number_range(definition)
    is_whole = definition.type in LIMITS
    form = r"[+-]?[0-9]{1,19}" if is_whole else r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
    about = f"a {'whole ' if is_whole else ''}number from {low:.15g} to {high:.15g}"
    if not re.fullmatch(form, text):
        return about
    number = int(text) if is_whole else float(text)
    exception = _RANGE.fullmatch(definition.valid)
    if exception is not None and exception[3] is not None and number == int(exception[3]):
        return ""
    return "" if low <= number <= high else about


def number_range(definition: Definition) -> tuple[float, float]:
    """Return the lowest and the highest valid number of a config."""
    limit = LIMITS.get(definition.type)
    low: float = -limit if limit else float("-inf")
    high: float = limit - 1 if limit else float("inf")
    limits = _RANGE.fullmatch(definition.valid)
    if limits is not None:
        low = float(limits[1]) if "." in limits[1] else int(limits[1])
        high = high if limits[2] is None else float(limits[2])
    return low, high
