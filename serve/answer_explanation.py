"""Builds the explanation of an answer document: what was considered, proven and left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from runtime.run.envelope import Envelope
from runtime.run.goals import RoundSummary

_PLACE = ("file", "start_line", "end_line")


def attempts(envelope: Envelope) -> list[dict[str, Any]]:
    """Return the attempts of each step, by pass."""
    return [
        {"round": done.number, "route": done.synthesis.get("route"), "steps": done.synthesis.get("attempts", {})}
        for done in envelope.goals.finished_rounds
    ]


def explanation(envelope: Envelope, citations: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return {intent, goals, rounds, left_out}; `citations`: those of the answer, which tell what was told of.

    Of a pass: the plan, its steps, `considered` (places with their features and contributions), `proofs`, `trust` (why
    it is told or called not found; None for what is not in words), `claims` with the lines that bear them, `lists_cut`,
    and the reason for the route taken. `left_out`: claims that the check of the files did not let pass.
    """
    intent = envelope.outputs.get("intent", {})
    names = ("intent", "constraints", "confidence", "hint_used")
    goals = [{"id": g.id, "text": g.text, "status": g.status, "priority": g.priority} for g in envelope.goals.goals]
    cited = list(citations)
    return {
        "intent": {name: intent.get(name) for name in names},
        "goals": goals,
        "rounds": [_round(done, cited) for done in envelope.goals.finished_rounds],
        "left_out": _dicts(envelope.outputs.get("integration", {}).get("claims_left_out")),
    }


def _round(done: RoundSummary, cited: list[dict[str, Any]]) -> dict[str, Any]:
    explained = done.synthesis.get("explained")
    explained = explained if isinstance(explained, dict) else {}
    claims = [_claim(goal, claim) for goal, claim in _claims(done)]
    return {
        "round": done.number,
        "plan": done.synthesis.get("plan", {}),
        "steps": done.synthesis.get("steps", []),
        "satisfied_goals": list(done.satisfied),
        "new_evidence": done.evidence,
        "context": done.synthesis.get("context", {}),
        "considered": [{**place, "told": _is_told(place, cited)} for place in _dicts(explained.get("places"))],
        "proofs": _dicts(explained.get("proofs")),
        "trust": explained.get("trust"),
        "claims": claims,
        "lists_cut": _lists_cut(done),
        "claims_dropped": _draft_of(done).get("dropped", {}),
        "claims_struck": done.synthesis.get("struck") or [],
        "route": done.synthesis.get("route"),
        "because": done.synthesis.get("because"),
    }


def _claims(done: RoundSummary) -> list[tuple[str, dict[str, Any]]]:
    hints = done.synthesis.get("hints_for_goals")
    goals = hints.items() if isinstance(hints, dict) else ()
    return [(str(goal), claim) for goal, claims in goals for claim in _dicts(claims) if claim.get("text")]


def _claim(goal: str, claim: dict[str, Any]) -> dict[str, Any]:
    lines = [{name: cited.get(name) for name in (*_PLACE, "quote")} for cited in _dicts(claim.get("citations"))]
    return {"goal": goal, "role": claim.get("role"), "text": claim["text"], "proof": lines}


def _lists_cut(done: RoundSummary) -> list[dict[str, Any]]:
    """Return the lists that are shorter than what was found, with the number shown and found."""
    shown = Counter(str(claim.get("role")) for _, claim in _claims(done) if claim.get("of"))
    found = {str(claim.get("role")): claim["of"] for _, claim in _claims(done) if claim.get("of")}
    return [{"list": role, "shown": shown[role], "of": of} for role, of in found.items() if of > shown[role]]


def _is_told(place: dict[str, Any], cited: list[dict[str, Any]]) -> bool:
    """Return True if the answer cites lines of a place."""
    return any(
        place["file"] == one["file"]
        and place["start_line"] <= one["end_line"]
        and one["start_line"] <= place["end_line"]
        for one in cited
    )


def _draft_of(done: RoundSummary) -> dict[str, Any]:
    draft = done.synthesis.get("draft")
    return draft if isinstance(draft, dict) else {}


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
