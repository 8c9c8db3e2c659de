"""Lists all things of a kind: «List all errors», «Which commands are there?»."""

from __future__ import annotations

from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import QuestionKind, Wording, of_relations, wordings
from actors.capabilities.code_analysis.question.list_wording import asks_for_list
from actors.capabilities.code_analysis.question.listing_scope import beginning_listed, kinds_listed
from runtime.codebase.files.words import query_terms


def _asks_relations(question: Question) -> bool:
    """Return whether it asks in few words, or for what the index or the source alone tells, in however many."""
    return of_relations(question) or bool(kinds_listed(question) or beginning_listed(question))


KIND = QuestionKind(
    name="list_all",
    meaning="all of a sort",
    wordings=(
        # Ahead of the wordings of `configured`: «which environment variable sets the port?» is one of that.
        *wordings(
            780,
            r"\b(?:list|show|name|what|which|all|every)\b.{0,20}\b(?:environment|env)[ -]?(?:variables|vars)\b"
            r"(?! (?:sets?|controls?|configures?|turns?|switch(?:es)?|decides?|for)\b)",
        ),
        Wording(1000, asks_for_list),
    ),
    aspects=("listing",),
    asks_relations=_asks_relations,
    said=frozenset(query_terms("list name enumerate show all every each exist are which what there").counts),
    of_several=True,
    asks_for_related=True,
    imperative="List {subject}",
    plan=steps_by_aspect,
)
