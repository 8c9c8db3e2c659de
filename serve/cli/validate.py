"""Runs `jeeves validate`: reports all faults in configuration, with file, line and key.

Checks pipelines, settings, model files and prompts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from runtime.errors import DocumentFaults
from runtime.llm.model_file import load_models
from runtime.llm.prompts import read_prompt
from runtime.llm.provider import all_providers
from runtime.pipeline.config import END, INTERRUPT_TARGETS, PipelineConfig
from runtime.pipeline.loading import load_pipeline
from runtime.primitives.yaml_documents import load_yaml
from runtime.settings import load_settings
from serve.cli.terminal import say, warn_line
from serve.contributions import providers
from serve.llm.resources import described


def validate(
    files: Annotated[
        list[Path], typer.Argument(readable=False, help="Pipelines, settings, model files (YAML), prompts (Markdown).")
    ],
    graph: Annotated[bool, typer.Option("--graph", help="Print each pipeline as a Mermaid flowchart.")] = False,
) -> None:
    """Check files and report all faults at once; exit status 2 if there are any."""
    faults: list[str] = []
    for file in files:
        try:
            say(_checked(file, graph))
        except DocumentFaults as error:
            faults += error.values["faults"]
    for fault in faults:
        warn_line(fault)
    if faults:
        raise typer.Exit(2)


def _checked(file: Path, graph: bool) -> str:
    if file.suffix == ".md":
        return f"{file}: prompt {read_prompt(file).label}, valid\n"
    data = load_yaml(file).data
    if isinstance(data, dict) and "deployments" in data:
        models = load_models(file, contributed=providers())
        told = "".join(f"  {line}\n" for line in described(models, all_providers(providers())))
        return f"{file}: {len(models.deployments)} models, {len(models.roles)} roles, valid\n{told}"
    if isinstance(data, dict) and "agents" in data and not isinstance(data["agents"], dict):
        pipeline = load_pipeline(file)
        return (
            mermaid(pipeline)
            if graph
            else f"{file}: pipeline '{pipeline.name}', {len(pipeline.agents)} stages, valid\n"
        )
    if isinstance(data, dict) and "name" in data:
        load_pipeline(file)
    load_settings(file, env={"HOME": str(Path.home())})
    return f"{file}: settings, valid\n"


def mermaid(pipeline: PipelineConfig) -> str:
    """Return the pipeline as a Mermaid flowchart, with one edge per route."""
    lines = ["flowchart LR"]
    for agent in pipeline.agents:
        lines.append(f"    {agent.name}[{agent.name}]")
        for rule in agent.routing_rules:
            label = _label(f"{rule.condition} = {json.dumps(rule.value, ensure_ascii=False)}")
            lines.append(f"    {agent.name} -->|{label}| {_node(rule.target)}")
        lines.append(f"    {agent.name} --> {_node(agent.default_next or END)}")
        if agent.error_next:
            lines.append(f"    {agent.name} -.->|error| {_node(agent.error_next)}")
    return "\n".join(lines) + "\n"


def _node(target: str) -> str:
    # Mermaid reads a node named `end` as the end of a subgraph.
    return f"{target.upper()}([{target}])" if target in (END, *INTERRUPT_TARGETS) else target


def _label(text: str) -> str:
    """Return the text quoted, so that Mermaid accepts any character."""
    return '"' + " ".join(text.split()).replace("&", "#amp;").replace('"', "#quot;") + '"'
