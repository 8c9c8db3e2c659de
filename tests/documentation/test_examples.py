"""Settings, model files and configurations that pages show are valid, and the files demand what pages say of them."""

from __future__ import annotations

import functools
import re
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from runtime.errors import DocumentFaults
from runtime.llm.model_file import ModelsFile, load_models
from runtime.settings import Settings, load_settings, shipped_config_dir
from serve.contributions import providers
from serve.http.access.scopes import scopes_of_route

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("http.md", "models.md", "metrics.md", "store.md", "capabilities.md", "guides/deploy.md")

_BLOCK = re.compile(r"^```yaml[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@functools.cache
def examples(page: str) -> list[tuple[str, dict[str, object]]]:
    """The examples of a page, as they are shown and as they are read."""
    found = _BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    return [(block, told) for block in found if isinstance(told := yaml.safe_load(block), dict)]


def blocks(page: str, key: str) -> list[str]:
    """The examples of a page that have a key at their top."""
    return [block for block, told in examples(page) if key in told]


def models_of(block: str, folder: Path) -> ModelsFile:
    path = folder / "models.yaml"
    path.write_text(block, encoding="utf-8")
    return load_models(path, contributed=providers())


def settings_of(block: str, folder: Path) -> Settings:
    path = folder / "jeeves.yaml"
    path.write_text(block, encoding="utf-8")
    on_server = yaml.safe_load(block).get("store", {}).get("backend") == "postgres"
    return load_settings(path, {"JEEVES_STORE__DSN": "postgresql://jeeves@localhost/jeeves"} if on_server else {})


def shown(kind: str) -> list[tuple[str, str]]:
    keys = {"models": ("deployments",), "settings": tuple(Settings.model_fields)}[kind]
    return list(dict.fromkeys((page, block) for page in PAGES for key in keys for block in blocks(page, key)))


@pytest.mark.parametrize(("page", "block"), shown("models"), ids=[page for page, _ in shown("models")])
def test_a_model_file_that_a_page_shows_is_valid(page: str, block: str, tmp_path: Path) -> None:
    del page
    assert models_of(block, tmp_path).deployments


@pytest.mark.parametrize(("page", "block"), shown("settings"), ids=[page for page, _ in shown("settings")])
def test_settings_that_a_page_shows_are_valid(page: str, block: str, tmp_path: Path) -> None:
    del page
    assert settings_of(block, tmp_path)
    with pytest.raises(DocumentFaults):
        settings_of(f"{block}\nno_setting: 1\n", tmp_path)


def test_what_a_caller_may_spend_is_set_as_the_page_shows(tmp_path: Path) -> None:
    (block,) = blocks("http.md", "limits")
    quotas = settings_of(block, tmp_path).limits.quotas
    assert (quotas.tokens_per_day, quotas.cost_per_day, quotas.run_s) == (2_000_000, Decimal(5), 120.0)
    page = " ".join((DOCS / "http.md").read_text(encoding="utf-8").split())
    default = Settings(state_dir=tmp_path)
    assert f"({default.limits.quotas.run_tool_calls} tool calls, {default.limits.quotas.run_s:g} s)" in page
    assert f"`http.requests_per_caller` ({default.http.requests_per_caller})" in page


def test_how_often_a_caller_may_ask_is_what_the_pages_say(tmp_path: Path) -> None:
    http, dashboard = (" ".join((DOCS / name).read_text("utf-8").split()) for name in ("http.md", "dashboard.md"))
    limits = Settings(state_dir=tmp_path).limits
    asked, seen = limits.rates, limits.page_rates
    assert (
        f"a caller has {asked.per_minute} requests a minute, in bursts of {asked.burst}, {asked.per_hour:,} an hour "
        f"and {asked.per_day:,} a day"
    ) in http
    assert (
        f"`limits.page_rates`: {seen.per_minute} a minute, {seen.per_hour:,} an hour, {seen.per_day:,} a day, and "
        f"{seen.burst} at once"
    ) in dashboard


def test_the_model_file_for_a_laptop_names_an_endpoint_there_and_waits_for_it(tmp_path: Path) -> None:
    (block,) = [each for each in blocks("models.md", "deployments") if "11434" in each]
    deployment = models_of(block, tmp_path).deployments["main"]
    assert (deployment.backend, deployment.concurrent) == ("openai", 1)


def test_what_the_page_of_models_says_that_the_cpu_files_demand_is_in_them() -> None:
    page = (DOCS / "models.md").read_text(encoding="utf-8")
    for name, cores, cache in (("vllm_cpu", 8, "4 GiB"), ("vllm_tiny", 1, "64 MiB")):
        told = yaml.safe_load((shipped_config_dir() / "models" / f"{name}.yaml").read_text(encoding="utf-8"))
        deployment = told["deployments"]["main"]
        (row,) = re.findall(rf"^\| {name} \| `.*$", page, re.MULTILINE)
        assert f"`{deployment['model']}`" in row
        assert f"| {cores} for a replica" in row
        assert deployment.get("cpus_per_replica", 1) == cores
        number, unit = cache.split()
        assert deployment["engine"]["kv_cache_memory_bytes"] == int(number) * {"MiB": 2**20, "GiB": 2**30}[unit]
        assert cache in row


def test_prometheus_is_told_where_the_metrics_are_and_that_they_need_a_token() -> None:
    (block,) = blocks("metrics.md", "scrape_configs")
    (job,) = yaml.safe_load(block)["scrape_configs"]
    assert job["metrics_path"] == "/metrics"
    assert job["authorization"] == {"type": "Bearer", "credentials_file": "/etc/prometheus/jeeves.token"}
    assert set(job) == {"job_name", "scheme", "metrics_path", "authorization", "static_configs"}
    assert "watch" in scopes_of_route("metrics")
