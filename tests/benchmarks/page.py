"""Keeps the figures of `make bench`, and writes the page that shows them: docs/performance.md.

    python -m tests.benchmarks.page [build/bench.json]

The figures of a run (a file of pytest-benchmark) replace those of the same case in docs/static/performance.json; others
stay, each with its day and the machine's load. The tables of the page, between its marks, and the picture are made from
that file; without a run they are made anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.bar_chart import Chart, bar_chart, number

DOCS = Path(__file__).parents[2] / "docs"
KEPT = DOCS / "static" / "performance.json"
PLOT = DOCS / "static" / "performance.svg"
PAGE = DOCS / "performance.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
PLOTTED_CASE = "16 at once"

Case = dict[str, Any]


def merged(kept: list[Case], run: dict[str, Any]) -> list[Case]:
    """Return the cases with those of a run in place of their former ones; new ones come last."""
    day = run["datetime"][:10]
    found = [
        {**case, "day": day} for benchmark in run["benchmarks"] for case in benchmark["extra_info"].get("figures", ())
    ]
    cases = {(case["topic"], case["case"]): case for case in [*kept, *found]}
    return list(cases.values())


def tables(cases: list[Case]) -> str:
    """Return the cases as Markdown: a section for each topic, a table for each case."""
    topics = dict.fromkeys(case["topic"] for case in cases)
    return "\n".join(line for topic in topics for line in _topic(topic, cases))


def _topic(topic: str, cases: list[Case]) -> Iterator[str]:
    yield f"### {topic}\n"
    found = [case for case in cases if case["topic"] == topic]
    if "floor" in found[0]:
        yield from _floors(found)
        return
    for case in found:
        yield from _table(case)


def _floors(cases: list[Case]) -> Iterator[str]:
    """One table for what is held against one floor each."""
    yield "| | each second | floor | each second | floor to here |"
    yield "|---|--:|---|--:|--:|"
    for case in cases:
        (measure, here), (_, floor) = (next(iter(case["rows"][who].items())) for who in ("here", "floor"))
        told = [f"{number(here)} {measure.removesuffix('/s')}", case["floor"], number(floor), number(floor / here)]
        yield f"| {case['case']} | {' | '.join(told)} |"
    days = sorted({case["day"] for case in cases})
    loads = [case["load"] for case in cases]
    yield f"\nMeasured {' and '.join(days)}, load {min(loads):.1f} to {max(loads):.1f}.\n"


def _table(case: Case) -> Iterator[str]:
    measures = list(dict.fromkeys(measure for values in case["rows"].values() for measure in values))
    yield f"{case['case'][0].upper()}{case['case'][1:]} ({case['day']}, load {case['load']:.1f}):\n"
    yield f"| | {' | '.join(measures)} |"
    yield f"|---|{'--:|' * len(measures)}"
    for who, values in case["rows"].items():
        yield f"| {who} | {' | '.join(number(values.get(measure)) for measure in measures)} |"
    yield ""


def written(page: str, cases: list[Case]) -> str:
    """Return the page with its tables made anew. Raises ValueError if it lacks the marks."""
    before, after = page.index(BEGIN) + len(BEGIN), page.index(END)
    return f"{page[:before]}\n\n{tables(cases)}\n{page[after:]}"


def draw(cases: list[Case], file: Path) -> None:
    """Draw the pipelines with sixteen runs at once: runs per second, and CPU of a run."""
    drawn = [case for case in cases if case["topic"] == "Pipelines" and case["case"].endswith(f", {PLOTTED_CASE}")]
    charts = [Chart(case["case"], ("runs/s", "CPU of a run, ms"), case["rows"]) for case in drawn]
    title = "Runs per second and CPU of a run, here and in other frameworks"
    file.write_text(bar_chart(charts, title), encoding="utf-8")


def main() -> None:
    """Keep the figures of a run, and write the page."""
    cases = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []
    if len(sys.argv) > 1:
        cases = merged(cases, json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
        KEPT.write_text(f"{json.dumps(cases, indent=1, ensure_ascii=False)}\n", encoding="utf-8")
    draw(cases, PLOT)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), cases), encoding="utf-8")


if __name__ == "__main__":
    main()
