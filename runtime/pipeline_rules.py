"""What must hold of a pipeline as a whole: each check yields (key path, problem) pairs, all of them.

The shape of single values is pydantic's business (`runtime.pipeline`); here are the rules across stages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches

from runtime.documents import KeyPath
from runtime.pipeline import END, INTERRUPT_TARGETS, PipelineConfig, edge_name

Problem = tuple[KeyPath, str]


def problems_of(config: PipelineConfig, complete: bool = True) -> list[Problem]:
    """Every problem of `config`, in the order of the checks; empty when it may run.

    Of a config that is not `complete`, because parts of its document could not be read, nothing is said that only
    follows from what is missing.
    """
    return [problem for check in CHECKS if complete or check not in NEED_EVERY_TARGET for problem in check(config)]


def _unique_names(config: PipelineConfig) -> Iterator[Problem]:
    yield from _repeated("name", [agent.name for agent in config.agents])
    yield from _repeated("stage_order", [agent.stage_order for agent in config.agents])
    yield from _repeated("output_key", [agent.key for agent in config.agents])
    for index, agent in enumerate(config.agents):
        if agent.name in (END, *INTERRUPT_TARGETS):
            yield ("agents", index, "name"), f"'{agent.name}' is a routing target of its own and cannot name a stage"


def _repeated(field: str, values: list[str] | list[int]) -> Iterator[Problem]:
    counts = Counter(values)
    for index, value in enumerate(values):
        if counts[value] > 1 and values.index(value) != index:  # type: ignore[arg-type]
            yield ("agents", index, field), f"{value!r} is used by agents[{values.index(value)}] already"  # type: ignore[arg-type]


def _known_targets(config: PipelineConfig) -> Iterator[Problem]:
    stages = set(config.stages)
    special = {END, *INTERRUPT_TARGETS}
    for index, agent in enumerate(config.agents):
        for number, rule in enumerate(agent.routing_rules):
            if rule.target not in stages | special:
                path = ("agents", index, "routing_rules", number, "target")
                yield path, _unknown(rule.target, stages | special)
        for field, target, allowed in (
            ("default_next", agent.default_next, stages | special),
            ("error_next", agent.error_next, stages | {END}),
        ):
            if target is not None and target not in allowed:
                yield ("agents", index, field), _unknown(target, allowed)
    for index, limit in enumerate(config.edge_limits):
        for field, name in (("from", limit.source), ("to", limit.target)):
            if name not in stages:
                yield ("edge_limits", index, field), _unknown(name, stages)
    if config.final_stage is not None and config.final_stage not in stages:
        yield ("final_stage",), _unknown(config.final_stage, stages)


def _unknown(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names)}"
    return f"unknown target '{name}'; {hint}"


def _clear_keys(config: PipelineConfig) -> Iterator[Problem]:
    keys = {agent.key for agent in config.agents}
    for index, agent in enumerate(config.agents):
        for number, rule in enumerate(agent.routing_rules):
            for key in rule.clear:
                if key not in keys:
                    yield ("agents", index, "routing_rules", number, "clear"), _unknown(key, keys)


def _model_and_tools(config: PipelineConfig) -> Iterator[Problem]:
    for index, agent in enumerate(config.agents):
        if agent.has_llm and not agent.model_role:
            yield ("agents", index, "model_role"), "required when has_llm is true"
        if agent.has_tools and agent.tool_access == "none":
            yield ("agents", index, "tool_access"), "'none' although has_tools is true; give read, write or all"
        if agent.allowed_tools and not agent.has_tools:
            yield ("agents", index, "allowed_tools"), "given although has_tools is false"


def _edges_exist(config: PipelineConfig) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, limit in enumerate(config.edge_limits):
        name = edge_name(limit.source, limit.target)
        if name in seen:
            yield ("edge_limits", index), f"edge '{limit.source}' -> '{limit.target}' has a limit already"
        seen.add(name)
        source = config.stages.get(limit.source)
        if source is not None and limit.target in config.stages and limit.target not in config.targets_of(source):
            problem = f"no routing leads from '{limit.source}' to '{limit.target}': the limit would never hold"
            yield ("edge_limits", index), problem


def _self_loops(config: PipelineConfig) -> Iterator[Problem]:
    for index, agent in enumerate(config.agents):
        if agent.name in config.targets_of(agent) and edge_name(agent.name, agent.name) not in config.edge_limit_of:
            yield ("agents", index), f"'{agent.name}' may follow itself without an edge limit '{agent.name}' -> itself"


def _reachable(config: PipelineConfig) -> Iterator[Problem]:
    reached = {config.first_stage.name} | ({config.final_stage} if config.final_stage else set())
    frontier = [name for name in reached if name in config.stages]
    while frontier:
        for target in config.targets_of(config.stages[frontier.pop()]):
            if target in config.stages and target not in reached:
                reached.add(target)
                frontier.append(target)
    for index, agent in enumerate(config.agents):
        if agent.name not in reached:
            yield ("agents", index), f"stage '{agent.name}' cannot be reached from '{config.first_stage.name}'"


CHECKS: tuple[Callable[[PipelineConfig], Iterator[Problem]], ...] = (
    _unique_names,
    _known_targets,
    _clear_keys,
    _model_and_tools,
    _edges_exist,
    _self_loops,
    _reachable,
)

NEED_EVERY_TARGET = (_edges_exist, _reachable)
