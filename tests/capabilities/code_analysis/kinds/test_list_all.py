"""All things of a kind."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.answers.composition import compose
from actors.capabilities.code_analysis.answers.findings import Finding
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.kinds.list_all import KIND
from actors.capabilities.code_analysis.question.analysis import Question, analyse
from actors.capabilities.code_analysis.question.list_wording import is_of_code
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal
from tests.capabilities.code_analysis.kinds.asking import planned, step_ids
from tests.capabilities.code_analysis.support import cited


@pytest.mark.parametrize(
    "text",
    [
        "List all errors",
        "Name every error class",
        "Which errors are raised?",
        "What errors are there?",
        "list all agents",
        "Please list all errors",
        "Show me the routes",
        "Which agents are there?",
        "Which HTTP routes are defined in this project?",
        "What commands exist, and which need a name?",
        "Which options does the tool have?",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "What is an error?",
        "Which parcels are refused unless I ask?",
        "Which letters does it keep if I choose none myself?",
        "Which commands are refused in the depot?",
        "Which errors are raised when the depot is full?",
        "Which request methods are supported?",
        "Which kinds of errors are there and how do they read?",
        "A parcel is refused; which errors are there?",
        "How do I list the parcels of a depot?",
        "Does the depot show the parcels that are lost?",
        "Show the code that routes",
        "Show the call graph of decide",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


@pytest.mark.parametrize("text", ["Which file names are refused?", "Which class members are written?"])
def test_what_a_file_or_class_has_is_no_question_for_a_place(text: str) -> None:
    assert analyse(text).kind == "what"


@pytest.mark.parametrize(("subject", "is_code"), [("error classes", True), ("routes of it", True), ("parcels", False)])
def test_only_of_a_kind_of_code_a_list_says_how_many_there_are(subject: str, is_code: bool) -> None:
    assert is_of_code(subject) is is_code
    asked = Question(text=f"List all {subject}", kind=KIND.name, subject=subject)
    item = Claim("item", "a parcel", (cited("depot.py", 1),))
    told = compose(asked, [Finding(Goal(GoalId("listing"), "listing"), (item,))], {}, None)
    assert told.startswith(f"**{'1 found' if is_code else 'Found'} for «{subject}»**")


def test_entries_are_searched_for_and_filled_up_from_the_best_file_and_documents() -> None:
    assert step_ids("List all errors") == ["choices", "list", "types", "file", "documents", "sections", "heirs"]


def test_all_of_a_kind_of_code_are_looked_up_at_once() -> None:
    (step,) = planned("List all functions in app.py")
    assert step.arguments == {"query": "*", "max_results": 40, "kinds": ["function"], "scope": "app.py"}


def test_it_speaks_of_several_things_and_needs_no_name() -> None:
    assert KIND.of_several
    assert analyse("List all errors").aspects == ("listing",)
