"""Answers which files change together with a thing: «What usually changes with `Codec`?»."""

from __future__ import annotations

from actors.capabilities.code_analysis.answers.definition import leads_alone
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.kinds import QuestionKind, of_named_relations, wordings
from runtime.codebase.files.words import query_terms

KIND = QuestionKind(
    name="changes_with",
    meaning="what changes together with it",
    wordings=wordings(
        200,
        r"\b(?:what|which)\b.{0,40}\bchang(?:e|es|ed)\b(?: \w+){0,2} with\b|\bco-?chang"
        r"|\bchang(?:e|es|ed) (?:together|along|in step)\b",
    ),
    aspects=("together", "definition"),
    added=("together",),
    besides=("together",),
    asks_relations=of_named_relations,
    of_relation=True,
    named_by_words="definitions",
    said=frozenset(query_terms("change usually often together along file else co-change cochange").counts),
    of_files=True,
    imperative="Show what changes together with {subject}",
    writers={"definition": leads_alone},
    first_roles=("together",),
    plan=steps_by_aspect,
)
