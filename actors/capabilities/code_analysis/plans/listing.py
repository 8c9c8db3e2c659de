"""Builds the steps of lists and of the layout of a repository."""

from __future__ import annotations

from actors.capabilities.code_analysis.answers.lists.listing import type_name
from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.searches import LINES, READ_LINES, locate
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.listing_scope import ALL, TYPE_KINDS, beginning_listed, kinds_listed

LISTED_PER_STEP = 40
MAX_DOCUMENTS = 4
MAX_HEIRS = 50


def structure_steps(question: Question, goal: str) -> list[Step]:
    """Build steps that map the paths of the question, or the whole repository, and read its README."""
    paths = question.paths or (".",)
    steps = [
        Step(f"map{n}", "structure", "map_module", {"path": path}, (goal,), f"what is in {path}")
        for n, path in enumerate(paths)
    ]
    for name in ("README.md", "README.rst", "README"):
        head, why = {"path": name, "max_lines": 40}, "what it says of itself"
        steps.append(Step(f"read_{name}", "structure", "read_code", head, (goal,), why))
    return steps


def listing_steps(question: Question, goal: str) -> list[Step]:
    """Build steps that search for entries and map the best files; of a kind of code, locate everything."""
    if kinds := sorted(kinds_listed(question)):
        return [
            Step(
                f"kinds{number or ''}",
                "all_of_kind",
                "locate",
                {"query": ALL, "max_results": LISTED_PER_STEP, "kinds": kinds, **({"scope": path} if path else {})},
                (goal,),
                f"all of the kind {' or '.join(kinds)}",
            )
            for number, path in enumerate(question.paths[:1] or ("",))
        ]
    if begins := beginning_listed(question):
        wanted = {"query": f"{begins}{ALL}", "max_results": LISTED_PER_STEP}
        return [Step("names", "all_of_kind", "locate", wanted, (goal,), f"all names that begin with {begins}")]
    # «all» has no effect in a search; a single word would be looked up as a name.
    query = f"all {question.topic}"
    found = locate("list", "listing", query, (goal,), LISTED_PER_STEP)
    types = locate("types", "listing", query, (goal,), LISTED_PER_STEP, sorted(TYPE_KINDS))
    documents = locate("documents", "documents", query, (goal,), MAX_DOCUMENTS, ["section"])
    why = "all of the file that fits best"
    file = Step("file", "listing", "map_module", {}, (goal,), why, ("list",), 2, {"path": "file"})
    short = {"max_lines": READ_LINES}
    why = "what documents list"
    steps = [found, types, file, documents]
    steps.append(Step("sections", "listed", "read_code", short, (goal,), why, ("documents",), MAX_DOCUMENTS, LINES))
    if name := type_name(question):
        more = {"symbol": name, "max_results": MAX_HEIRS}
        why = f"what is declared on top of {name}"
        steps.append(Step("heirs", "heirs", "explore_symbol_usage", more, (goal,), why))
    return steps
