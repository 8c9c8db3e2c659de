"""The generated reference has every command, setting, pipeline key, event, error and route, each with its meaning."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from runtime.errors import JeevesError
from runtime.pipeline.config import AgentConfig, PipelineConfig
from runtime.settings import shipped_config_dir
from runtime.supervision.client_data import CLIENT_DATA
from runtime.supervision.commands import ClientEventType
from runtime.supervision.events import Payload
from serve.cli.command_table import COMMANDS
from tests.documentation.commands_page import commands_page
from tests.documentation.events_page import events_page
from tests.documentation.http_page import http_page, openapi
from tests.documentation.kernel_pages import errors_page, pipelines_page
from tests.documentation.key_meanings import REMEDIES
from tests.documentation.markdown import code, form, prose, table
from tests.documentation.settings_page import meanings_of, settings_page, told_of_keys
from tests.test_links import anchors

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_each_command_has_a_heading_and_each_option_a_row() -> None:
    page = commands_page()
    for entry in COMMANDS:
        assert f"\n## `jeeves {entry.name}`\n" in page
    assert "\n### `jeeves runs why`\n" in page
    assert "| `--session <str>` | Session id; questions in a session can refer back. |" in page


def keys_of(document: dict[str, object], prefix: str = "") -> list[str]:
    found: list[str] = []
    for key, value in document.items():
        found += keys_of(value, f"{prefix}{key}.") if isinstance(value, dict) and value else [f"{prefix}{key}"]
    return found


def test_each_key_of_the_default_settings_has_a_row_with_its_comment() -> None:
    text = (shipped_config_dir() / "jeeves.yaml").read_text(encoding="utf-8")
    page = settings_page()
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    # Forms of values that maps have come last, and have keys of the same names.
    rows = {line.split("|")[1].strip().strip("`"): line for line in reversed(lines)}
    assert [key for key in keys_of(yaml.safe_load(text)) if key not in rows] == []
    meanings = meanings_of(text)
    assert meanings["store.durability"].startswith("full: accepted runs survive")
    for key, told in meanings.items():
        assert key not in rows or prose(told).replace("|", "\\|") in rows[key]


def test_each_row_of_the_settings_says_what_it_sets_and_no_text_leads_to_a_docstring_elsewhere() -> None:
    page = settings_page()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert [row for row in rows if not row.rstrip("|").rpartition(" | ")[2].strip()] == []
    assert "describes it" not in page
    assert told_of_keys("Limits. `a_b`: one; `c`: two, or three.") == {"a_b": "one", "c": "two, or three"}


def test_each_key_of_a_pipeline_and_each_shipped_pipeline_is_there() -> None:
    page = pipelines_page()
    for name in {*PipelineConfig.model_fields, *AgentConfig.model_fields}:
        assert f"\n| `{name}` | " in page
    for path in (shipped_config_dir() / "pipelines").glob("*.yaml"):
        assert f"\n## `{path.stem}`\n" in page
    assert "`max_agent_hops` counts stage visits" in page
    keys = page.partition("\n## Keys of a pipeline\n")[2]
    assert [row for row in re.findall(r"^\| `.*", keys, re.MULTILINE) if row.endswith("|  |")] == []


def test_each_shipped_pipeline_has_its_bounds_and_the_time_limits_of_its_stages() -> None:
    fix = pipelines_page().partition("\n## `violation_fix`\n")[2].partition("\n## ")[0]
    assert "\n| `max_agent_hops` | " in fix
    assert "\n| `decide` | 300 | 1 | `report` | `decide` |\n| `act` | 1800 | 1 | `report` |  |\n" in fix


def test_each_event_and_each_error_is_there() -> None:
    events, errors = events_page(), errors_page()
    assert [name for name in get_args(ClientEventType) if f"\n### `{name}`\n" not in events] == []
    assert [kind for kind in get_args(Payload) if f"### `{kind.__struct_config__.tag}`" not in events] == []
    assert "– – `RateLimitedError` | `rate_limited` | 2 | 429 |" in errors
    assert [row for row in re.findall(r"^\| .*`.*", errors, re.MULTILINE) if row.endswith("|  |")] == []

    def below(kind: type[JeevesError]) -> list[type[JeevesError]]:
        return [kind, *(each for child in kind.__subclasses__() for each in below(child))]

    told = [kind for kind in below(JeevesError) if kind.__module__ == JeevesError.__module__]
    assert [kind for kind in told if f"`{kind.code}`" not in errors] == []


@pytest.mark.parametrize("code", list(REMEDIES))
def test_what_helps_with_an_error_is_on_a_page_that_is_there(code: str) -> None:
    for page, anchor in re.findall(r"\]\((?:\.\./)?([^)#]+)#?([^)]*)\)", REMEDIES[code]):
        place = DOCS / page
        assert place.is_file() or page == "settings.md"
        assert not anchor or anchor in anchors(place.read_text(encoding="utf-8"))


def section(page: str, heading: str) -> str:
    return page.partition(f"\n### `{heading}`\n")[2].partition("\n#")[0]


def test_each_event_for_callers_has_a_row_for_each_field_of_its_data() -> None:
    page = events_page()
    assert set(CLIENT_DATA) == set(get_args(ClientEventType))
    for name, kind in CLIENT_DATA.items():
        rows = re.findall(r"^\| `(\w+)` \| .+ \| (?:always|if there is one) \| .+ \|$", section(page, name), re.M)
        assert rows[: len(kind.__annotations__)] == [*kind.__annotations__]
    assert "| `attempt` | integer | always |" in section(page, "stage.started")
    assert "| `error` | text | if there is one |" in section(page, "stage.finished")
    assert "| `detail` | text or null | always |" in section(page, "run.finished")
    assert "| `text` | text | always | what is to be found out |" in section(page, "goals.changed")


def test_what_entries_of_the_run_log_consist_of_is_told_to_the_last_field() -> None:
    page = events_page()
    assert "| `key` | `StageKey` |  |" in section(page, "stage_started")
    assert "| `attempt` | integer | `1` |" in section(page, "StageKey")
    forms = set(re.findall(r"\| (?:list of |map to )?`([A-Z]\w+)`", page))
    assert [name for name in forms if f"### `{name}`" not in page and f"Each `{name}`:" not in page] == []


def test_each_route_and_each_body_is_there() -> None:
    page, document = http_page(), openapi()
    for path, operations in document["paths"].items():
        for method in operations:
            assert f"\n## `{method.upper()} {path}`\n" in page
    assert [name for name in document["components"]["schemas"] if f"### `{name}`" not in page] == []


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "integer", "minimum": 0, "maximum": 9}, "integer ≥ 0, ≤ 9"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "text"),
        ({"enum": ["a", "b"]}, "`a`, `b`"),
        ({"enum": [True, 1]}, "`true`, `1`"),
        ({"type": "array", "items": {"$ref": "#/$defs/Rule"}}, "list of `Rule`"),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, "map to true or false"),
        ({"type": "object", "additionalProperties": True}, "map"),
        ({}, "any value"),
    ],
)
def test_the_form_of_a_schema_is_told_in_words(schema: dict[str, object], told: str) -> None:
    assert form(schema) == told


def test_text_of_code_is_literal_in_markdown_and_code_spans_stay() -> None:
    assert prose("a <b> [c](d) *e* `f_g` h_i") == "a \\<b\\> \\[c\\](d) \\*e\\* `f_g` h\\_i"
    assert list(table(("a",), [(code("x | y"),)]))[3] == "| `x \\| y` |"
