"""Generates the pages of pipeline keys and errors from the classes that define them."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from runtime.errors import JeevesError
from runtime.pipeline.config import AgentConfig, AgentResources, EdgeLimit, PipelineConfig, RoutingRule
from runtime.pipeline.loading import load_pipeline
from runtime.settings import shipped_config_dir
from serve.cli.output.pipeline_graph import mermaid
from serve.http.documents.problems import members_of
from tests.documentation.key_meanings import MEANINGS, REMEDIES
from tests.documentation.markdown import code, form, prose, table

ROOT = Path(__file__).resolve().parents[2]
_BOUNDS = ("max_iterations", "max_agent_hops", "max_llm_calls", "max_tool_calls", "max_tokens", "deadline_s")
_SENTENCE = re.compile(r"^\d+\. (?!`tests/)(.+)$", re.MULTILINE)


def pipelines_page() -> str:
    """Return the page of pipelines: each that ships, drawn and with its figures, then all keys with their meaning."""
    lines = [
        "# Pipelines",
        "",
        "Generated from the pipeline model and the shipped pipelines. [Add a pipeline](../guides/add-a-pipeline.md)",
        "has the steps, [Semantics of a run](../semantics.md) the exact behaviour with its tests.",
        "",
    ]
    for path in sorted((shipped_config_dir() / "pipelines").glob("*.yaml")):
        pipeline = load_pipeline(path)
        lines += [f"## `{pipeline.name}`", "", prose(pipeline.description), ""]
        lines += ["```mermaid", mermaid(pipeline).rstrip("\n"), "```", "", *_figures(pipeline)]
    for title, model in (
        ("Keys of a pipeline", PipelineConfig),
        ("Keys of a stage (`agents`)", AgentConfig),
        ("Keys of a routing rule (`routing_rules`)", RoutingRule),
        ("Keys of an edge limit (`edge_limits`)", EdgeLimit),
        ("Keys of a claim (`resources`)", AgentResources),
    ):
        lines += [f"## {title}", "", prose((inspect.getdoc(model) or "").replace("\n", " ")), "", *_keys(model)]
    return "\n".join(lines) + "\n"


def _figures(pipeline: PipelineConfig) -> Iterator[str]:
    """Yield the bounds of a pipeline, and the time limit and further attempts of each stage."""
    given = pipeline.model_dump()
    shown = [(name, given[name]) for name in _BOUNDS if given[name] is not None]
    yield from table(("bound of a run", "at most"), [(code(name), str(value)) for name, value in shown])
    context = [(code(name), str(value)) for name, value in pipeline.context_bounds.items()]
    if context:
        yield from table(("bound that its agents keep", "at most"), context)
    rows = [
        (
            code(agent.name),
            f"{pipeline.default_timeout_s if agent.timeout_s is None else agent.timeout_s:g}",
            str(agent.max_retries),
            code(agent.error_next or ""),
            code(agent.model_role or ""),
        )
        for agent in pipeline.agents
    ]
    yield from table(("stage", "time limit, s", "tried again", "if it fails", "model role"), rows)


def _keys(model: type[BaseModel]) -> Iterator[str]:
    schema = model.model_json_schema(by_alias=True)
    semantics = _SENTENCE.findall((ROOT / "docs" / "semantics.md").read_text(encoding="utf-8"))
    rows = []
    for key, each in schema["properties"].items():
        default = each.get("default")
        own = MEANINGS[model.__name__].get(key, "")
        told = own or next(sentence for sentence in semantics if f"`{key}`" in sentence or f"`{key}:" in sentence)
        rows.append((code(key), form(each), "" if default is None else code(json.dumps(default)), prose(told)))
    yield from table(("key", "form", "default", "what holds of it"), rows)


def errors_page() -> str:
    """Return the page of errors: code, exit status, HTTP status and remedy of each class."""
    lines = [
        "# Errors",
        "",
        "Generated from `runtime/errors.py`. A command prints the message on standard error and ends with the exit",
        "status; the HTTP service answers with a problem document that has the code and the HTTP status.",
    ]
    rows = []
    for depth, kind in _tree(JeevesError, 0):
        status = members_of(kind("")).get("status", "")
        name = f"{'– ' * depth}{code(kind.__name__)}"
        told = prose((inspect.getdoc(kind) or "").split("\n\n")[0])
        rows.append((name, code(kind.code), str(kind.exit_status), str(status), told, remedy_of(kind)))
    lines += table(("class", "code", "exit status", "HTTP status", "what it reports", "what helps"), rows)
    return "\n".join(lines) + "\n"


def remedy_of(kind: type[JeevesError]) -> str:
    """Return where the remedy of an error is: its own, or that of the nearest error above it."""
    above = (each.code for each in kind.__mro__ if issubclass(each, JeevesError))
    return next(REMEDIES[code_above] for code_above in above if code_above in REMEDIES)


def _tree(kind: type[JeevesError], depth: int) -> Iterator[tuple[int, type[JeevesError]]]:
    yield depth, kind
    for below in kind.__subclasses__():
        if below.__module__ == JeevesError.__module__:
            yield from _tree(below, depth + 1)
