"""What a third-party dependency is needed for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.lists.requirements import (
    MAX_DECLARED,
    MAX_IMPORTERS,
    MAX_LISTED,
    MAX_MENTIONS,
    MAX_USES,
    requirements,
)
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.kinds.third_party import KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.question.asked_dependency import (
    MAX_DEPENDENCIES,
    MAX_QUESTION_CHARS,
    asked_dependencies,
)
from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from tests.capabilities.code_analysis.kinds.asking import planned, told_of
from tests.capabilities.code_analysis.support import AnalysisHarness, cited, write_files

FILES = {
    "pyproject.toml": (
        '[project]\nname = "relay"\ndependencies = [\n'
        '    "requests >= 2",\n    "rich",\n    "log",\n    "queue-tools",\n]\n'
        '[dependency-groups]\ndev = ["pytest", "pytest-cov"]\n'
    ),
    "Makefile": "test:\n\tpytest --cov relay\n",
    "relay/__init__.py": "",
    "relay/fetch.py": (
        '"""Fetches pages."""\n\nimport requests\nfrom rich.console import Console\n\n\n'
        'def fetch(url):\n    """Fetch a page."""\n    # requests.get is slow\n    return requests.get(url)\n\n\n'
        'def show(page):\n    """Show a page."""\n    Console().print(page)\n'
    ),
    "relay/log.py": '"""Logs."""\n\n\ndef log(text):\n    """Log a text."""\n    print(text)\n',
    "tests/test_fetch.py": (
        "import requests\nimport pytest\n\n\ndef test_fetch():\n    requests.get('x')\n    pytest.skip()\n"
    ),
}


@pytest.fixture
async def relay(tmp_path: Path) -> AnalysisHarness:
    write_files(tmp_path / "repo", FILES)
    return await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")


@pytest.fixture
def codebase(tmp_path: Path) -> Iterator[Codebase]:
    write_files(tmp_path / "repo", FILES)
    refresh(tmp_path / "repo", tmp_path / "index.sqlite")
    with closing(Codebase.open(tmp_path / "repo", tmp_path / "index.sqlite")) as codebase:
        yield codebase


@pytest.mark.parametrize(
    "text",
    [
        "List the dependencies",
        "Which dependencies does it have?",
        "What third-party libraries does this project use?",
        "What are the optional dependencies?",
        "Which packages does it depend on?",
        "What does this project depend on?",
    ],
)
def test_all_of_them_are_asked_for_by_wordings(text: str) -> None:
    asked = analyse(text)
    assert (asked.kind, asked.identifiers, asked.aspects) == (KIND.name, (), ("requirements",))


@pytest.mark.parametrize(
    "text",
    [
        "What depends on `Depot`?",
        "Which dependencies of a job are waited for?",
        "How are dependencies between tasks resolved?",
        "What does the router depend on?",
        "Which packages are sent first?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("What do we use requests for?", "requests"),
        ("Is rich still used anywhere?", "rich"),
        ("Where is `requests` imported?", "requests"),
        ("Which version of Requests do we need?", "requests"),
        ("Do we still need the queue tools dependency?", "queue-tools"),
        ("is queue_tools needed", "queue-tools"),
        ("Which part of the code uses the requests library to fetch pages?", "requests"),
        ("Is the log dependency needed?", "log"),
        ("Can we get rid of pytest-cov?", "pytest-cov"),
        ("Is requests optional?", "requests"),
        ("What would break if we dropped rich?", "rich"),
        ("Do the tests use requests?", "requests"),
        ("Where is the requests module used?", "requests"),
        ("Which files depend on requests?", "requests"),
        ("Do the workers rely on requests being sent first?", None),
        # The repository itself is called `repo`.
        ("Why does repo depend on rich?", "rich"),
        # What the code calls so as well.
        ("Where is the log used?", None),
        ("Is log still used?", None),
        ("What is the log package used for?", None),
        # What is asked is more than what it is needed for.
        ("How are requests retried?", None),
        ("Which requests are required to have a body?", None),
        ("What happens if the dropped requests are rich?", None),
        ("Is the module log used?", None),
        ("Who uses the requests of the queue?", None),
        ("Is the rich text rendered by the console?", None),
        ("What is it used for?", None),
        ("", None),
    ],
)
def test_the_dependency_that_a_question_is_about(codebase: Codebase, text: str, name: str | None) -> None:
    assert asked_dependencies(codebase, text) == ((name,) if name else ())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Do we still need both pytest and pytest-cov?", ("pytest", "pytest-cov")),
        # What is called so itself is meant alone.
        ("Which tests need the two pytest packages?", ("pytest",)),
        ("What are the queue libraries for?", ("queue-tools",)),
        ("Is the queue thing from the requirements still used?", ("queue-tools",)),
        # A part of a name is told by its beginning, or whole.
        ("Is the request dependency needed?", ("requests",)),
        ("Is the quest dependency needed?", ()),
        # Nothing says that a dependency is meant.
        ("Is the queue thing still used?", ()),
        # A name that is no word may stand beside two words of any sort.
        ("Where does pytest-cov help the pages?", ()),
        ("Is pytest-cov needed for nightly pages?", ("pytest-cov",)),
        ("Is pytest-cov needed for nightly glossy pages?", ()),
    ],
)
def test_several_dependencies_and_parts_of_their_names(codebase: Codebase, text: str, names: tuple[str, ...]) -> None:
    assert asked_dependencies(codebase, text) == names


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_text_that_speaks_of_many_dependencies_is_about_none_of_them(tmp_path: Path, more: int) -> None:
    names = [f"depotlib{number}" for number in range(MAX_DEPENDENCIES + more)]
    write_files(tmp_path / "repo", {"requirements.txt": "\n".join(names)})
    refresh(tmp_path / "repo", tmp_path / "index.sqlite")
    with closing(Codebase.open(tmp_path / "repo", tmp_path / "index.sqlite")) as codebase:
        found = asked_dependencies(codebase, f"Are {' and '.join(names)} still used?")
    assert found == (tuple(names) if more < 1 else ())


@pytest.mark.parametrize(("length", "is_read"), [(0, True), (1, False)])
def test_a_long_text_is_not_about_one_dependency(codebase: Codebase, length: int, is_read: bool) -> None:
    text = "Is requests needed?"
    padded = text + " " * (MAX_QUESTION_CHARS - len(text) + length)
    assert bool(asked_dependencies(codebase, padded)) is is_read


def test_one_step_looks_for_what_is_asked() -> None:
    (step,) = planned("List the dependencies")
    assert (step.tool, step.purpose, "name" in step.arguments) == ("find_dependency", "requirements", False)


async def test_where_it_is_declared_and_used_is_told_and_comments_are_no_use(relay: AnalysisHarness) -> None:
    told = await told_of(relay, "What do we use requests for?")
    assert told.startswith(
        '`requests` is declared in `pyproject.toml`: `"requests >= 2",`. It is imported in 2 files.'
        " [pyproject.toml:4] [relay/fetch.py:3]"
    )
    assert "- `fetch`: `return requests.get(url)` [relay/fetch.py:10]" in told
    assert "is slow" not in told


async def test_a_dependency_that_tests_alone_import_is_told_so(relay: AnalysisHarness) -> None:
    told = await told_of(relay, "Is pytest still needed?")
    assert "`pytest` is declared in `pyproject.toml`, for development" in told
    assert "It is imported in 1 file, of tests alone." in told


async def test_each_of_two_is_told_with_what_uses_it(relay: AnalysisHarness) -> None:
    told = await told_of(relay, "Do we still need rich and pytest-cov?")
    rich, cov = told.index("`rich` is declared"), told.index("`pytest-cov` is declared")
    assert rich < told.index("`Console().print(page)` [relay/fetch.py:15]")
    assert rich < cov < told.index("No import that is called like it was found")
    assert "requests" not in told


async def test_what_nothing_imports_is_told_with_the_lines_that_name_it(relay: AnalysisHarness) -> None:
    told = await told_of(relay, "Can we drop queue-tools?")
    assert "No import that is called like it was found" in told
    assert "Used by" not in told


async def test_all_that_is_declared_is_listed(relay: AnalysisHarness) -> None:
    told = await told_of(relay, "Which dependencies does it have?")
    assert told.startswith('**Declared dependencies**\n\n- `"requests >= 2",` [pyproject.toml:4]\n')
    assert '`dev = ["pytest", "pytest-cov"]`, for development [pyproject.toml:10]' in told
    assert "requests >= 2" not in await told_of(relay, "Which development dependencies are there?")


def fact(role: str, line: int, file: str = "a.py", name: str = "depot", of: int = 0) -> CodeFact:
    return CodeFact("requirement", cited(file, line, quote=name), name=name, symbol_kind=role, about="depot", of=of)


def claims(question: str, *facts: CodeFact, dependencies: Sequence[str] = ()) -> list[Claim]:
    return requirements(Evidence(analyse(question, dependencies=dependencies), list(facts), []))


@pytest.mark.parametrize(
    ("role", "kind", "most"),
    [
        ("runtime", "lead", MAX_DECLARED),
        ("use", "caller", MAX_USES),
        ("import", "importer", MAX_IMPORTERS),
        ("mention", "related", MAX_MENTIONS),
    ],
)
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_so_many_of_each_are_told(role: str, kind: str, most: int, more: int) -> None:
    found = claims(
        "Is depot needed?",
        *(fact(role, line, f"f{line}.py", f"depot{line}") for line in range(1, most + more + 1)),
        dependencies=("depot",),
    )
    told = [claim for claim in found if claim.role == kind]
    assert len(told) == min(most, most + more)
    if kind in {"caller", "importer"}:
        assert {claim.of for claim in told} == {most + 1 if more > 0 else 0}


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_so_many_of_all_are_listed(more: int) -> None:
    found = claims(
        "List the dependencies", *(fact("runtime", n, name=f"d{n}") for n in range(1, MAX_LISTED + more + 1))
    )
    assert len(found) == min(MAX_LISTED, MAX_LISTED + more)
    assert {claim.of for claim in found} == {MAX_LISTED + 1 if more > 0 else 0}


def test_what_only_other_dependencies_need_is_listed_where_it_is_asked_for() -> None:
    facts = [fact("runtime", 1, name="own"), fact("indirect", 2, name="theirs")]
    assert [claim.subject for claim in claims("List the dependencies", *facts)] == ["own"]
    assert [claim.subject for claim in claims("List the indirect dependencies", *facts)] == ["theirs"]
