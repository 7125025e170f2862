"""Validates values against JSON Schemas with the library jsonschema (the extra `values`), within bounds.

Schemas are as hostile as values. References lead only to the schemas that the registry names and to meta-schemas:
nothing is fetched. Patterns are matched by kwire's engine, in linear time. Each keyword takes as many steps as it looks
at members, and a value has steps in proportion to its bytes: references that double, or lists whose members are
compared, end when these are used up. `unevaluatedProperties` and `unevaluatedItems` are not checked: what the library
does for them cannot be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin

from ..runtime.regular_expressions import BadPattern, compile_pattern
from .schema_document import SchemaDocument, load_schema
from .schema_error import BAD_SCHEMA, LONGEST, NO_LIBRARY, SchemaError, library_reason, missing_library

FREE_STEPS, STEPS_PER_BYTE = 10_000, 10  # of a value (usual ones take 1 for each byte), and of a schema
MOST_SEARCHED = 128  # characters of a text that a pattern is searched in, without RE2
ROOT = "urn:kwire:schema"
# The draft of schemas that name none (Confluent's `JsonSchema`: `SpecificationVersion.DRAFT_7`).
DRAFT_7 = "http://json-schema.org/draft-07/schema#"

Keyword = Callable[[Any, Any, Any, Any], Any]  # of the library: validator, value of the keyword, instance, schema


class JsonSchema:
    """A JSON Schema by which values are validated.

    Args:
        document: the schema, with those that it refers to.

    Raises:
        SchemaError: it is not a JSON Schema, or jsonschema is not installed.
    """

    def __init__(self, document: SchemaDocument) -> None:
        try:
            from jsonschema import validators
            from referencing import Registry
            from referencing.jsonschema import specification_with
        except ImportError:
            raise missing_library("JSON Schema", "jsonschema") from None
        schema = load_schema(document.text)
        members = schema if isinstance(schema, dict) else {}
        draft, base = members.get("$schema", DRAFT_7), members.get("$id", "")
        library_class = validators.validator_for({"$schema": draft}, default=None) if isinstance(draft, str) else None
        if library_class is None:
            raise SchemaError(BAD_SCHEMA, f"its draft is not known: {draft}"[:LONGEST])
        bounded_class, specification = _bound_class(library_class), specification_with(draft)
        meta_schema = bounded_class(library_class.META_SCHEMA, registry=Registry())
        parts = [(ROOT, schema), *((part.name, load_schema(part.text)) for part in document.references)]
        for (_, part), text in zip(parts, (document.text, *(part.text for part in document.references)), strict=True):
            problem = _find_problem(meta_schema, part, len(text))
            if problem:
                raise SchemaError(BAD_SCHEMA, f"it is not a JSON Schema: {problem}")
        try:
            # A reference is by the name that the registry has, or relative to the schema's own id.
            names = [(name, part) for name, part in parts if name]
            names += [(urljoin(base, name), part) for name, part in parts[1:] if isinstance(base, str) and base]
            resources = [(name, specification.create_resource(part)) for name, part in names]
            registry = Registry().with_resources(resources).crawl()
            self._validator: Any = bounded_class({"$ref": ROOT}, registry=registry)
        except Exception as error:  # a library on hostile input: ValueError, TypeError and its own
            raise SchemaError(BAD_SCHEMA, f"it is not a JSON Schema: {library_reason(error)}") from None

    def find_problem(self, value: Any, size: int) -> str:
        """Return why a value does not fit the schema, in one line; an empty text if it does.

        Args:
            value: the value, as Python has it in JSON.
            size: its bytes.

        Raises:
            SchemaError: the schema cannot be applied, or takes too many steps.
        """
        return _find_problem(self._validator, value, size)


class _Steps:
    """The steps that are left for a value, and what its parts weigh."""

    def __init__(self, value: Any, size: int) -> None:
        self._size, self._left = size, FREE_STEPS + STEPS_PER_BYTE * size
        self._weights: dict[int, int] = {}  # id of a dict or list -> how many values are in it
        self._weigh(value)

    def _weigh(self, value: Any) -> int:
        if not isinstance(value, dict | list):
            return 1 + (len(value) // 64 if isinstance(value, str) else 0)
        members = value.values() if isinstance(value, dict) else value
        weight = 1 + sum(map(self._weigh, members))
        self._weights[id(value)] = weight
        return weight

    def weight(self, value: Any) -> int:
        """Return the time that comparing or writing a value takes at most."""
        return self._weights.get(id(value), 1) if isinstance(value, dict | list) else self._weigh(value)

    def take(self, count: int) -> None:
        """Take steps. Raises SchemaError if there are none left."""
        self._left -= count
        if self._left < 0:
            raise SchemaError(BAD_SCHEMA, f"it takes too many steps to validate {self._size:,} bytes")


_steps: ContextVar[_Steps] = ContextVar("_steps")


def _find_problem(validator: Any, value: Any, size: int) -> str:
    from jsonschema.exceptions import best_match

    token = None
    try:
        token = _steps.set(_Steps(value, size))
        error = best_match(iter([first]) if (first := next(validator.iter_errors(value), None)) else iter(()))
        return "" if error is None else f"{_shorten(error.json_path, 80)}: {_shorten(error.message, LONGEST - 80)}"
    except SchemaError:
        raise
    except RecursionError:
        raise SchemaError(BAD_SCHEMA, "its references, or the parts of the value, are nested too deep") from None
    except Exception as error:  # a library on hostile input: Unresolvable, UnknownType, TypeError, OverflowError
        raise SchemaError(BAD_SCHEMA, f"it cannot be applied: {library_reason(error)}") from None
    finally:
        if token is not None:
            _steps.reset(token)


def _shorten(text: str, limit: int) -> str:
    """Return a text on one line, without its middle if it is long: values stand before what is wrong with them."""
    line = " ".join(text.split()) if len(text) <= limit else f"{text[: limit // 2]}...{text[-limit // 2 :]}"
    return line.replace("\n", " ")


@lru_cache(maxsize=16)
def _bound_class(library_class: Any) -> Any:
    """Return a draft's validators of the library with steps that are counted."""
    import attrs
    from jsonschema import validators

    own = {
        "pattern": _check_pattern,
        "patternProperties": _check_pattern_properties,
        "additionalProperties": _check_additional_properties,
        "unevaluatedProperties": _check_nothing,
        "unevaluatedItems": _check_nothing,
    }
    keywords = {name: _count_steps(name, own.get(name, check)) for name, check in library_class.VALIDATORS.items()}
    bounded_class = validators.extend(library_class, keywords)
    fields = [(field.name, field.alias) for field in attrs.fields(bounded_class) if field.init]

    def evolve(validator: Any, **changes: Any) -> Any:
        for name, argument in fields:
            if argument not in changes:
                changes[argument] = getattr(validator, name)
        return bounded_class(**changes)

    # The library's `evolve` takes other validators for a part that has `$schema`.
    bounded_class.evolve = evolve
    return bounded_class


