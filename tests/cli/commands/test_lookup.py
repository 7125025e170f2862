"""schema, diff, apis, errors, --template and --schemas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwire.cli.main import main
from kwire.codecs.message_codec import Codec
from kwire.codecs.schema_tree import grow_tree
from kwire.render.schema_layout import heading
from tests.cli.test_commands import out
from tests.messages.small_specs import field, spec_of

BNF = """\
Metadata request (Version: 12) => [topics] allow_auto_topic_creation include_topic_authorized_operations _tagged_fields
  topics => topic_id name _tagged_fields
    topic_id => UUID
    name => COMPACT_NULLABLE_STRING
  allow_auto_topic_creation => BOOLEAN
  include_topic_authorized_operations => BOOLEAN
"""
VENDOR = """{ "apiKey": 1000, "type": "request", "name": "VendorRequest", "validVersions": "0",
  "flexibleVersions": "none", "fields": [ { "name": "Word", "type": "string", "versions": "0+" } ] }"""


def test_schema_as_a_table_says_what_fields_mean(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "schema", "Metadata:12")
    assert text.startswith("MetadataRequest v12: api key 3, versions 0-13, flexible, header 2\n")
    assert "\nMetadataResponse v12: api key 3, versions 0-13, flexible, header 1\n" in text
    assert "    rack  compact nullable string, default null\n        The broker.rack setting," in text
    assert max(map(len, text.splitlines())) <= 80


def test_schema_as_bnf_markdown_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "schema", "MetadataRequest:12", "--bnf") == BNF
    assert "  zk_migration_ready<tag: 3> => BOOLEAN\n" in out(capsys, "schema", "ApiVersionsResponse:3", "--bnf")
    assert "| `allowAutoTopicCreation` | bool |  | true | " in out(capsys, "schema", "MetadataRequest:4", "--markdown")
    members = json.loads(out(capsys, "schema", "ApiVersionsResponse:3", "--json"))
    assert (members["apiKey"], members["headerVersion"], members["flexible"]) == (18, 0, True)
    epoch = next(field for field in members["fields"] if field["name"] == "finalizedFeaturesEpoch")
    assert (epoch["attribute"], epoch["type"], epoch["tag"], epoch["default"]) == (
        "finalized_features_epoch",
        "int64",
        1,
        -1,
    )


def test_only_the_last_version_is_unstable_and_only_where_the_spec_says_so() -> None:
    for unstable, said in ((True, [False, True]), (False, [False, False])):
        spec = spec_of(field(), type="request", apiKey=900, name="OneRequest", latestVersionUnstable=unstable)
        headings = [heading(Codec(spec, version, grow_tree(spec, version))) for version in (2, 3)]
        assert [text.endswith(", unstable") for text in headings] == said


def test_every_layout_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    from kwire.codecs.message_codec import codec
    from kwire.render.schema_layout import layout_bnf, layout_json, layout_markdown, layout_table
    from tests.messages.message_lists import released_pairs

    for name, version in released_pairs():
        made = codec(name, version)
        count = len(made.schema.all_fields)
        assert json.dumps(layout_json(made)).count('"about"') >= count
        for lines in (layout_table(made), layout_bnf(made), layout_markdown(made)):
            assert len(list(lines)) > count


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["MetadataRequest:9", "MetadataRequest:12"],
            ["+ topics.topic_id: uuid", "~ topics.name: string -> nullable string"],
        ),
        (["MetadataRequest:8", "MetadataRequest:9"], ["~ flexible (compact lengths, tagged fields) from here on"]),
        (["LeaderAndIsrRequest:1", "LeaderAndIsrRequest:0"], ["- ungrouped_partition_states.is_new_replica: bool"]),
        (["ApiVersionsResponse:2", "ApiVersionsResponse:3"], ["+ finalized_features_epoch: int64, tag 1"]),
    ],
)
def test_diff_of_two_versions(arguments: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "diff", *arguments, code=1)
    for line in expected:
        assert f"  {line}\n" in text


def test_diff_of_the_same_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "diff", "MetadataRequest:5", "MetadataRequest:7").endswith("\n  no field differs\n")


def test_diff_of_two_releases(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "diff", "--release", "3.9", "4.4", code=1)
    assert "LeaderAndIsr (4): versions 0-7 -> none\n" in text
    assert "MetadataResponse v12 -> v13\n  + error_code: int16\n" in text
    assert "Fetch" not in out(capsys, "diff", "--release", "3.9", "4.4", "Metadata", code=1)
    assert main(["diff", "Metadata:1"]) == 2


def test_apis(capsys: pytest.CaptureFixture[str]) -> None:
    assert " 74  ListConfigResources                    0-1       3.7.2\n" in out(capsys, "apis")
    assert "  6  UpdateMetadata                         0-8       0.8.2.2    4.0.2\n" in out(capsys, "apis")
    steps = out(capsys, "apis", "ListClientMetricsResources")
    assert steps.endswith("     from 3.7.2      0\n     from 4.1.2      0-1\n")
    old = out(capsys, "apis", "--release", "0.10.0")
    assert "  3  Metadata                               0-1 " in old
    assert "CreateTopics" not in old
    assert main(["apis", "nope"]) == 2


def test_errors(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("56", "kafka_storage_error", "STORAGE"):
        assert out(capsys, "errors", word).startswith(
            "  56  KAFKA_STORAGE_ERROR  (retriable, since 1.0.2)\n      A disk"
        )
    assert main(["errors", "5120"]) == 2
    assert "there is no error code '5120'" in capsys.readouterr().err
    assert len(out(capsys, "errors").splitlines()) > 240
    assert main(["errors", "nope"]) == 2


def test_a_template_can_be_encoded_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("Metadata:12", "UpdateMetadataRequest:8", "LeaderAndIsrResponse:7", "Fetch:17"):
        path = tmp_path / "template.json"
        path.write_text(out(capsys, "encode", "--template", name))
        raw = out(capsys, "encode", str(path), "--hex")
        (tmp_path / "frame.hex").write_text(raw)
        seen = json.loads(out(capsys, "decode", str(tmp_path / "frame.hex"), "--json", "--as", name))
        assert seen[0]["payload"] == json.loads(path.read_text())["payload"]


def test_specs_of_your_own_stand_in_front_of_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "VendorRequest.json").write_text(VENDOR)
    frame = tmp_path / "frame.hex"
    frame.write_text("00000010 03e8 0000 00000007 ffff 0004 776f7264\n".replace(" ", ""))
    assert out(capsys, "decode", str(frame), "--schemas", str(tmp_path)).splitlines()[1:] == ['  word: "word"']
    assert "undecodable" in out(capsys, "decode", str(frame), code=1)
    assert main(["decode", str(frame), "--schemas", str(tmp_path / "none")]) == 2
    (tmp_path / "OtherRequest.json").write_text(VENDOR.replace("VendorRequest", "OtherRequest"))
    assert main(["decode", str(frame), "--schemas", str(tmp_path)]) == 2
    assert "api key 1000 version 0 is OtherRequest and VendorRequest" in capsys.readouterr().err


def test_schema_as_source_shows_what_decodes_and_encodes(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "schema", "MetadataResponse:12", "--source")
    assert text.startswith("# MetadataResponse v12: decode\n")
    assert "\n# MetadataResponse v12: encode\n" in text
    assert "= U1(b, p)  # throttle_time_ms, brokers\n" in text
    compile(text, "source", "exec")
