"""Draws pipelines as Mermaid flowcharts.

a --> b             a route; with a label, the rule            a -.->|error| b     the error route
a ==>|requires| b   b requires a; `all of` and `any of` join   a -.->|after| b     b waits for a if a runs
a[[a]]              one item of a list at a time (foreach)     a[/a/]              the final stage
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from runtime.pipeline.config import END, INTERRUPT_TARGETS, AgentConfig, PipelineConfig


def mermaid(pipeline: PipelineConfig) -> str:
    """Return the pipeline as a Mermaid flowchart: stages, routes, requirements, joins and questions to people."""
    lines = ["flowchart LR"]
    for agent in pipeline.agents:
        lines.append(_stage(pipeline, agent))
        lines += _dependencies(agent)
        lines += _routes(pipeline, agent)
    lines += _answers(pipeline)
    return "\n    ".join(lines) + "\n"


def _stage(pipeline: PipelineConfig, agent: AgentConfig) -> str:
    notes = [f"foreach {agent.foreach}, {agent.foreach_concurrency} at once"] if agent.foreach else []
    notes += ["final stage"] if agent.name == pipeline.final_stage else []
    if not notes:
        return f"{agent.name}[{agent.name}]"
    left, right = ("[[", "]]") if agent.foreach else ("[/", "/]")
    return f"{agent.name}{left}{_label('<br/>'.join([agent.name, *notes]))}{right}"


def _dependencies(agent: AgentConfig) -> Iterator[str]:
    """Yield an edge from each stage that this one waits for; several requirements meet in a node with the join."""
    if len(agent.requires) > 1:
        join = f"{agent.name}__join"
        yield f"{join}{{{agent.join_strategy} of}}"
        yield f"{join} ==>|requires| {agent.name}"
        yield from (f"{name} ==> {join}" for name in agent.requires)
    else:
        yield from (f"{name} ==>|requires| {agent.name}" for name in agent.requires)
    yield from (f"{name} -.->|after| {agent.name}" for name in agent.after)


def _routes(pipeline: PipelineConfig, agent: AgentConfig) -> Iterator[str]:
    for rule in agent.routing_rules:
        label = _label(f"{rule.condition} = {json.dumps(rule.value, ensure_ascii=False)}")
        yield f"{agent.name} -->|{label}| {_node(rule.target)}"
    if agent.default_next or not _is_followed(pipeline, agent):
        yield f"{agent.name} --> {_node(agent.default_next or END)}"
    if agent.error_next:
        yield f"{agent.name} -.->|error| {_node(agent.error_next)}"


def _is_followed(pipeline: PipelineConfig, agent: AgentConfig) -> bool:
    """Return whether a stage of a parallel run leads on without a route: another one requires it or comes after it."""
    waiting = (name for other in pipeline.agents for name in (*other.requires, *other.after))
    return pipeline.is_parallel and agent.name in waiting


def _answers(pipeline: PipelineConfig) -> Iterator[str]:
    """Yield an edge from each kind of question to the stage at which its answer is taken up."""
    for kind in INTERRUPT_TARGETS:
        stage = pipeline.resume_stage(kind)
        if stage is not None:
            yield f"{_node(kind)} -->|answered| {stage}"


def _node(target: str) -> str:
    # Mermaid reads a node named `end` as the end of a subgraph.
    return f"{target.upper()}([{target}])" if target in (END, *INTERRUPT_TARGETS) else target


def _label(text: str) -> str:
    """Return the text quoted, so that Mermaid accepts any character."""
    return '"' + " ".join(text.split()).replace("&", "#amp;").replace('"', "#quot;") + '"'
