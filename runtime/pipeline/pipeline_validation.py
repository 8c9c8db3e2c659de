"""Validates a pipeline as a whole; each check yields all of its problems as (key path, problem) pairs.

Pydantic checks the form of single values (`runtime.pipeline.config`), and `runtime.pipeline.agent_validation` the rules
of one agent; here are the rules across stages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches

from runtime.pipeline.agent_validation import Problem, problems_of_agent
from runtime.pipeline.config import END, INTERRUPT_TARGETS, LOOP_KINDS, AgentConfig, PipelineConfig, edge_name
from runtime.pipeline.interrupt_kinds import TIME_TO_LIVE_MS


def problems_of(config: PipelineConfig, complete: bool = True) -> list[Problem]:
    """Return every problem of `config`, in the order of the checks; empty when it may run.

    For a config that is not `complete`, because parts of its document could not be read, checks are skipped whose
    problems may only follow from the missing parts.
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
    for field, target in [("final_stage", config.final_stage), *_resume_stages(config)]:
        if target is not None and target not in stages:
            yield (field,), _unknown(target, stages)


def _resume_stages(config: PipelineConfig) -> list[tuple[str, str | None]]:
    return [(f"{kind}_resume_stage", config.resume_stage(kind)) for kind in INTERRUPT_TARGETS]


def _unknown(name: str, known: Iterable[str], what: str = "target") -> str:
    names = sorted(known)
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names)}"
    return f"unknown {what} '{name}'; {hint}"


def _kinds(config: PipelineConfig) -> Iterator[Problem]:
    for kind in config.interrupt_expiry:
        if kind not in TIME_TO_LIVE_MS:
            yield ("interrupt_expiry", kind), _unknown(kind, TIME_TO_LIVE_MS, "kind of interrupt")
        elif TIME_TO_LIVE_MS[kind] is None:
            yield ("interrupt_expiry", kind), f"a {kind} never expires"
    for kind, threshold in config.loop_detection.items():
        if kind not in LOOP_KINDS:
            yield ("loop_detection", kind), _unknown(kind, LOOP_KINDS, "kind of loop")
        elif threshold < 2:
            yield ("loop_detection", kind), f"{threshold} is no repetition; at least 2"


def _dependencies(config: PipelineConfig) -> Iterator[Problem]:
    for index, agent in enumerate(config.agents):
        for field, names in (("requires", agent.requires), ("after", agent.after)):
            for number, name in enumerate(names):
                path = ("agents", index, field, number)
                if name not in config.stages:
                    yield path, _unknown(name, config.stages, "stage")
                elif name == agent.name:
                    verb = "require" if field == "requires" else "come after"
                    yield path, f"'{name}' cannot {verb} itself"
                elif name in names[:number]:
                    yield path, f"'{name}' is given twice"
        if agent.join_strategy == "any" and len(agent.requires) < 2:
            yield ("agents", index, "join_strategy"), f"'any' of {len(agent.requires)} required stages; at least 2"


def _circles(config: PipelineConfig) -> Iterator[Problem]:
    requires = {agent.name: set(agent.requires) for agent in config.agents}
    yield from _each_circle(config, requires, "requires", "require one another in a circle")
    in_circles = {name for circle in _circles_in(requires) for name in circle}
    order = {
        agent.name: (requires[agent.name] | set(agent.after)) - in_circles
        for agent in config.agents
        if agent.name not in in_circles
    }
    yield from _each_circle(config, order, "after", "wait for one another in a circle")


def _each_circle(config: PipelineConfig, edges: Mapping[str, set[str]], field: str, problem: str) -> Iterator[Problem]:
    index_of = {agent.name: index for index, agent in enumerate(config.agents)}
    for circle in _circles_in(edges):
        path = " -> ".join(f"'{name}'" for name in [*circle, circle[0]])
        yield ("agents", index_of[circle[0]], field), f"{path}: they {problem}"


