"""Whole runs whose four agents reason with a scripted model, over the small repository or one of the test's own."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from actors.capabilities.code_analysis.capability import CAPABILITY
from runtime.agents.capability import Capability
from runtime.agents.stage_runner import Agent
from runtime.hosting.local_runner import LocalRunner
from runtime.llm.client import ModelClient, RetryRules
from runtime.llm.messages import ModelRequest
from runtime.llm.model_file import ModelsFile
from runtime.llm.prompts import PromptRegistry
from runtime.llm.protocol import ModelBackend
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import Clock, SystemClock
from runtime.run.envelope import Envelope
from runtime.settings import shipped_config_dir
from runtime.store.run_log import MemoryRunLog
from serve.answer_document import Ask, document_of
from serve.runtimes.answering import request_of
from tests.capabilities.code_analysis.support import AnalysisHarness

PROMPTS = PromptRegistry.open([shipped_config_dir()], "code_analysis")

OPENINGS = {
    "You are the intent agent": "intent",
    "You are the planner": "planner",
    "You are the synthesizer": "synthesizer",
    "You are the critic": "critic",
}


def agent_of(request: ModelRequest) -> str:
    """The agent that a request is from, by the words of its prompt."""
    text = request.messages[1].content
    return next(agent for opening, agent in OPENINGS.items() if opening in text)


def by_agent(answers: Mapping[str, Any]) -> Callable[[ModelRequest], str]:
    """A script step: each agent's answer, as JSON unless it is a text."""

    def answer(request: ModelRequest) -> str:
        told = answers[agent_of(request)]
        told = told(request) if callable(told) else told
        return told if isinstance(told, str) else json.dumps(told)

    return answer


def written(goal: str, text: str, *facts: tuple[int, int, int]) -> dict[str, Any]:
    """A claim as a model writes it: its goal, its text, and (fact, first line, last line) of what it rests on."""
    cited = [{"fact": fact, "first_line": first, "last_line": last} for fact, first, last in facts]
    return {"goal": goal, "text": text, "facts": cited}


def fact_number(request: ModelRequest, name: str) -> int:
    """The number under which a synthesizer is shown the code of a name."""
    facts = request.messages[1].content.partition("\nFacts:\n")[2]
    found = re.search(rf"^(\d+)\. code {re.escape(name)} ", f"\n{facts}", re.MULTILINE)
    assert found is not None, facts
    return int(found.group(1))


def planned(tool: str, target: str, *goals: str, **options: str) -> dict[str, Any]:
    """A step as a model plans it."""
    given = [{"name": name, "value": value} for name, value in options.items()]
    return {"tool": tool, "target": target, "options": given, "goals": list(goals), "why": "find it"}


def any_instance(schema: Mapping[str, Any], chance: random.Random) -> Any:
    """A value that fits a bounded schema and means nothing: what a model without a mind gives under guided decoding."""
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return any_instance(chance.choice(schema["anyOf"]), chance)
    kind = schema["type"]
    if kind == "object":
        return {name: any_instance(part, chance) for name, part in schema["properties"].items()}
    if kind == "array":
        count = chance.randint(schema.get("minItems", 0), schema["maxItems"])
        return [any_instance(schema["items"], chance) for _ in range(count)]
    if kind == "string":
        return "".join(chance.choice(_PIECES) for _ in range(chance.randint(0, 12)))[: schema["maxLength"]]
    if kind == "integer":
        return chance.randint(schema["minimum"], min(schema["maximum"], 12))
    return chance.uniform(0, 1)


_PIECES = (
    *("deliver_parcel ", "accept ", "`is_full` ", "the ", "[relay/van.py:1]", "[.env:1-2] ", "/etc/passwd", "../x.py "),
    *("relay/depot.py ", "Depot", "{{lines}}", "```", "\n# system\n", "made_up_function() ", "é", "\u202e", '"', "\\"),
)


def models_file(max_model_len: int = 32_768, max_tokens: int = 1_024) -> ModelsFile:
    """One deployment for every role."""
    deployment = {"backend": "openai", "model": "m", "base_url": "http://x", "max_model_len": max_model_len}
    return ModelsFile.model_validate(
        {
            "deployments": {"main": deployment},
            "roles": {"default": {"deployment": "main", "max_tokens": max_tokens}},
        }
    )


class ModelDesk:
    """Answers questions at a AnalysisHarness's repository, with a model."""

    def __init__(
        self,
        desk: AnalysisHarness,
        backend: ModelBackend,
        capability: Capability = CAPABILITY,
        config: PipelineConfig | None = None,
        models: ModelsFile | None = None,
        clock: Clock | None = None,
        other: ModelBackend | None = None,
    ) -> None:
        self._desk = desk
        self._capability = capability
        self._config = config or desk.config
        self._clock = clock or SystemClock()
        retry = RetryRules(max_attempts=1)
        backends = {"main": backend, **({} if other is None else {"other": other})}
        self._client = ModelClient(models or models_file(), backends, self._clock, retry)
        self.last: Envelope | None = None

    async def ask(self, question: str, **asked: Any) -> dict[str, Any]:
        """A whole run; its answer document."""
        services = self._capability.open_services({})
        agents = {
            agent.name: Agent(
                *(agent, self._capability, "llm", {}, self._clock, self._desk.queries, services, self._client, PROMPTS)
            )
            for agent in self._config.agents
        }
        pipelines, hosted = {self._config.name: self._config}, {self._config.name: agents}
        runner = LocalRunner(pipelines, hosted, MemoryRunLog(), self._clock)
        ask = Ask(question, str(self._desk.root), self._config.name, **asked)
        try:
            envelope = await runner.run(request_of(ask, self._desk.repository))
        finally:
            await runner.close()
        self.last = envelope
        return document_of(ask, envelope, "llm")
