"""Tables and notes of HTML pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .document import text


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Iterable[int] = ()) -> Iterator[str]:
    """Yield a table whose cells are HTML; yield nothing if there are no rows."""
    if not rows:
        return
    right = set(numbers)
    cells = "".join(_cell("th", index in right, label) for index, label in enumerate(head))
    yield f'<div class="table"><table><thead><tr>{cells}</tr></thead><tbody>\n'
    for row in rows:
        yield "<tr>" + "".join(_cell("td", index in right, value) for index, value in enumerate(row)) + "</tr>\n"
    yield "</tbody></table></div>\n"


def _cell(tag: str, is_number: bool, value: str) -> str:
    return f"<{tag}{' class=' + chr(34) + 'number' + chr(34) if is_number else ''}>{value}</{tag}>"


def note(sentence: str) -> str:
    """Return a sentence in small type."""
    return f'<p class="hint">{text(sentence)}</p>\n'
