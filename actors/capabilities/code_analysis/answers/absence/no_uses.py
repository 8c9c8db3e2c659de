"""Words what an exhaustive search proved not to be: uses of a thing, and tests of it.

Each sentence names the thing whose uses were searched, in full; where none was searched to the end, nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.capabilities.code_analysis.evidence.claims import code_span, plain
from actors.capabilities.code_analysis.evidence.facts import CodeFact, FactKind
from actors.capabilities.code_analysis.evidence.steps import StepReport
from runtime.primitives.dotted_names import last_part

NO_USE = "No use of {subject} was proven in this repository."
NO_USE_BUT_TESTS = "No use of {subject} outside of tests was proven in this repository."
NO_USE_BUT_IMPORTS = "But for imports, no use of {subject} was proven in this repository."
NO_TEST = "No test was proven to use {subject}."
_TOOL = "explore_symbol_usage"
_UNFOUND = frozenset({"not_found", "empty"})
_USES: frozenset[FactKind] = frozenset({"caller", "mention", "reference", "importer", "test"})


def no_uses(names: Sequence[str], facts: Sequence[CodeFact], reports: Sequence[StepReport]) -> dict[str, str]:
    """Map the aspects `usage` and `tests` to what may be said where they have no claims; empty where nothing may.

    `names`: those that the question names; `facts` and `reports`: of all steps.
    """
    asked_for = [report for report in reports if report.tool == _TOOL]
    searched = [report for report in asked_for if not report.truncated and not report.errors]
    done = {report.step for report in searched if report.status == "ok"}
    # One that another step found first keeps the name of that, and what it is about from the exploration.
    is_whole = bool(done) and len(searched) == len(asked_for)
    explored = [fact for fact in facts if _is_explored(fact) and (is_whole or fact.step in done)]
    last = {last_part(name) for name in names}
    asked = [fact for fact in explored if not names or last_part(fact.name) in last]
    if asked:
        return _of_definition(asked[0], facts)
    is_unfound = any(report.status in _UNFOUND for report in searched)
    if not names or not is_unfound or any(last_part(fact.about) in last for fact in facts if fact.kind in _USES):
        return {}
    subject = " or ".join(map(code_span, names))
    return {"usage": plain(NO_USE.format(subject=subject)), "tests": plain(NO_TEST.format(subject=subject))}


def _is_explored(fact: CodeFact) -> bool:
    return fact.kind == "definition" and bool(fact.about) and last_part(fact.about) == last_part(fact.name)


def _of_definition(explored: CodeFact, facts: Sequence[CodeFact]) -> dict[str, str]:
    """Return what is proven of a definition whose uses were explored to the end."""
    subject = code_span(explored.name)
    about = {explored.name, explored.about}
    uses = [fact for fact in facts if fact.kind in _USES and fact.about in about and fact.place != explored.place]
    in_tests = [fact for fact in uses if fact.is_test or fact.kind == "test"]
    imports = [fact for fact in uses if fact.kind == "importer" and fact not in in_tests]
    may_be_used = explored.unproven > 0 or any(fact.kind == "mention" for fact in uses)
    said: dict[str, str] = {}
    if not may_be_used and len(in_tests) == len(uses):
        said["usage"] = NO_USE_BUT_TESTS if in_tests else NO_USE
    elif not may_be_used and len(in_tests) + len(imports) == len(uses):
        said["usage"] = NO_USE_BUT_IMPORTS
    if not (may_be_used or in_tests or explored.unproven_in_tests):
        said["tests"] = NO_TEST
    return {aspect: plain(text.format(subject=subject)) for aspect, text in said.items()}
