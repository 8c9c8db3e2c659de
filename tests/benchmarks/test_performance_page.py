"""The page of figures shows what is kept, and what a new run finds replaces what it measured again."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from packaging.requirements import Requirement

from tests.benchmarks.bar_chart import PANEL, Chart, bar_chart
from tests.benchmarks.page import BEGIN, END, KEPT, PAGE, PLOT, draw, merged, tables, written


def case(name: str, topic: str = "Hops", **values: float) -> dict[str, Any]:
    return {"topic": topic, "case": name, "load": 1.25, "rows": {"here": values}}


def run_of(*cases: dict[str, Any]) -> dict[str, Any]:
    return {"datetime": "2026-11-24T10:00:00", "benchmarks": [{"extra_info": {"figures": [each]}} for each in cases]}


def test_the_page_shows_the_figures_that_are_kept() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page, json.loads(KEPT.read_text(encoding="utf-8"))) == page


def test_the_page_tells_a_version_of_each_framework_that_the_project_measures_beside() -> None:
    project = tomllib.loads((PAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    for peer in map(Requirement, project["dependency-groups"]["peers"]):
        told = re.search(rf"{peer.name} (\d+(?:\.\d+)+)", page)
        assert told is not None and peer.specifier.contains(told[1]), peer


def kept(topic: str, case: str, who: str, measure: str) -> float:
    """A figure that is kept: the first row that begins so."""
    (found,) = (
        each for each in json.loads(KEPT.read_text(encoding="utf-8")) if (each["topic"], each["case"]) == (topic, case)
    )
    return float(next(values for name, values in found["rows"].items() if name.startswith(who))[measure])


def ratio(topic: str, case: str, measure: str, *who: str) -> float:
    """The figure of the first to that of the second."""
    ours, theirs = (kept(topic, case, name, measure) for name in who)
    return ours / theirs


HOPS = ("two hops", "a Ray call")
DURABLE = ("here, every hop", "LangGraph, SQLite")
HOP_P50, RATE, CPU = "time of an exchange p50, us", "runs/s", "CPU of a run, ms"
SEVEN, EIGHT, MORE = (
    "seven stages in a row",
    "eight branches and a join",
    "seven stages in a row, more and more at once",
)
ASKED, HELD = "a question about _pytest, its index up to date", "memory, proportional set size of all processes"
GOALS: dict[str, Callable[[], list[float]]] = {
    "two hops over the bus": lambda: [ratio("Hops over the bus", "4,096 bytes, 1 at once", HOP_P50, *HOPS)],
    "the same, exchanges/s": lambda: [ratio("Hops over the bus", "4,096 bytes, 128 at once", "exchanges/s", *HOPS)],
    "the same, 100 KB": lambda: [ratio("Hops over the bus", "100,000 bytes, 16 at once", "exchanges/s", *HOPS)],
    "seven stages, log in memory": lambda: [
        ratio("Pipelines", f"{SEVEN}, 16 at once", CPU, "here, run log", "LangGraph, no")
    ],
    "the same, to AutoGen": lambda: [
        ratio("Pipelines", f"{SEVEN}, 16 at once", CPU, "here, run log", "AutoGen core, gRPC")
    ],
    "seven stages, every hop": lambda: [
        ratio("Pipelines", f"{SEVEN}, {count} at once", RATE, *DURABLE) for count in (16, 128)
    ],
    "eight branches": lambda: [ratio("Pipelines", f"{EIGHT}, {count} at once", RATE, *DURABLE) for count in (16, 128)],
    "CPU of a run with 10,000": lambda: [ratio("Pipelines", MORE, CPU, "10,000", "128")],
    "printing the help": lambda: [kept("Start and memory", "a command that only prints", "jeeves", "ms")],
    "cold question": lambda: [ratio("Start and memory", ASKED, "s", "here, cold", "Ray and")],
    "warm question": lambda: [1_000 * kept("Start and memory", ASKED, "here, warm", "s")],
    "memory of a warm system": lambda: [ratio("Start and memory", HELD, "MB", "here, warm", "Ray and")],
}


@pytest.mark.parametrize("figure", GOALS)
def test_a_goal_is_held_against_what_was_measured_last(figure: str) -> None:
    goals = PAGE.read_text(encoding="utf-8").partition("## Goals")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in goals.splitlines() if line.startswith(f"| {figure}")]
    (_, goal, told) = rows[0]
    is_least = "/s" in rows[0][0] or figure in ("the same, 100 KB", "eight branches")
    wanted = float(goal.partition(" ")[0])
    for said, measured in zip(told.split(" (")[0].split("; "), GOALS[figure](), strict=True):
        shown = re.match(r"[\d.]+", said)
        assert shown is not None
        assert float(shown[0]) == round(measured, len(shown[0].partition(".")[2]))
        assert ("missed" in said) is (measured < wanted if is_least else measured > wanted)


def test_a_case_that_is_measured_again_replaces_its_former_figures_in_their_place() -> None:
    kept = merged([], run_of(case("small", ms=1.0), case("large", ms=2.0)))
    again = merged(kept, run_of(case("small", ms=3.0)))
    assert [(each["case"], each["rows"]["here"]["ms"]) for each in again] == [("small", 3.0), ("large", 2.0)]
    assert again[0]["day"] == "2026-11-24"


def test_a_benchmark_without_figures_adds_nothing() -> None:
    assert merged([], {"datetime": "2026-11-24T10:00:00", "benchmarks": [{"extra_info": {}}]}) == []


def test_tables_have_a_column_for_each_measure_and_tell_day_and_load() -> None:
    told = case("small", ms=1.234) | {"day": "2026-11-24"}
    told["rows"]["Ray"] = {"MB": 1234.5}
    assert tables([told]).splitlines() == [
        "### Hops",
        "",
        "Small (2026-11-24, load 1.2):",
        "",
        "| | ms | MB |",
        "|---|--:|--:|",
        "| here | 1.23 | – |",
        "| Ray | – | 1,234 |",
    ]


def test_what_has_one_floor_each_shares_a_table() -> None:
    rows = {"here": {"calls/s": 50.0}, "floor": {"calls/s": 100.0}}
    told = {"topic": "Floors", "case": "asking", "load": 0.5, "day": "2026-11-24", "floor": "one read", "rows": rows}
    assert "| asking | 50 calls | one read | 100 | 2 |" in tables([told])
    assert "Measured 2026-11-24, load 0.5 to 0.5." in tables([told])


def test_a_page_without_marks_is_not_written() -> None:
    with pytest.raises(ValueError, match="substring not found"):
        written(f"# Speed\n{END}\n", [])
    assert written(f"{BEGIN}{END}", []) == f"{BEGIN}\n\n\n{END}"


def test_the_picture_is_drawn_from_the_figures_of_sixteen_at_once(tmp_path: Path) -> None:
    draw(json.loads(KEPT.read_text(encoding="utf-8")), tmp_path / "plot.svg")
    drawn = (tmp_path / "plot.svg").read_text(encoding="utf-8")
    assert drawn == PLOT.read_text(encoding="utf-8")
    assert "seven stages in a row, 16 at once" in drawn
    assert "here, every hop on the disk" in drawn


def test_nothing_of_the_picture_lies_beyond_its_edges_and_it_has_no_background() -> None:
    picture = ElementTree.fromstring(PLOT.read_text(encoding="utf-8"))
    width = float(picture.attrib["width"])
    for text in picture.iter("{http://www.w3.org/2000/svg}text"):
        # Half an em for each letter is more than sans-serif text of these words takes on average.
        room = float(text.attrib["x"]) if text.attrib["text-anchor"] == "end" else width - float(text.attrib["x"])
        assert len(text.text or "") * 6.5 <= room, text.text
    boxes = [float(each.attrib["width"]) for each in picture.iter("{http://www.w3.org/2000/svg}rect")]
    assert max(boxes) <= PANEL


def test_bars_are_as_long_as_their_values_and_a_case_without_any_has_none() -> None:
    drawn = bar_chart([Chart("x < y", ("ms",), {"here": {"ms": 2.0}, "other": {"ms": 1.0}})], "t")
    assert re.findall(r'<rect class="([\w-]+)" .*? width="([\d.]+)"', drawn) == [
        ("bars-here", f"{PANEL}.0"),
        ("bars-other", f"{PANEL / 2}"),
    ]
    assert "x &lt; y" in drawn
    assert 'width="0"' in bar_chart([Chart("none", ("ms",), {"here": {"ms": 0.0}})], "t")
