"""Results and frames are used as the dataclasses that they were."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

import kwire

SOURCE = kwire.Source(frame=3, client="c")
FRAME = kwire.Frame(bytes(8), SOURCE, closed=(1,))


def test_the_functions_of_dataclasses_know_their_fields() -> None:
    assert dataclasses.is_dataclass(FRAME)
    assert dataclasses.replace(FRAME, bare=True) == kwire.Frame(bytes(8), SOURCE, bare=True, closed=(1,))
    assert dataclasses.asdict(FRAME)["source"]["client"] == "c"
    assert [field.name for field in dataclasses.fields(kwire.Source)][:3] == ["file", "frame", "offset"]


@pytest.mark.parametrize("value", [FRAME, SOURCE, *kwire.decode_frames([FRAME])])
def test_they_are_frozen_values(value: object) -> None:
    name = dataclasses.fields(value)[0].name  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        setattr(value, name, None)
    assert pickle.loads(pickle.dumps(value)).__class__ is type(value)
    assert repr(copy.deepcopy(value)) == repr(value)


def test_pickles_of_the_dataclasses_load() -> None:
    class_and_state = b"\x80\x02ckwire.protocol.frames.frame\nSource\n)\x81](NK\x03NNU\x01cNNNeb."
    assert pickle.loads(class_and_state) == SOURCE
