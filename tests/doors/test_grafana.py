"""The dashboard for Grafana queries metrics and labels that exist, and shows every metric."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from runtime.primitives.metrics import HistogramMetric, Metric, all_metrics
from runtime.settings import shipped_config_dir

DASHBOARD = json.loads((shipped_config_dir() / "grafana" / "jeeves.json").read_text(encoding="utf-8"))
PARTS_OF_HISTOGRAMS = ("_bucket", "_sum", "_count")

# Words of PromQL in these queries; every other word is a metric or a label.
_FUNCTIONS = {"sum", "max", "rate", "by", "histogram_quantile"}
_WORD = re.compile(r"[a-zA-Z_:][\w:]*")


def series() -> dict[str, Metric]:
    """The names that a scrape has, with their metrics."""
    found: dict[str, Metric] = {}
    for metric in all_metrics():
        endings = PARTS_OF_HISTOGRAMS if isinstance(metric, HistogramMetric) else ("",)
        found |= {f"{metric.shown_name}{ending}": metric for ending in endings}
    return found


def queries() -> Iterator[tuple[str, str]]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"], target["legendFormat"]


def words(query: str) -> set[str]:
    """The metrics and labels of a query: what is quoted and what is a variable does not count."""
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]', "", query)
    return set(_WORD.findall(bare)) - _FUNCTIONS


def faults(query: str, legend: str) -> list[str]:
    known = series()
    named = [known[word] for word in words(query) if word in known]
    labels = {label for metric in named for label in metric.labels}
    labels |= {"le"} if any(isinstance(metric, HistogramMetric) for metric in named) else set()
    wrong = words(query) - known.keys() - labels
    return [*sorted(wrong), *(part for part in re.findall(r"{{(\w+)}}", legend) if part not in labels)]


def test_every_query_names_a_metric_and_labels_that_exist() -> None:
    found: list[tuple[str, Any]] = [(query, wrong) for query, legend in queries() if (wrong := faults(query, legend))]
    assert found == []


def test_a_query_of_what_does_not_exist_is_found() -> None:
    assert faults("sum by (kind) (rate(jeeves_hopps_total[5m]))", "{{kind}}") == ["jeeves_hopps_total", "kind", "kind"]
    assert faults('sum by (mode) (rate(critic_decisions_total{verdict="x"}[5m]))', "") == ["mode"]
    assert faults("jeeves_stage_seconds", "") == ["jeeves_stage_seconds"]


def test_every_metric_is_shown() -> None:
    known = series()
    shown = {known[word].name for query, _ in queries() for word in words(query) if word in known}
    assert shown == {metric.name for metric in all_metrics()}


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in panels
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]
    assert len(set(places)) == len(places)
    assert max(x for x, _ in places) < 24
