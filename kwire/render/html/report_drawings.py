"""The drawings of the report, as inline SVG: frames over time, histograms of latency, shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from ...statistics.duration_histogram import DRAWN, STEPS, DurationHistogram
from ...statistics.frame_timeline import FrameTimeline
from .document import text

KINDS = ("request", "response", "other", "undecodable")
WIDTH, HEIGHT = 960, 140
SMALL_WIDTH, SMALL_HEIGHT = 200, 34


def timeline_svg(timeline: FrameTimeline) -> str:
    """Draw the frames of every bin as a stacked bar by kind, with the first and the last time below."""
    rows = list(timeline.rows())
    highest = max(sum(counts.values()) for _, counts in rows)
    wide = WIDTH / len(rows)
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none"'
    parts = [f'<svg class="timeline" {box} role="img" aria-label="Frames in time">']
    for index, (start, counts) in enumerate(rows):
        if counts:
            label = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])
            parts.append(f"<g><title>{text(clock(start))}: {text(label)}</title>")
            parts += _stack(index * wide, wide, counts, highest)
            parts.append("</g>")
    ends = (clock(rows[0][0]), clock(rows[-1][0] + timeline.width))
    parts.append(f'</svg><p class="ends"><span>{text(ends[0])}</span><span>{text(ends[1])}</span></p>')
    return "".join(parts)


def _stack(left: float, wide: float, counts: Counter[str], highest: int) -> Iterator[str]:
    top = float(HEIGHT)
    for kind in KINDS:
        high = counts[kind] / highest * (HEIGHT - 4)
        high = max(high, 1.5) if counts[kind] else 0  # so that one bad frame among thousands stays visible
        top -= high
        if high:
            yield _bar(kind, left, top, max(wide - 0.5, 0.7), high)


def histogram_svg(durations: DurationHistogram) -> str:
    """Draw a histogram of durations, the longest on the right; each bar is 19 % above the one before."""
    bars = durations.bars()
    first, last = min(bars), max(bars)
    last = max(last, first + 2 * STEPS // DRAWN)
    highest = max(bars.values())
    wide = SMALL_WIDTH / (last - first + 1)
    label = f"{duration(durations.least)} to {duration(durations.most)}"
    parts = [
        f'<svg class="histogram" viewBox="0 0 {SMALL_WIDTH} {SMALL_HEIGHT}" role="img" aria-label="{text(label)}">'
    ]
    for bucket, count in sorted(bars.items()):
        high = max(count / highest * SMALL_HEIGHT, 1)
        start, stop = (duration(durations.edge(at * DRAWN)) for at in (bucket, bucket + 1))
        span = f"{start} to {stop}: {count}"
        bar = _bar("request", (bucket - first) * wide, SMALL_HEIGHT - high, max(wide - 0.5, 0.7), high)
        parts.append(f"<g><title>{text(span)}</title>{bar}</g>")
    return "".join([*parts, "</svg>"])


def share_svg(count: int, highest: int) -> str:
    """Draw a count as a bar, relative to the largest count of its table."""
    wide = max(round(count / highest * 100, 2), 0.5)
    box = 'viewBox="0 0 100 10" preserveAspectRatio="none"'
    return f'<svg class="share" {box} aria-hidden="true">{_bar("request", 0, 0, wide, 10)}</svg>'


def _bar(kind: str, left: float, top: float, wide: float, high: float) -> str:
    return f'<rect class="{kind}" x="{left:.2f}" y="{top:.2f}" width="{wide:.2f}" height="{high:.2f}"/>'


def legend(kinds: Sequence[str]) -> str:
    """Draw the legend: the colour of each kind."""
    mark = '<svg class="mark" viewBox="0 0 10 10" aria-hidden="true"><rect class="{0}" width="10" height="10"/></svg>'
    return " ".join(f"<span>{mark.format(kind)} {text(kind)}</span>" for kind in kinds)


def duration(seconds: float) -> str:
    """Format a duration with three digits and a unit.

    >>> duration(0.0000123), duration(0.0234), duration(1.5), duration(75)
    ('12.3 µs', '23.4 ms', '1.50 s', '75.0 s')
    """
    for limit, scale, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{_digits(seconds * scale)} {unit}"
    return f"{_digits(seconds)} s"


def _digits(number: float) -> str:
    if number < 10:
        return f"{number:.2f}"
    return f"{number:.1f}" if number < 100 else f"{number:.0f}"


def clock(time: float) -> str:
    """Format a time in UTC, to the millisecond; as a number if the date is out of range.

    >>> clock(1700000000.25)
    '2023-11-14 22:13:20.250'
    """
    try:
        moment = datetime.fromtimestamp(time, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{time:.3f}"
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03d}"
