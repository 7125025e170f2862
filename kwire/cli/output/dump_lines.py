"""The chosen items of dumps as text: captures from their bytes, other dumps decoded."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial

from ...capture.dump import Dump
from ...protocol.response_frame_numbers import with_response_frames
from ...query.available_paths import check_available
from ...query.display_filter import names_property, parse_path
from ...query.field_path import FieldPath
from ...schema.catalog import catalog_for
from ..input.dump_decoder import DumpDecoder
from ..input.follow import is_live
from ..input.fraction_read import part_read
from ..input.log_entries import open_batches
from ..input.merged_inputs import TimedBatches, captured_time, item_time
from ..options.registry import deserializer_of
from ..options.specs import catalog_of
from ..options.usage_error import UsageError
from ..terminal.progress import with_progress
from .capture_lines import CaptureLines
from .chosen_fields import parse_paths
from .chosen_items import ChosenItems
from .item_text import Form, Item


class DumpLines:
    """Writes the items of any number of dumps in one form.

    Args:
        options: the options of `kwire decode`.
        form: the output format.
        chosen: chooses and counts the items that are written.
    """

    def __init__(self, options: argparse.Namespace, form: Form, chosen: ChosenItems) -> None:
        self._options, self._form, self._chosen = options, form, chosen
        self._reading = DumpDecoder(options, salvage=not options.strict)
        self._names_responses = options.response_frames or names_property(
            "response_frame", options.where, options.fields
        )
        self._paths = [*chosen.query.paths, *_paths_to_show(options)]

    def all_of(self, dump: Dump) -> Iterator[str]:
        """Yield the lines of one dump, one or more at once."""
        self._check(dump)
        if not self._is_quick(dump):
            yield from self._texts(_items(dump, self._reading, self._options, self._names_responses))
            return
        lines = CaptureLines(dump, self._reading, self._form, self._chosen)
        yield from lines if self._options.jobs == 1 else _lines_in_jobs(dump, lines, self._options)

    def batches(self, dump: Dump) -> TimedBatches[str]:
        """Return the lines of a capture, to be merged with those of others."""
        self._check(dump)
        if not self._is_quick(dump):
            items = _items(dump, self._reading, self._options, self._names_responses)
            return TimedBatches(([item] for item in items), item_time, self._texts)
        lines = CaptureLines(dump, self._reading, self._form, self._chosen)
        return TimedBatches(lines.batches(), captured_time, lambda batch: lines.lines_of(iter((batch,))))

    def _check(self, dump: Dump) -> None:
        of_records = dump.batches is not None or dump.disk is not None
        check_available(self._paths, self._reading.catalog, of_records=of_records)
        options = self._options
        shows_records = options.json or options.jsonl or options.verbose or options.request is not None
        by_schema = [path.text for path in self._paths if path.part]
        if by_schema and options.registry is None:
            problem = "it is a field of keys or values that a schema decodes; --registry URL|DIR names the schemas"
            raise UsageError(f"{by_schema[0]}: {problem}")
        if options.registry is not None and not of_records and not shows_records:
            raise UsageError(f"--registry: lines of {dump.file or 'frames'} show no records; add -v or --jsonl")

    def _is_quick(self, dump: Dump) -> bool:
        """Whether a dump is a capture to be read with the specs of Kafka's releases, from its bytes."""
        reading, options = self._reading, self._options
        if self._names_responses or options.request is not None or is_live(options):
            return False
        return dump.captured is not None and reading.catalog is catalog_for() and reading.named is None

    def _texts(self, items: Iterator[Item] | list[Item]) -> Iterator[str]:
        for item in items:
            if self._chosen.take(item):
                yield self._form.text(item)
            if self._chosen.is_done:
                return


def _items(dump: Dump, reading: DumpDecoder, options: argparse.Namespace, names_responses: bool) -> Iterator[Item]:
    """Yield the items of a dump, records instead of batches."""
    items = reading.with_disk(dump) if options.request is None else reading.exchange(dump, options.request)
    opened: Iterator[Item] = open_batches(
        items,
        salvage=reading.salvage,
        sealed=not options.show_secrets,
        values=deserializer_of(options),
        topic=options.log_of,
    )
    opened = with_progress(opened, partial(part_read, options), wanted=not sys.stdout.isatty())
    return with_response_frames(opened) if names_responses else opened


def _lines_in_jobs(dump: Dump, lines: CaptureLines, options: argparse.Namespace) -> Iterator[str]:
    from .range_jobs import is_worth_dividing
    from .range_lines import lines_in_jobs

    return lines_in_jobs(dump, lines, options) if is_worth_dividing(dump, options.jobs) else iter(lines)


def _paths_to_show(options: argparse.Namespace) -> list[FieldPath]:
    """Return the paths of --fields and --sort."""
    catalog = catalog_of(options)
    fields = [] if options.fields is None else parse_paths(options.fields, catalog)
    return fields if options.sort is None else [*fields, parse_path(options.sort, catalog)]