def _circles_in(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Return cycles of two and more stages, enough that every stage on a cycle is on one of these."""
    found: list[list[str]] = []
    for start in edges:
        if any(start in circle for circle in found):
            continue
        came_from: dict[str, str] = {}
        frontier = [start]
        while frontier and start not in came_from:
            name = frontier.pop(0)
            for following in sorted(edges.get(name, ())):
                if following not in came_from and following != name:
                    came_from[following] = name
                    frontier.append(following)
        if start in came_from:
            circle = [start]
            while came_from[circle[0]] != start:
                circle.insert(0, came_from[circle[0]])
            found.append([start, *circle[:-1]])
    return found


def _agents(config: PipelineConfig) -> Iterator[Problem]:
    for index, agent in enumerate(config.agents):
        for path, problem in problems_of_agent(agent):
            yield ("agents", index, *path), problem


def _order_means_something(config: PipelineConfig) -> Iterator[Problem]:
    for index, agent in enumerate(config.agents):
        if agent.after and not config.is_parallel:
            yield ("agents", index, "after"), "only orders in a parallel pipeline; routes order a sequential one"


def _fan_out_sources(config: PipelineConfig) -> Iterator[Problem]:
    keys = {agent.key for agent in config.agents}
    for index, agent in enumerate(config.agents):
        key = agent.foreach.split(".")[1] if agent.foreach else None
        if key is not None and key not in keys:
            yield ("agents", index, "foreach"), _unknown(key, keys, "output key")


def _clear_keys(config: PipelineConfig) -> Iterator[Problem]:
    keys = {agent.key for agent in config.agents}
    for index, agent in enumerate(config.agents):
        for number, rule in enumerate(agent.routing_rules):
            for key in rule.clear:
                if key not in keys:
                    yield ("agents", index, "routing_rules", number, "clear"), _unknown(key, keys)


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


def _asks_for_ever(config: PipelineConfig) -> Iterator[Problem]:
    """Check that a stage that asks by routing is not the stage that every answer leads back to.

    Without a resume stage of its kind, an answer leads back to the stage that asked. That is sound for a rule, as the
    stage may write something else when it sees the answer; not where all of its routes ask again.
    """
    for index, agent in enumerate(config.agents):
        routes = [*(rule.target for rule in agent.routing_rules), agent.default_next or END]
        if not all(route in INTERRUPT_TARGETS and config.resume_stage(route) in (None, agent.name) for route in routes):
            continue
        for number, kind in enumerate(routes):
            is_rule = number < len(agent.routing_rules)
            path = ("routing_rules", number, "target") if is_rule else ("default_next",)
            problem = f"each answer leads back to '{agent.name}', which asks again until a bound ends the run"
            yield ("agents", index, *path), f"{problem}; name a {kind}_resume_stage, or a route that does not ask"


def _reachable(config: PipelineConfig) -> Iterator[Problem]:
    """Check that every stage but the final one can be part of a run, and in a parallel run can start."""
    if any(True for _ in _circles(config)):
        return
    resumed = {stage for _, stage in _resume_stages(config)}
    if config.is_parallel:
        reached = _reach(config, config.scheduled_names | resumed, _has_what_it_requires)
    else:
        reached = _reach(config, {config.first_stage.name, *resumed})
    for index, agent in enumerate(config.agents):
        if agent.name in reached or agent.name == config.final_stage:
            continue
        missing = [f"'{name}'" for name in agent.requires if name not in reached]
        if config.is_parallel and missing:
            yield ("agents", index, "requires"), f"'{agent.name}' can never start: it lacks {', '.join(missing)}"
        elif config.is_parallel:
            yield ("agents", index), f"stage '{agent.name}' can never start: no stage that runs routes to it"
        else:
            yield ("agents", index), f"stage '{agent.name}' cannot be reached from '{config.first_stage.name}'"


MayRun = Callable[[AgentConfig, set[str]], bool]


def _reach(
    config: PipelineConfig, first: Iterable[str | None], may_run: MayRun = lambda agent, reached: True
) -> set[str]:
    """Return the stages that a run can reach from `first` along routes, each where `may_run` allows it."""
    wanted = {name for name in first if name in config.stages}
    reached: set[str] = set()
    while True:
        grown = {str(name) for name in wanted - reached if may_run(config.stages[str(name)], reached)}
        if not grown:
            return reached
        reached |= grown
        wanted |= {t for name in grown for t in config.targets_of(config.stages[name]) if t in config.stages}


def _has_what_it_requires(agent: AgentConfig, reached: set[str]) -> bool:
    there = [name in reached for name in agent.requires]
    return any(there) if agent.join_strategy == "any" and there else all(there)


def _required_in_time(config: PipelineConfig) -> Iterator[Problem]:
    """Check that in a sequential run the requirements of a stage can come before it."""
    if config.is_parallel:
        return
    for index, agent in enumerate(config.agents):
        before = _reached_before(config, agent.name) if agent.requires else set()
        late = [name for name in agent.requires if name in config.stages and name not in before]
        is_fatal = late and (agent.join_strategy == "all" or len(late) == len(agent.requires))
        if is_fatal and agent.name not in late:
            names = ", ".join(f"'{name}'" for name in late)
            yield ("agents", index, "requires"), f"no way leads through {names} before '{agent.name}'"


def _reached_before(config: PipelineConfig, stage: str) -> set[str]:
    def is_another(agent: AgentConfig, _reached: set[str]) -> bool:
        return agent.name != stage

    return _reach(config, {config.first_stage.name}, is_another)


CHECKS: tuple[Callable[[PipelineConfig], Iterator[Problem]], ...] = (
    _unique_names,
    _known_targets,
    _clear_keys,
    _kinds,
    _dependencies,
    _circles,
    _agents,
    _fan_out_sources,
    _order_means_something,
    _edges_exist,
    _self_loops,
    _asks_for_ever,
    _reachable,
    _required_in_time,
)

NEED_EVERY_TARGET = (
    _asks_for_ever,
    _edges_exist,
    _reachable,
    _required_in_time,
    _fan_out_sources,
    _order_means_something,
)
