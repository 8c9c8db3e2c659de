"""Answers who changed a thing and when: «When was `decide` changed?»."""

from __future__ import annotations

import re

from actors.capabilities.code_analysis.answers.definition import leads_alone
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.kinds import (
    Origin,
    QuestionKind,
    of_named_relations,
    wordings,
)
from runtime.codebase.files.words import query_terms

_WROTE = (
    r"(?:(?:chang|add|edit|touch|introduc|creat|remov|delet|updat|fix|committ|implement|renam|mov)ed|modified"
    r"|(?:re)?wr(?:ote|itten)|made)"
)
_NEW = re.compile(r"\b(?:add|introduc|creat|wr[io]t|implement|new|old|since|first)", re.IGNORECASE)


KIND = QuestionKind(
    name="changed",
    meaning="who changed it, and when",
    wordings=wordings(
        300,
        rf"^\W*when (?:was|were|did|has|have)\b.{{1,60}}\b{_WROTE}\b",
        r"^\W*(?:since|in) (?:when|which commit)\b",
        rf"^\W*(?:who|which (?:commit|author|person))(?: has| had)?(?: \w+ly)?(?: last| first)? {_WROTE}\b",
        r"\b(?:by whom|last commit|(?:recent|last|latest) changes?)\b|\bwho (?:is|was) .{0,20}author\b",
        rf"\bhow (?:has|did) .{{1,60}} (?:chang|evolv|come)\w*"
        rf"|\bwhat (?:was |has been )?{_WROTE} (?:last|recently|lately)\b",
        r"\b(?:change |commit |git )?(?:history|log|blame) (?:of|for|behind)\b|\bhow old\b",
    ),
    aspects=("history", "definition"),
    added=("history",),
    besides=("history",),
    asks_relations=of_named_relations,
    of_relation=True,
    named_by_words="definitions",
    said=frozenset(
        query_terms(
            "who whom when since last latest recent first recently lately change modify edit touch write wrote written"
            " add introduce create remove delete update fix commit author person history log blame git old evolve come"
            " implement rename done move made make"
        ).counts
    ),
    of_files=True,
    histories=2,
    may_be_of_whole=True,
    origin=Origin(_NEW),
    imperative="Tell the history of {subject}",
    writers={"definition": leads_alone},
    first_roles=("change",),
    plan=steps_by_aspect,
)
