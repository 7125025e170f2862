"""Writes the pictures of the README from what commands show: `docs/pictures/*.svg`.

`python -m tests.tools.pictures` writes them anew after a change of what they show; a test says when that is due. An SVG
of text is small, sharp at any size, and shown by repositories and registries. Text in a fixed-width font has its width
set, so that columns are straight in any font.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import tempfile
from collections.abc import Iterable
from html import escape, unescape
from pathlib import Path
from typing import Any

from kwire.capture.open_dump import open_dump
from kwire.cli.commands.browse import loading
from kwire.cli.main import main as kwire
from kwire.cli.tui.browser import Browser
from kwire.cli.tui.frame_index import FrameIndex
from kwire.schema.catalog import catalog_for

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "docs" / "pictures"
DUMP = "fixtures/dumps/kafka-4.4-metadata.bin"
CAPTURE = "fixtures/dumps/kafka-3.9-zk.pcap"
COLUMN, LINE, MARGIN = 7.8, 17, 12  # px
PAPER, INK = "#12161b", "#e3e8ee"
COLOURS = {"2": "#98a4b1", "1;32": "#8fd6a3", "36": "#79b8ff", "33": "#ffd24a", "1;31": "#ff8a80", "1": "#ffffff"}
REPORT_STYLE = ".request{fill:#79b8ff}.response{fill:#8fd6a3}"
_STYLED = re.compile(r"\x1b\[([\d;]*)m")

Span = tuple[str, str, str]  # text, its colour, and that of the paper behind it; empty for those of the picture


def picture(lines: Iterable[list[Span]], drawing: str = "", height: int = 0) -> str:
    """Return an SVG of lines of text below a drawing of some height."""
    rows = list(lines)
    columns = max(sum(len(text) for text, _, _ in row) for row in rows)
    width, bottom = round(columns * COLUMN + 2 * MARGIN), round(len(rows) * LINE + height + 2 * MARGIN)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom}" width="{width}" height="{bottom}">',
        f'<rect width="{width}" height="{bottom}" rx="6" fill="{PAPER}"/>{drawing}',
        f'<g font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="13" fill="{INK}">',
    ]
    for number, row in enumerate(rows):
        start = 0
        for text, colour, paper in row:
            left, top = MARGIN + start * COLUMN, MARGIN + height + number * LINE
            if paper:
                parts.append(
                    f'<rect x="{left:.1f}" y="{top}" width="{len(text) * COLUMN:.1f}" height="{LINE}" fill="{paper}"/>'
                )
            if words := text.strip():
                left += (len(text) - len(text.lstrip())) * COLUMN
                fill = f' fill="{colour}"' if colour else ""
                size = f'textLength="{len(words) * COLUMN:.1f}" lengthAdjust="spacingAndGlyphs" xml:space="preserve"'
                parts.append(f'<text x="{left:.1f}" y="{top + 13}" {size}{fill}>{escape(words)}</text>')
            start += len(text)
    return "\n".join([*parts, "</g>", "</svg>", ""])


def coloured(line: str) -> list[Span]:
    """Return the spans of a line with a terminal's control sequences."""
    pieces = _STYLED.split(line)
    return [(text, COLOURS.get(code, ""), "") for code, text in zip(["", *pieces[1::2]], pieces[::2], strict=True)]


def explain() -> str:
    """Return the picture of `kwire explain`: the first lines of a response."""
    written = io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(io.StringIO()):
        kwire(["explain", "--color", "always", str(ROOT / DUMP)])
    lines = written.getvalue().splitlines()
    start = next(number for number, line in enumerate(lines) if "response" in line)
    prompt = coloured(f"\x1b[2m$ kwire explain {Path(DUMP).name}\x1b[0m")
    return picture([prompt, *map(coloured, lines[start : start + 20])])


def browse() -> str:
    """Return the picture of `kwire browse`, with a field and its bytes marked."""

    async def screen() -> list[list[Span]]:
        with FrameIndex(catalog_for()) as index, open_dump(str(ROOT / CAPTURE)) as dump:
            app = Browser(loading(index, [dump]), index, Path(CAPTURE).name, lambda frames, name: 0)
            async with app.run_test(size=(100, 26)) as pilot:
                for _ in range(5):
                    await app.workers.wait_for_complete()
                    await pilot.pause()
                await pilot.press("down", "down", "down", "tab", "down", "down", "down")
                await pilot.pause()
                strips = app.screen._compositor.render_strips()
                return [[_span(segment) for segment in strip] for strip in strips]

    return picture(asyncio.run(screen()))


def _span(segment: Any) -> Span:
    """Return a segment of textual as a span."""
    text, style = segment.text, segment.style
    names = [
        colour.get_truecolor().hex if colour and not colour.is_default else ""
        for colour in (getattr(style, "color", None), getattr(style, "bgcolor", None))
    ]
    front, back = reversed(names) if style and style.reverse else names
    if style is not None and style.bold and style.underline:  # the bytes of the field
        front, back = PAPER, COLOURS["33"]
    return text, front, back


def report() -> str:
    """Return the picture of `kwire report`: its drawing of frames in time, and its table of apis."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        page = Path(folder, "report.html")
        kwire(["report", str(ROOT / CAPTURE), "-o", str(page)])
        text = page.read_text("utf-8")
    (drawn,) = re.findall(r'<svg class="timeline".*?</svg>', text, re.DOTALL)
    drawn = re.sub(r"<title>.*?</title>", "", drawn)
    drawn = drawn.replace("<svg ", f'<svg x="{MARGIN}" y="{MARGIN}" width="700" height="110" ', 1)
    section = text[text.index("Apis and their latency") :]
    table = section[section.index("<table") : section.index("</table>")]
    rows = [
        [unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    ]
    rows = [row[:-1] for row in rows[:13]]  # the last column is a drawing
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    shown = [[(line, COLOURS["2"] if number == 0 else "", "")] for number, line in enumerate(lines)]
    title = [[(f"kwire report {Path(CAPTURE).name}   ", COLOURS["2"], ""), ("requests ", "#79b8ff", "")]]
    title[0].append(("and responses in time, and the apis", COLOURS["1;32"], ""))
    return picture([*title, *shown], f"<style>{REPORT_STYLE}</style>{drawn}", 122)


PICTURES = {"explain.svg": explain, "browse.svg": browse, "report.svg": report}


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), "utf-8")


if __name__ == "__main__":
    main()
