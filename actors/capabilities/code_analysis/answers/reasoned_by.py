"""Tells which reasoner wrote an answer, and where rules took over from a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actors.capabilities.code_analysis.evidence.claims import plain

REASONED_BY = "reasoned_by"

TOOK_OVER = "rules_took_over"


def taken_over(outputs: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every visit in which the rules took a model's place, in order, as far as the outputs remember."""
    records = [record for output in outputs.values() for record in output.get(TOOK_OVER, ())]
    by_hop = {(record["hop"], record["agent"]): record for record in records}
    return [by_hop[key] for key in sorted(by_hop)]


def is_by_model(output: Mapping[str, Any]) -> bool:
    """Return whether a model reasoned in an output's visit."""
    reasoned_by = output.get(REASONED_BY)
    return isinstance(reasoned_by, Mapping) and reasoned_by.get("reasoner") == "llm"


def with_note(answer: str, outputs: Mapping[str, Mapping[str, Any]], model_unused: bool = False) -> str:
    """The answer, and a sentence on who reasoned in the model's place where anybody did."""
    records = taken_over(outputs)
    agents = dict.fromkeys(str(record["agent"]) for record in records)
    if not agents:
        return answer
    if model_unused:
        why = plain(str(records[0].get("why", ""))).rstrip(".")
        answer = f"**No model took part in this answer** ({why}).\n\n{answer}"
    return f"{answer}\n\nThe model could not be used for {', '.join(agents)}; rules took its place there."
