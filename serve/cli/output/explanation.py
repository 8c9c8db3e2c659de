"""Formats the explanation of an answer as Markdown: the places, proofs and claims of each round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

MAX_SHOWN_FEATURES = 5
MAX_SHOWN_PROOFS = 20
MAX_CELL_CHARS = 100


def explanation_text(document: dict[str, Any]) -> str:
    """Return the explanation and attempts of an answer document as Markdown; empty without an explanation."""
    explained = document.get("explanation")
    if not explained:
        return ""
    return "\n".join(["", "---", "", "**How this answer came about**", "", *_lines(document, explained)]) + "\n"


def _lines(document: dict[str, Any], explained: dict[str, Any]) -> Iterator[str]:
    yield f"Intent: {explained['intent'].get('intent') or 'none'}"
    for goal in explained["goals"]:
        yield f"- goal {goal['id']}: {goal['text']} ({goal['status']})"
    attempts = document.get("attempts", [])
    for number, done in enumerate(explained["rounds"]):
        tried = attempts[number]["steps"] if number < len(attempts) else {}
        yield from _round(done, tried)
    if left_out := explained.get("left_out"):
        yield from ("", "Left out, since the lines do not bear it:", "")
        for claim in left_out:
            yield f"- {_cell(claim['text'])} ({', '.join(claim['why'])}) {' '.join(claim['cited'])}"


def _round(done: dict[str, Any], tried: dict[str, Any]) -> Iterator[str]:
    plan, size = done["plan"], done["context"]
    yield ""
    yield f"Round {done['round']}: {plan.get('rationale')} (feasibility {plan.get('feasibility_score')} of 100)"
    for step in done["steps"]:
        how = ", ".join(f"{a['strategy']}: {a['status']} {a.get('results', 0)}" for a in tried.get(step["step"], []))
        yield f"- {step['step']}, {step['tool']}: {step['status']}, {step['found']} places ({how or 'no attempts'})"
    if size.get("raw_tokens"):
        saved = 100 - round(100 * size["fact_tokens"] / size["raw_tokens"])
        yield f"- {size['fact_tokens']} tokens of facts for {size['raw_tokens']} of tool output: {saved} % saved"
    for reason, count in done.get("claims_dropped", {}).items():
        yield f"- {count} claims of the model were left out: {reason.replace('_', ' ')}"
    for struck in done.get("claims_struck", []):
        yield f"- struck by the judge, {struck['verdict']}: {struck['text']} ({struck['why'] or 'no reason given'})"
    for cut in done.get("lists_cut", ()):
        yield f"- list of {cut['list']} cut: {cut['shown']} of {cut['of']}"
    yield f"- then: {done['route']} ({done['because']}), {done['new_evidence']} new places"
    yield from _trust(done.get("trust"))
    yield from _considered(done.get("considered", ()))
    yield from _proofs(done.get("proofs", ()))
    yield from _claims(done.get("claims", ()))


def _trust(trust: dict[str, Any] | None) -> Iterator[str]:
    """Yield why the answer is told or called not found, with the features that added or took most first."""
    if trust is None:
        return
    enough = f"from {trust['enough']:g} on it is answered"
    yield f"- whether it is there at all: {trust['presence']:.2f} ({enough}); confidence {trust['confidence']:.2f}"
    ordered = sorted(trust["by"].items(), key=lambda one: (-abs(one[1][1]), one[0]))
    by = ", ".join(f"{name} {value:g} ({added:+.2f})" for name, (value, added) in ordered)
    bounds = "".join(f"; bounded by {name}" for name in trust["bounds"])
    yield f"- what that goes by, in log-odds: {by}{bounds}"


def _considered(places: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield a table of the places of each search, with the features that added or took most."""
    for step, found in groupby(places, key=lambda place: place["step"]):
        rows = list(found)
        by = next((row["ranker"] for row in rows if row.get("ranker")), None)
        ordered = f", ordered by {by}" if by else ""
        yield from ("", f"Considered by {step} ({_cell(rows[0]['query'])}{ordered}):", "")
        yield from _table(
            ("#", "place", "symbol", "score", "what counted", "told"),
            (
                (
                    row["rank"],
                    _mark(row),
                    row["symbol"] or "–",
                    f"{row['score']:.3f}",
                    _counted(row),
                    "yes" if row["told"] else "no",
                )
                for row in rows
            ),
        )


def _counted(row: dict[str, Any]) -> str:
    """Return the features that changed a score most, each with its value and what it added."""
    ranked = sorted(row["features"].items(), key=lambda one: (-abs(one[1][1]), one[0]))[:MAX_SHOWN_FEATURES]
    return ", ".join(f"{name} {value:g} ({added:+.2f})" for name, (value, added) in ranked) or row["source"]


def _proofs(proofs: Iterable[dict[str, Any]]) -> Iterator[str]:
    shown = list(proofs)
    if not shown:
        return
    yield from ("", f"Proven ({min(len(shown), MAX_SHOWN_PROOFS)} of {len(shown)}):", "")
    yield from _table(
        ("what", "at", "by"),
        ((proof["what"], f"{proof['file']}:{proof['line']}", _steps(proof)) for proof in shown[:MAX_SHOWN_PROOFS]),
    )


def _steps(proof: dict[str, Any]) -> str:
    return " → ".join(
        f"{step['shows']} {step['file']}:{step['line']}{': ' + step['text'] if step.get('text') else ''}"
        for step in proof["by"]
    )


def _claims(claims: Iterable[dict[str, Any]]) -> Iterator[str]:
    told = list(claims)
    if told:
        yield from ("", "Claims and the lines that bear them:", "")
        rows = ((claim["role"], claim["text"], " ".join(map(_mark, claim["proof"])) or "–") for claim in told)
        yield from _table(("role", "claim", "lines"), rows)


def _mark(place: dict[str, Any]) -> str:
    first, last = place["start_line"], place["end_line"]
    return f"{place['file']}:{first}" if first == last else f"{place['file']}:{first}-{last}"


def _table(header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(_cell(str(cell)) for cell in row)} |"


def _cell(text: str) -> str:
    """Return text for one cell of a table: on one line, cut, and without a mark that ends the cell."""
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= MAX_CELL_CHARS else f"{line[: MAX_CELL_CHARS - 1].rstrip(chr(92))}…"
