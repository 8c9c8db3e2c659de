"""Draws bars as SVG: for each case a row of panels, one panel for each measure, and the names on the left.

It has no background and follows the reader's choice of dark or light; on the site its text has the page's own colour.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import msgspec

WIDTH = 720
LEFT, PANEL, VALUES = 256, 168, 58
ROW, BAR, HEAD, GAP = 24, 16, 48, 20
SHARE = "here"

_STYLE = """\
<style>
.bars-text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.bars-title { font-weight: 600; }
.bars-here { fill: #2563eb; }
.bars-other { fill: #94a3b8; }
@media (prefers-color-scheme: dark) { .bars-text { fill: #e6edf3; } .bars-here { fill: #6ea0ff; } }
</style>"""


class Chart(msgspec.Struct, frozen=True):
    """Holds one case: its title, and the values of each name by measure. Names that begin with `here` are ours."""

    title: str
    measures: tuple[str, ...]
    rows: dict[str, dict[str, float]]


def bar_chart(charts: list[Chart], title: str) -> str:
    """Return the charts below each other as one picture without empty lines."""
    lines: list[str] = []
    at = 0
    for chart in charts:
        lines += _chart(chart, at)
        at += HEAD + ROW * len(chart.rows) + GAP
    height = max(at - GAP, 1)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return "\n".join([f'{head} role="img">', f"<title>{escape(title)}</title>", _STYLE, *lines, "</svg>\n"])


def _chart(chart: Chart, top: int) -> Iterator[str]:
    yield _text(0, top + 14, chart.title, "bars-text bars-title")
    for number, measure in enumerate(chart.measures):
        yield _text(_panel(number), top + 36, measure)
    for row, (name, values) in enumerate(chart.rows.items()):
        middle = top + HEAD + row * ROW + ROW // 2
        yield _text(LEFT - 10, middle + 4, name, anchor="end")
        for number, measure in enumerate(chart.measures):
            most = max(each[measure] for each in chart.rows.values())
            yield from _bar(_panel(number), middle, values[measure], most, is_ours=name.startswith(SHARE))


def _bar(left: int, middle: int, value: float, most: float, *, is_ours: bool) -> Iterator[str]:
    width = round(PANEL * value / most, 1) if most else 0
    kind = "bars-here" if is_ours else "bars-other"
    yield f'<rect class="{kind}" x="{left}" y="{middle - BAR // 2}" width="{width}" height="{BAR}"/>'
    yield _text(left + width + 6, middle + 4, number(value))


def _panel(number: int) -> int:
    return LEFT + number * (PANEL + VALUES)


def _text(x: float, y: float, text: str, kind: str = "bars-text", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def number(value: float | None) -> str:
    """Return three digits that count: what is measured here is not more exact."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
