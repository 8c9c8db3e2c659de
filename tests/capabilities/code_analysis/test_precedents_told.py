"""How a thing of the same sort was added before, in answers to how one is added."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from actors.capabilities.code_analysis.answers.confidence import FEATURES, WITH_PRECEDENT, bounds_of_presence, trust_in
from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.lists.precedents import (
    MAX_COMMITS,
    MAX_FILES,
    MAX_LINE_CHARS,
    precedents,
)
from actors.capabilities.code_analysis.evidence.commits import CommitNote
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import analyse
from runtime.codebase.citation import Citation
from tests.capabilities.code_analysis.support import AnalysisHarness, mark_faults, write_files
from tests.runtime.codebase.test_codebase_history import commit, git

FILES = {
    "main.py": '"""Counts rows."""\n\nfrom commands.count import count\n\nCOMMANDS = {\n    "count": count,\n}\n',
    "commands/__init__.py": "",
    "commands/count.py": '"""Counting."""\n\n\ndef count(rows):\n    """Count the rows."""\n    return len(rows)\n',
}
LATER = {
    "main.py": FILES["main.py"].replace('    "count": count,\n', '    "count": count,\n    "sort": sort,\n'),
    "commands/sort.py": '"""Sorting."""\n\n\ndef sort(rows):\n    """Sort the rows."""\n    return sorted(rows)\n',
}


def note(number: int) -> CommitNote:
    return CommitNote(f"{number:040x}".replace("0", "a"), "Ada", "2024-01-01", f"Add command {number}")


def fact(number: int, file: str, text: str = "", line: int = 3) -> CodeFact:
    where = Citation(file, line, line, text)
    kind = "changed" if text else "new"
    return CodeFact("precedent", where, name=file, symbol_kind=kind, text=text, commit=note(number))


def told(facts: Sequence[CodeFact]) -> list[str]:
    return [claim.text for claim in precedents(Evidence(analyse("How do I add a command?"), list(facts), []))]


def test_the_first_file_names_the_commit_and_the_others_its_hash() -> None:
    first, second = told([fact(1, "sort.py"), fact(1, "main.py", "a = 1"), fact(1, "main.py", "b = 2", 4)])
    assert first.endswith("`Add command 1` — it added `sort.py`")
    assert second == f"`{note(1).short}` also changed `main.py`: `a = 1`, `b = 2`"


@pytest.mark.parametrize(("length", "is_quoted"), [(MAX_LINE_CHARS, True), (MAX_LINE_CHARS + 1, False)])
def test_a_long_line_is_cited_and_not_quoted(length: int, is_quoted: bool) -> None:
    assert ("x" * length in told([fact(1, "main.py", "x" * length)])[0]) is is_quoted


def test_so_many_commits_and_files_are_told() -> None:
    facts = [fact(number, f"f{file}.py") for number in range(1, MAX_COMMITS + 2) for file in range(9)]
    assert len(told(facts)) == sum(MAX_FILES)


def test_who_adds_one_need_not_have_it_there_already() -> None:
    absent = {**dict.fromkeys(FEATURES, 0.0), "familiar": 0.1, "precedent": 1.0}
    assert bounds_of_presence(absent) == ["precedent"]
    assert trust_in(absent).presence == WITH_PRECEDENT
    assert trust_in({**absent, "precedent": 0.0}).presence < 0.5


@pytest.fixture
async def tool(tmp_path: Path) -> AnalysisHarness:
    root = tmp_path / "repo"
    write_files(root, FILES)
    git(root, "init", "-q", "-b", "main")
    commit(root, "Begin")
    write_files(root, LATER)
    commit(root, "Add sort command")
    return await AnalysisHarness.open(root, tmp_path / "state")


@pytest.mark.parametrize(
    "question",
    [
        "How do I add a new command?",
        "how do I add a new subcommand? step by step please",
        "I want to add a command that reverses rows. What do I have to touch?",
    ],
)
async def test_the_places_that_such_a_commit_touched_are_told(tool: AnalysisHarness, question: str) -> None:
    document = await tool.ask(question)
    answer = document["answer"]
    assert document["status"] == "answered"
    assert "**How one was added before**" in answer
    assert "`Add sort command` — it added `commands/sort.py` [commands/sort.py:4-6]" in answer
    assert 'also changed `main.py`: `"sort": sort,` [main.py:7]' in answer
    assert mark_faults(answer, document["citations"]) == []
    assert [each["subject"] for each in document["commits"]] == ["Add sort command"]


async def test_other_questions_are_told_of_no_precedent(tool: AnalysisHarness) -> None:
    for question in ("How are rows sorted?", "Who calls `sort`?", "How do I add a backend?"):
        assert "added before" not in (await tool.ask(question))["answer"]
