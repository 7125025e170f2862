"""Arrays whose elements look alike, and those whose elements do not, read and written."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kwire.codecs import Codec
from kwire.compiler import decoder_source, encoder_source
from kwire.compiler.shaped_reads import PATIENCE, ReadShapes
from kwire.compiler.shapes import MOST_SHAPES, Shapes
from tests.compiler.codecs_of import codec_of
from tests.small_specs import field

NULLABLE = {"nullableVersions": "0+", "default": "null"}
PART = [
    field("N"),
    field("Numbers", "[]int32"),
    field("Flag", "bool"),
    field("Name", "string", **NULLABLE),
    field("Id", "uuid"),
    field("Raw", "bytes"),
    field("Tagged", "int8", versions="2+", tag=0, taggedVersions="2+"),
]
NUMBERS = [field("N"), field("One", "[]int32"), field("Two", "[]int64"), field("Half", "float64")]


def parts(codec: Codec, rng: Random, count: int, odd: float) -> tuple[Any, ...]:
    """Make elements of which some are odd."""
    cls = getattr(codec.message_class, "Part")  # noqa: B009

    def numbers() -> tuple[int, ...]:
        return tuple(rng.choices(range(-9, 9), k=rng.randrange(40) if rng.random() < odd else 3))

    made = []
    for n in range(count):
        values: dict[str, Any] = {"n": n}
        if hasattr(cls, "raw"):
            name = rng.choice((None, "", "x" * 80, "é")) if rng.random() < odd else "name"
            raw = rng.randbytes(rng.randrange(200)) if rng.random() < odd else b"raw"
            values |= {"numbers": numbers(), "flag": n % 2 == 0, "name": name, "id": rng.randbytes(16), "raw": raw}
        else:
            values |= {"one": numbers(), "two": numbers(), "half": n / 2}
        if codec.version > 1 and rng.random() < odd:
            values["unknown_tags"] = b"\7\1x"
        made.append(cls(**values))
    return tuple(made)


@pytest.mark.parametrize("version", [0, 3])
@pytest.mark.parametrize("odd", [0.0, 0.02, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("fields", [PART, NUMBERS], ids=["of all kinds", "of numbers"])
def test_elements_alike_and_odd_ones_come_back(fields: list[Any], odd: float, version: int) -> None:
    rng = Random(f"{odd} {version}")
    codec = codec_of(field("Parts", "[]Part", fields=fields), field("After", "int8"), version=version)
    for count in (*range(12), 40, 600, 40, 600, 7, 7, 7, 7, 200):
        message = codec.message_class(parts=parts(codec, rng, count, odd), after=5)
        data = codec.encode(message)
        assert codec.decode(data) == message
        assert codec.encode(codec.message_class(parts=list(message.parts), after=5)) == data
        assert count == 0 or refuses(codec, data[: len(data) - 1 - rng.randrange(min(len(data) - 1, 60))])


def refuses(codec: Codec, data: bytes) -> bool:
    try:
        codec.decode(data)
    except Exception:
        return True
    return False


def test_values_that_do_not_fit_are_refused_in_a_loop_for_a_shape_too() -> None:
    codec = codec_of(field("Parts", "[]Part", fields=NUMBERS))
    cls = getattr(codec.message_class, "Part")  # noqa: B009
    good = [cls(one=(1, 2), two=(3,), half=0.5)] * 50
    assert all(codec.encode(codec.message_class(parts=good)) for _ in range(15))
    for values in ({"one": (1, True)}, {"one": {1, 2}}, {"two": (2**63,)}, {"half": 1}, {"n": None}, {"one": None}):
        bad = cls(**{"one": (1, 2), "two": (3,), "half": 0.5, **values})
        with pytest.raises(Exception, match=r"parts\[50\]"):
            codec.encode(codec.message_class(parts=[*good, bad]))
    with pytest.raises(Exception, match=r"parts\[50\]: a <spec>.Thing.Part is needed"):
        codec.encode(codec.message_class(parts=[*good, 5]))


def test_loops_are_made_for_shapes_that_are_seen_often_and_are_few() -> None:
    codec = codec_of(field("Parts", "[]Part", fields=[field("Name", "string")]))
    cls = getattr(codec.message_class, "Part")  # noqa: B009
    source = decoder_source(codec.schema)
    shapes: ReadShapes = source.constants["S1"]
    decode = source.run()["decode"]
    for length in range(60):
        data = codec.encode(codec.message_class(parts=(cls(name="x" * length),) * 600))
        for _ in range(10):
            decode(data, 0)
    assert len(shapes._loops) == MOST_SHAPES
    assert len(shapes._seen) <= 4 * MOST_SHAPES


def test_shapes_are_left_alone_where_every_element_has_another() -> None:
    codec = codec_of(field("Parts", "[]Part", fields=[field("Name", "string")]))
    cls = getattr(codec.message_class, "Part")  # noqa: B009
    source = decoder_source(codec.schema)
    shapes: ReadShapes = source.constants["S1"]
    decode = source.run()["decode"]
    rng = Random("names")
    data = codec.encode(codec.message_class(parts=tuple(cls(name="x" * rng.randrange(60)) for _ in range(4000))))
    decode(data, 0)
    assert shapes.pause == PATIENCE


def test_elements_of_a_fixed_size_need_no_shape() -> None:
    codec = codec_of(field("Parts", "[]Part", fields=[field("N"), field("Flag", "bool")]))
    for source in (decoder_source(codec.schema), encoder_source(codec.schema)):
        assert not [value for value in source.constants.values() if isinstance(value, Shapes)]
    cls = getattr(codec.message_class, "Part")  # noqa: B009
    for version in (0, 3):
        codec = codec_of(field("Parts", "[]Part", fields=[field("N"), field("Flag", "bool")]), version=version)
        cls = getattr(codec.message_class, "Part")  # noqa: B009
        tagged = (cls(n=2, flag=True, unknown_tags=b"\7\0" if version else None), cls(n=3))
        for items in ((), (cls(n=1, flag=True),) * 5, (cls(n=1), *tagged)):
            data = codec.encode(codec.message_class(parts=items))
            assert codec.decode(data).parts == items
            assert not items or refuses(codec, data[:-1])


def test_two_decoders_of_a_tree_share_no_shapes() -> None:
    codec = codec_of(field("Parts", "[]Part", fields=PART))
    sources = [decoder_source(codec.schema) for _ in range(2)]
    assert sources[0].constants["S1"] is not sources[1].constants["S1"]
