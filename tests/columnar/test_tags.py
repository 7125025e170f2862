"""Tagged sections in columns: as codecs take them, and what is not there."""

from __future__ import annotations

import pytest

import kwire
from kwire.columnar.tags import sections
from kwire.compiler.support import Refused


def test_tags_that_do_not_ascend_or_belong_to_other_versions_are_refused_as_by_codecs() -> None:
    codec = kwire.codec("ApiVersionsResponse", 3)
    tagged = ["0201000001017f00", "01020100", "0200010103010f00", "0105020000", "020502ab000602cd00", "0101"]
    bodies = [bytes.fromhex("0000 01 00000000") + bytes.fromhex(one) for one in tagged]
    bodies += [codec.encode(kwire.messages.ApiVersionsResponse(unknown_tags=bytes.fromhex("0701ff")))]
    good = []
    for index, body in enumerate(bodies):
        try:
            codec.decode(body)
            good.append(index)
        except kwire.DecodeError:
            continue
    (batch,) = kwire.columns("ApiVersionsResponse", 3).read(bodies)
    assert batch.rows.column("body_index").to_pylist() == good
    assert batch.rows.column("unknown_tags").to_pylist()[-1] == bytes.fromhex("0701ff")
    assert [bad.body_index for bad in batch.errors] == [index for index in range(len(bodies)) if index not in good]


def test_a_tag_that_holds_its_default_is_accepted_as_in_strict() -> None:
    data = bytes.fromhex("0000 01 00000000 01 03 01 00")  # tag 3, zkMigrationReady, false
    (batch,) = kwire.columns("ApiVersionsResponse", 3, columns=["zk_migration_ready"]).read([data])
    assert batch.rows.to_pylist() == [{"zk_migration_ready": False}]


def test_sections_are_read_inside_of_their_body() -> None:
    node = kwire.codec("ApiVersionsResponse", 3).schema.tagged
    data = bytes.fromhex("00 02 02 01 01 07 02 abcd 00")
    assert sections(data, 1, 9, node) == (9, [(2, 4, 5)], bytes.fromhex("07 02 abcd"))
    for end in (3, 8):
        with pytest.raises(Refused):
            sections(data, 1, end, node)
