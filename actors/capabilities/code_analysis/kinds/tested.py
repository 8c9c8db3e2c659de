"""Answers which tests cover a thing: «Which tests cover `decide`?»."""

from __future__ import annotations

from actors.capabilities.code_analysis.answers.definition import leads_alone
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.kinds import QuestionKind, of_named_relations, wordings
from runtime.codebase.files.words import query_terms

KIND = QuestionKind(
    name="tested",
    meaning="what tests it",
    wordings=wordings(
        400,
        r"\bhow (?:is|are|do|does) .{1,60} tested\b|\b(?:what|which|where are|are there|is there|list|show|find)\b"
        r".{0,24}\btests?\b.{0,12} (?:of|for|cover|covers|check|checks|exercise|exercises)\b|\btests? (?:of|for)\b"
        r"|\b(?:what|which) tests \S+|\bis \S+ (?:tested|covered)\b|\b(?:its|their) tests?\b"
        r"|\bwhere (?:do|did|have) (?:we|you|they|i) test(?:ed)? (?:that|for)\b|\bwhere is it tested\b",
    ),
    aspects=("tests", "definition"),
    added=("tests",),
    besides=("tests",),
    asks_relations=of_named_relations,
    of_relation=True,
    named_by_words="definitions",
    said=frozenset(query_terms("test tested cover covered covering check exercise exist list show find").counts),
    of_tests=True,
    asks_for_related=True,
    of_uses=True,
    imperative="Show the tests of {subject}",
    writers={"definition": leads_alone},
    first_roles=("test",),
    leading_roles=("likely_test",),
    plan=steps_by_aspect,
)
