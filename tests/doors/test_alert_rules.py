"""The alert rules for Prometheus ask for metrics, labels and values that exist, and say what somebody has to do."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from runtime.memory.run_metrics import RunTotals
from runtime.primitives.counters import Sample
from runtime.primitives.metrics import BUS_ENDPOINTS, QUEUE_TASKS, REQUESTS
from runtime.run.envelope import FAILURE_REASONS
from runtime.settings import shipped_config_dir
from serve.http.answering.http_metrics import PRESENCES, TASK_STATES, RunMetrics
from tests.documentation.test_site import MUST_RUN
from tests.doors.test_grafana import faults
from tests.test_links import anchors

PROMTOOL = shutil.which("promtool")
ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
RULES = yaml.safe_load((shipped_config_dir() / "prometheus" / "jeeves.rules.yaml").read_text(encoding="utf-8"))
ALERTS: list[dict[str, Any]] = [rule for group in RULES["groups"] for rule in group["rules"]]

# What Prometheus adds to each target that it scrapes.
_OF_PROMETHEUS = {"up", "job", "instance"}
_FUNCTIONS = {"increase", "delta", "max_over_time", "and", "unless", "on"}
_VALUE = re.compile(r'(\w+)=~?"([^"]*)"')
# What a label of a metric may be; the job is the one of the page.
_VALUES = {
    QUEUE_TASKS.labels[0]: set(TASK_STATES),
    BUS_ENDPOINTS.labels[0]: set(PRESENCES),
    REQUESTS.labels[0]: set(FAILURE_REASONS),
    "job": {"jeeves"},
}


def wrong_words(expression: str, told: str = "") -> list[str]:
    """What of an expression, and of the labels that its texts show, does not exist."""
    shown = re.sub(r"{{ \$labels\.(\w+) }}", r"{{\1}}", told)
    return [word for word in faults(expression, shown) if word not in _OF_PROMETHEUS | _FUNCTIONS]


def wrong_values(expression: str) -> list[str]:
    return [
        value
        for label, values in _VALUE.findall(expression)
        for value in values.split("|")
        if value not in _VALUES[label]
    ]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert_asks_for_what_exists_and_says_what_to_do(alert: dict[str, Any]) -> None:
    told = alert["annotations"]
    assert wrong_words(alert["expr"], "".join(told.values())) == []
    assert wrong_values(alert["expr"]) == []
    assert set(told) == {"summary", "description", "docs"}
    assert alert["labels"]["severity"] in {"critical", "warning"}
    page, _, anchor = told["docs"].partition("#")
    assert not anchor or anchor in anchors((ROOT / page).read_text(encoding="utf-8"))


def test_an_alert_that_could_never_fire_is_found() -> None:
    assert wrong_words("max by (kind) (jeeves_queued_run) > 0") == ["jeeves_queued_run", "kind"]
    assert wrong_words("max by (tool) (jeeves_tool_health) == 2", "{{ $labels.tol }}") == ["tol"]
    assert wrong_values('jeeves_queue_tasks{state="died"}') == ["died"]
    assert wrong_values('up{job="jeeve"} == 0') == ["jeeve"]


def test_the_alert_of_failed_runs_knows_every_reason_that_is_a_failure() -> None:
    (failed,) = [alert for alert in ALERTS if alert["alert"] == "JeevesRunsFail"]
    assert {reason for _, reasons in _VALUE.findall(failed["expr"]) for reason in reasons.split("|")} == FAILURE_REASONS


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_first_run_that_fails_or_completes_is_an_increase(count: int) -> None:
    registry = CollectorRegistry()
    metrics = RunMetrics(registry)
    metrics.update(RunTotals())
    reasons = {"completed", *FAILURE_REASONS}
    assert {reason: _ended(registry, reason) for reason in reasons} == dict.fromkeys(reasons, 0)
    metrics.update(RunTotals({REQUESTS.name: [Sample({"terminal_reason": "internal_error"}, count)]}))
    assert (_ended(registry, "internal_error"), _ended(registry, "completed")) == (count, 0)


def _ended(registry: CollectorRegistry, reason: str) -> float | None:
    return registry.get_sample_value(f"{REQUESTS.name}_total", {"terminal_reason": reason})


def test_the_page_names_every_alert_and_the_job_that_they_ask_for() -> None:
    listed = re.findall(r"^\| `(Jeeves\w+)` \|", PAGE, re.MULTILINE)
    assert listed == [alert["alert"] for alert in ALERTS]
    assert "- job_name: jeeves\n" in PAGE


@pytest.mark.skipif(not MUST_RUN and PROMTOOL is None, reason="there is no promtool: .ci/programs")
def test_alerts_fire_over_the_series_where_they_should_and_nowhere_else() -> None:
    cases = Path(__file__).with_name("alert_rules_test.yaml")
    tested = subprocess.run([str(PROMTOOL), "test", "rules", cases], check=False, capture_output=True, text=True)
    assert tested.returncode == 0, tested.stdout + tested.stderr
