"""docs/guides/recover.md: how long a run may be silent is what pipelines, settings and deployments say."""

from __future__ import annotations

from pathlib import Path

from runtime.llm.providers.openai import PROVIDER
from runtime.pipeline.loading import load_pipeline
from runtime.settings import load_settings, shipped_config_dir

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "recover.md").read_text(encoding="utf-8")
TOLD = " ".join(GUIDE.partition("**How long a stage can be silent.**")[2].partition("\n\n")[0].split())
PIPELINES = [load_pipeline(path) for path in sorted((shipped_config_dir() / "pipelines").glob("*.yaml"))]


def limits_s(*, of_fixes: bool) -> dict[float, set[str]]:
    """Time limit of an attempt → the stages that have it; those that do not say one are `others`."""
    found: dict[float, set[str]] = {}
    for pipeline in PIPELINES:
        if (pipeline.capability_id == "violation_fix") == of_fixes:
            found.setdefault(pipeline.default_timeout_s, set()).add("others")
            for agent in pipeline.agents:
                if agent.timeout_s is not None:
                    found.setdefault(agent.timeout_s, set()).add(agent.name)
    return found


def test_the_time_limits_of_stages_are_those_of_the_pipelines() -> None:
    assert limits_s(of_fixes=False) == {120: {"others"}, 300: {"perception"}}
    assert "120 s in the pipelines of code analysis, 300 s for perception" in TOLD
    assert limits_s(of_fixes=True) == {1800: {"others"}, 300: {"decide"}}
    assert "in `violation_fix` 1,800 s, and 300 s to decide" in TOLD
    assert max(agent.max_retries for pipeline in PIPELINES for agent in pipeline.agents) == 1
    assert "tried once more at most" in TOLD


def test_the_limits_of_model_calls_and_heartbeats_are_the_defaults() -> None:
    fields = PROVIDER.settings.model_fields
    assert (fields["silence_timeout_s"].default, fields["total_timeout_s"].default) == (60, 120)
    assert "after 60 s without a word or 120 s in all" in TOLD
    assert load_settings(None).supervisor.hangs_after_s == 6
    assert "no heartbeat for 6 s" in TOLD
