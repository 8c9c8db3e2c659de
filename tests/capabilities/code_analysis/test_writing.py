"""What the rules write: calls with their lines, settings, lists of one sort, changes, and diagrams of calls."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.agents.synthesizer import write_claims
from actors.capabilities.code_analysis.answers.diagram import MAX_EDGES, MIN_EDGES, call_diagram
from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.wording import step_claim
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.ranking.relevance import rank_entities
from tests.capabilities.code_analysis.support import AnalysisHarness, cited, mark_faults

CODE = "def deliver(a):\n    b = release(a)\n    return accept(b)"


def evidence(question: str, *facts: CodeFact) -> Evidence:
    asked = analyse(question)
    return Evidence(asked, list(facts), rank_entities(asked, facts))


def deliver() -> list[CodeFact]:
    place = cited("van.py", 5, 7, quote="def deliver(a):", content_sha256="f00")
    return [
        CodeFact("definition", place, name="deliver", symbol_kind="function", score=1.0),
        CodeFact("code", place, text=CODE),
    ]


def callee(name: str, at_line: int) -> CodeFact:
    return CodeFact("callee", cited("depot.py", 20, 22), name=name, about="deliver", at_line=at_line)


def steps(*facts: CodeFact, question: str = "How does deliver work?") -> list[Claim]:
    claims = write_claims(evidence(question, *deliver(), *facts), ["mechanism"])["mechanism"]
    return [claim for claim in claims if claim.role == "step"]


def test_a_call_is_cited_at_its_own_line_and_then_at_what_is_called() -> None:
    (step,) = steps(callee("Depot.release", 6))
    assert [(c.file, c.start_line, c.end_line) for c in step.citations] == [("van.py", 6, 6), ("depot.py", 20, 22)]
    assert step.citations[0].quote == "b = release(a)"
    assert step.citations[0].content_sha256 == "f00"


@pytest.mark.parametrize("at_line", [0, 4, 5, 7, 8, 900])
def test_a_line_that_does_not_show_the_call_is_not_cited_for_it(at_line: int) -> None:
    (step,) = steps(callee("Depot.release", at_line))
    assert [c.file for c in step.citations] == ["depot.py"]


def test_what_calls_itself_is_no_step() -> None:
    assert steps(callee("deliver", 6)) == []


def test_traced_calls_stand_in_the_place_of_direct_ones() -> None:
    traced = [
        CodeFact("trace", cited("depot.py", 20, 22), name="Depot.release", about="deliver", at_line=6),
        CodeFact("trace", cited("queue.py", 1, 2), name="dequeue", about="Depot.release", at_line=21),
    ]
    found = steps(*traced, callee("Depot.accept", 7), question="What happens in deliver?")
    assert [(step.source, step.subject) for step in found] == [
        ("deliver", "Depot.release"),
        ("Depot.release", "dequeue"),
    ]


def test_a_trace_of_something_else_is_not_told_as_what_happens() -> None:
    traced = CodeFact("trace", cited("a.py", 1, 2), name="x", about="other")
    assert [step.subject for step in steps(traced, callee("Depot.accept", 7))] == ["Depot.accept"]


def of_class(name: str, line: int, kind: str = "class") -> CodeFact:
    return CodeFact("definition", cited("errors.py", line), name=name, symbol_kind=kind, score=0.5)


def listed(*facts: CodeFact) -> list[str]:
    return [claim.subject for claim in write_claims(evidence("List all errors", *facts), ["listing"])["listing"]]


def test_a_list_of_types_leaves_their_members_and_what_merely_shares_a_word_out() -> None:
    classes = [of_class(f"{name}Error", n) for n, name in enumerate(("Full", "Lost", "Late"), 1)]
    rest = [of_class("FullError.__init__", 8, "method"), of_class("FullError.text", 9, "variable")]
    assert set(listed(*classes, *rest, of_class("list_errors", 10, "function"))) == {
        "FullError",
        "LostError",
        "LateError",
    }


def test_a_list_of_functions_is_kept_whole() -> None:
    functions = [of_class(f"{name}_error", n, "function") for n, name in enumerate(("raise", "log", "show"), 1)]
    assert set(listed(*functions, of_class("LateError", 9))) == {"raise_error", "log_error", "show_error", "LateError"}


def step(source: str, subject: str, file: str = "a.py") -> Claim:
    return Claim("step", "", (cited(file, 3),), subject=subject, source=source)


def test_a_step_says_what_calls_what_and_what_is_documented() -> None:
    fact = CodeFact("trace", cited("a.py", 3), name="Depot.accept", docstring="Take it in.", about="run")
    claim = step_claim(fact, "run", None)
    assert (claim.text, claim.source) == ("`run` calls `Depot.accept`: «Take it in.»", "run")


def test_a_diagram_has_each_name_once_and_each_call_with_its_place() -> None:
    drawn = call_diagram([step("run", "load"), step("run", "save"), step("save", "load")])
    assert drawn is not None
    assert drawn.count('["load"]') == drawn.count('["run"]') == 1
    assert 'n0 -->|"a.py 3"| n1' in drawn
    assert 'n2 -->|"a.py 3"| n1' in drawn


@pytest.mark.parametrize("edges", [MIN_EDGES - 1, MIN_EDGES, MAX_EDGES, MAX_EDGES + 1])
def test_a_diagram_is_neither_trivial_nor_endless(edges: int) -> None:
    drawn = call_diagram([step("run", f"step{n}") for n in range(edges)])
    assert (drawn or "").count("-->") == (0 if edges < MIN_EDGES else min(edges, MAX_EDGES))


@pytest.mark.parametrize("name", ['x"]; click n0 call evil()', "[a.py:1]", "a`b", "new\nline", "```", ""])
def test_no_name_breaks_out_of_a_diagram_or_looks_like_a_citation(name: str) -> None:
    drawn = call_diagram([step(name, "b", f"dir[{name}].py"), step("b", "c")])
    if drawn is not None:
        assert mark_faults(drawn, []) == []
        assert drawn.count("```") == 2
        assert all(line.count('"') in {0, 2} for line in drawn.split("\n"))


async def test_calls_are_drawn_where_the_flow_is_asked_for_and_nowhere_else(relay: AnalysisHarness) -> None:
    flow = await relay.ask("What happens in deliver_parcel step by step?")
    assert "```mermaid\nflowchart TD" in flow["answer"]
    assert 'n0["deliver_parcel"]' in flow["answer"]
    assert mark_faults(flow["answer"], flow["citations"]) == []
    assert "mermaid" not in (await relay.ask("How does deliver_parcel work?"))["answer"]


async def test_where_something_is_configured_has_a_heading_of_its_own(relay: AnalysisHarness) -> None:
    document = await relay.ask("How does `Depot` work and where is it configured?")
    assert "**Where it is configured**" in document["answer"]
    assert "relay/settings.yaml" in {citation["file"] for citation in document["citations"]}