def _count_steps(name: str, check: Keyword) -> Keyword:
    """Return a keyword that takes a step for each member of its value and of the instance, and for each error."""

    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        steps = _steps.get()
        steps.take(1 + _count_members(value) + _count_members(instance))
        if name in ("enum", "const"):
            steps.take((1 + _count_members(value)) * steps.weight(instance))
        elif name == "uniqueItems" and isinstance(instance, list):
            steps.take(len(instance) * (1 if _is_sorted_fast(instance) else steps.weight(instance)))
        for error in check(validator, value, instance, schema) or ():
            steps.take(steps.weight(instance))  # the library writes the instance into the error
            yield error

    return counted


def _count_members(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _is_sorted_fast(items: list[Any]) -> bool:
    """Whether the library sorts items to find equal ones; it compares others with each other."""
    kinds = set(map(type, items))
    return kinds <= {int, float} or kinds == {str}


def _check_pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield _error(f"{instance!r} does not match {pattern!r}")


def _check_pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in patterns.items():
        for name, member in instance.items():
            if _matches(pattern, name):
                yield from validator.descend(member, subschema, path=name, schema_path=pattern)


def _check_additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, member in instance.items():
        if name in properties or any(_matches(pattern, name) for pattern in patterns):
            continue
        if isinstance(allowed, dict):
            yield from validator.descend(member, allowed, path=name)
        elif not allowed:
            yield _error(f"{name!r} is no property of the schema, which allows no others")


def _check_nothing(validator: Any, value: Any, instance: Any, schema: Any) -> None:
    """Check nothing: see the text at the top."""


def _error(message: str) -> Any:
    from jsonschema import ValidationError

    return ValidationError(message)


def _matches(pattern: str, text: str) -> bool:
    try:
        compiled = compile_pattern(pattern)
    except BadPattern as error:
        raise SchemaError(BAD_SCHEMA, f"its pattern {pattern[:60]!r}: {error}") from None
    if not compiled.is_linear and len(text) > MOST_SEARCHED:
        advice = f"a pattern and a text of more than {MOST_SEARCHED} characters need google-re2"
        raise SchemaError(NO_LIBRARY, f"{advice}: pip install 'kwire[regex]'")
    _steps.get().take(1 + (len(text) + len(pattern)) // 8)
    return compiled.search(text)
