"""Extracts facts from tool output: by rules, from the result where none matched, or by a model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from pydantic import Field, ValidationError

from runtime.context.actions import ActionResult
from runtime.context.builtin_rules import RULE_SETS
from runtime.context.fact_rules import RuleSet, ToolOutput, apply_rules, fact_id, stated
from runtime.context.fields import MAX_NAME_CHARS, Frozen, Statement
from runtime.context.understanding import Fact, FactCategory

log = logging.getLogger(__name__)

RESULT_CONFIDENCE = 0.7
MODEL_CONFIDENCE = 0.6
MAX_MODEL_CONFIDENCE = 0.8
# A model is asked only where the rules drew fewer facts than this.
ENOUGH_FACTS = 2
MAX_MODEL_FACTS = 10
RESULT_RULE = "result"
MODEL_RULE = "llm"

# Returns what a model concludes from the output of a tool: mappings with statement, category, confidence.
ModelExtractor = Callable[[ToolOutput], Sequence[Mapping[str, Any]]]

_OUTCOMES = {
    ActionResult.SUCCESS: "succeeded",
    ActionResult.FAILURE: "failed",
    ActionResult.PARTIAL: "succeeded in part",
    ActionResult.SKIPPED: "was skipped",
    ActionResult.FATAL: "failed for good",
}
_VERIFIED = frozenset({ActionResult.SUCCESS, ActionResult.PARTIAL})


class SuggestedFact(Frozen):
    """States one conclusion of a language model; it cannot be a verification, since a model verifies nothing."""

    statement: Statement
    category: FactCategory = FactCategory.INFERENCE
    confidence: float = Field(default=MODEL_CONFIDENCE, ge=0, le=1)


class Extraction(msgspec.Struct, frozen=True):
    """Holds the facts of one output, and what went wrong: matches left out, rules out of time, a model's failures."""

    facts: tuple[Fact, ...]
    left_out: int = 0
    timed_out: tuple[str, ...] = ()
    model_failures: int = 0

    @property
    def is_specific(self) -> bool:
        """True if a fact says more than the result does."""
        return any(is_specific(fact) for fact in self.facts)


class Coverage(NamedTuple):
    """Counts the outputs of tools, and those that gave at least one specific fact."""

    outputs: int
    specific: int

    @property
    def share(self) -> float:
        """The specific ones among all outputs; 1 without outputs."""
        return self.specific / self.outputs if self.outputs else 1.0


def is_specific(fact: Fact) -> bool:
    """Return whether a fact was drawn from the text of an output, not from its result alone."""
    return not fact.source.endswith(f":{RESULT_RULE}")


def coverage_of(outputs: Iterable[Iterable[Fact]]) -> Coverage:
    """Return how many outputs of tools, each given by its facts, have a specific one."""
    specific = [any(is_specific(fact) for fact in facts) for facts in outputs]
    return Coverage(len(specific), sum(specific))


def extract_facts(
    output: ToolOutput, rule_sets: Mapping[str, RuleSet] = RULE_SETS, ask_model: ModelExtractor | None = None
) -> Extraction:
    """Return the facts of an output, at least one; `ask_model` is called only where the rules drew fewer than two."""
    rule_set = rule_sets.get(output.tool)
    drawn, left_out, timed_out = apply_rules(output, rule_set) if rule_set else ((), 0, ())
    if timed_out:
        log.warning("rules for the output of a tool ran out of time", extra={"tool": output.tool, "rules": timed_out})
    extraction = Extraction((*drawn, *_left_out(output, left_out)) or (_of_result(output),), left_out, timed_out)
    if ask_model is None or not wants_model(extraction):
        return extraction
    try:
        suggested = ask_model(output)
    except Exception as error:  # noqa: BLE001 - facts of a model are an addition; a step never fails for lack of them
        log.warning("a model drew no facts from the output of a tool", extra={"tool": output.tool, "error": str(error)})
        return msgspec.structs.replace(extraction, model_failures=1)
    return with_suggested(extraction, output, suggested)


def wants_model(extraction: Extraction) -> bool:
    """Return whether so few facts were drawn by rules that a model may be asked."""
    return sum(map(is_specific, extraction.facts)) < ENOUGH_FACTS


def with_suggested(extraction: Extraction, output: ToolOutput, suggested: object) -> Extraction:
    """Return the extraction with a model's conclusions, each checked; those that are malformed count as failures.

    Callers that await a model use this with `wants_model`, in the place of `ask_model`.
    """
    if not isinstance(suggested, Sequence) or isinstance(suggested, str | bytes):
        log.warning("a model's facts are no list", extra={"tool": output.tool, "type": type(suggested).__name__})
        return msgspec.structs.replace(extraction, model_failures=extraction.model_failures + 1)
    made: dict[str, Fact] = {}
    failures = max(0, len(suggested) - MAX_MODEL_FACTS)
    for each in suggested[:MAX_MODEL_FACTS]:
        try:
            fact = _of_model(output, SuggestedFact.model_validate(each))
        except ValidationError as error:
            log.warning("a model's fact is malformed", extra={"tool": output.tool, "faults": error.error_count()})
            failures += 1
        else:
            made[fact.id] = fact
    return msgspec.structs.replace(
        extraction,
        facts=(*extraction.facts, *made.values()),
        model_failures=extraction.model_failures + failures,
    )


def _of_model(output: ToolOutput, suggested: SuggestedFact) -> Fact:
    is_claim = suggested.category is FactCategory.VERIFICATION
    statement = stated(suggested.statement) or MODEL_RULE
    source = f"{output.tool}:{MODEL_RULE}"[-MAX_NAME_CHARS:]
    return Fact(
        id=fact_id(output.step, source, statement, output.scope),
        category=FactCategory.INFERENCE if is_claim else suggested.category,
        statement=statement,
        confidence=min(suggested.confidence, MAX_MODEL_CONFIDENCE),
        source=source,
        step=output.step,
    )


def _of_result(output: ToolOutput) -> Fact:
    """Return the fact that a tool ended so; of a failure with the first line that it gave."""
    is_verified = output.result in _VERIFIED
    reason = "" if is_verified else next((line for line in output.text[:2_000].splitlines() if line.strip()), "")
    outcome = f"{output.tool} {_OUTCOMES[output.result]}"
    statement = stated(f"{outcome}: {reason}" if reason else outcome)
    source = f"{output.tool}:{RESULT_RULE}"[-MAX_NAME_CHARS:]
    return Fact(
        id=fact_id(output.step, source, statement, output.scope),
        category=FactCategory.VERIFICATION if is_verified else FactCategory.ERROR,
        statement=statement,
        confidence=RESULT_CONFIDENCE,
        source=source,
        step=output.step,
        kind=RESULT_RULE,
        subject=output.tool[:MAX_NAME_CHARS],
        scope=stated(output.scope),
    )


def _left_out(output: ToolOutput, count: int) -> tuple[Fact, ...]:
    if not count:
        return ()
    statement = f"{count} more matches in the output of {stated(output.tool)} are not listed"
    source = f"{output.tool}:bound"[-MAX_NAME_CHARS:]
    return (
        Fact(
            id=fact_id(output.step, source, statement, output.scope),
            category=FactCategory.PATTERN,
            statement=statement,
            confidence=1.0,
            source=source,
            step=output.step,
        ),
    )
