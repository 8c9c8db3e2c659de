"""Docstrings open with a verb: third person for modules and classes, imperative for functions (PEP 257)."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAX_FIRST_LINE = 100

# Packages and modules whose docstrings are not rewritten yet: take an entry out once its docstrings hold.
# The first three are redesigned as a whole by a later issue.
TO_DO = (
    "actors/capabilities/code_analysis/answers",
    "actors/capabilities/code_analysis/question",
    "actors/capabilities/code_analysis/ranking",
)

QUESTION_WORD = re.compile(r"(What|Who|Whose|Whom|Whoever|Which|Where|How|Whether|When|Why)\b")
THIRD_PERSON = re.compile(r"[A-Z][a-z]*[^\Ws]s\b(?![:,])")
NO_VERB = re.compile(r"(A|An|The|True|False|None|Its|This|There|One|All|As|So|[A-Z][a-z]*[^\Ws]s)\b")
TOOL_CLASS = "CodeTool"
RIDDLES = re.compile(r" that is told| as far as possible| is asked to be ")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def fault_of_module(docstring: str | None) -> str | None:
    if not docstring:
        return "it has no docstring"
    first = docstring.splitlines()[0]
    if len(first) > MAX_FIRST_LINE:
        return f"its first line has {len(first)} characters, limit {MAX_FIRST_LINE}: {first}"
    return fault_of_line(first) or (None if THIRD_PERSON.match(first) else f"no verb in the third person: {first}")


def fault_of_line(first: str) -> str | None:
    if not first.rstrip().endswith("."):
        return f"its first line ends without a period: {first}"
    if QUESTION_WORD.match(first) or RIDDLES.search(first):
        return f"it opens with a question word or is a riddle: {first}"
    return None


def fault_of_class(docstring: str) -> str | None:
    first = docstring.splitlines()[0]
    return fault_of_line(first) or (None if THIRD_PERSON.match(first) else f"no verb in the third person: {first}")


def fault_of_function(docstring: str, is_property: bool) -> str | None:
    """A property is described like an attribute, by a noun; every other function by what it is called to do."""
    first = docstring.splitlines()[0]
    is_noun = not is_property and NO_VERB.match(first) is not None
    return fault_of_line(first) or (f"no imperative: {first}" if is_noun else None)


def faults_in(tree: ast.Module) -> Iterator[str]:
    yield from (fault for fault in [fault_of_module(ast.get_docstring(tree))] if fault)
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef | Function) or not (docstring := ast.get_docstring(node)):
            continue
        if isinstance(node, ast.ClassDef) and node.name in parameters_of_tools():
            continue
        if isinstance(node, ast.ClassDef):
            fault = fault_of_class(docstring)
        else:
            fault = fault_of_function(docstring, is_property(node))
        if fault:
            yield f"{node.name}: {fault}"


@functools.cache
def parameters_of_tools() -> frozenset[str]:
    """Name the classes whose docstrings are no documentation of code: models read them in the schemas of tools."""
    sources = ((ROOT / module).read_text(encoding="utf-8") for module in modules())
    trees = (ast.parse(source) for source in sources if TOOL_CLASS in source)
    calls = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    given = (keyword for call in calls if is_tool(call.func) for keyword in call.keywords)
    return frozenset(k.value.id for k in given if k.arg == "parameters" and isinstance(k.value, ast.Name))


def is_tool(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == TOOL_CLASS


def is_property(node: Function) -> bool:
    names = {decorator.id for decorator in node.decorator_list if isinstance(decorator, ast.Name)}
    return bool(names & {"property", "cached_property"})


def modules() -> list[str]:
    paths = (path for package in ("runtime", "actors", "serve") for path in sorted((ROOT / package).rglob("*.py")))
    # What protoc writes has docstrings of its own making.
    paths = (path for path in paths if "_pb2" not in path.stem)
    return [path.relative_to(ROOT).as_posix() for path in paths if path.name != "__init__.py"]


def is_to_do(module: str) -> bool:
    return any(module == entry or module.startswith(f"{entry}/") for entry in TO_DO)


def test_docstrings_open_with_a_verb_and_fit_a_line() -> None:
    done = [module for module in modules() if not is_to_do(module)]
    assert len(done) > 50
    found = [
        f"{module}: {fault}"
        for module in done
        for fault in faults_in(ast.parse((ROOT / module).read_text(encoding="utf-8")))
    ]
    assert not found, "\n".join(found)


def test_every_entry_of_the_list_exists() -> None:
    assert [entry for entry in TO_DO if not (ROOT / entry).exists()] == []


def test_only_the_parameters_of_tools_are_left_out() -> None:
    assert {"Locate", "OfFile", "GitStatus"} <= parameters_of_tools()
    assert parameters_of_tools().isdisjoint({"Codebase", "CodeTool", "Citation"})
    left_out = ast.parse('"""Declares a tool."""\n\nclass Locate:\n    """Where is it?"""')
    assert list(faults_in(left_out)) == []
    other = ast.parse('"""Declares a tool."""\n\nclass Search:\n    """Where is it?"""')
    assert len(list(faults_in(other))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "What a run may spend.",
        "Where a run goes.",
        "The bus as an actor.",
        "Bundles: what is sent to one place.",
        "Tracks attempts",
        "Sends an endpoint that is told what to do.",
        "Tracks " + "x" * (MAX_FIRST_LINE - len("Tracks ")) + ".",
    ],
)
def test_a_module_fails_with(line: str) -> None:
    assert fault_of_module(line) is not None


@pytest.mark.parametrize("length", [MAX_FIRST_LINE - 1, MAX_FIRST_LINE])
def test_a_module_passes_with_a_verb_and_a_first_line_up_to_the_limit(length: int) -> None:
    assert fault_of_module("Tracks " + "x" * (length - len("Tracks .")) + ".\n\nMore about it.") is None


@pytest.mark.parametrize("line", ["The answer.", "True when it is over.", "Whether it may.", "Returns it.", "Send it"])
def test_a_function_fails_with(line: str) -> None:
    assert fault_of_function(line, is_property=False) is not None


def test_a_property_may_be_a_noun_but_no_question() -> None:
    assert fault_of_function("The stages at work.", is_property=True) is None
    assert fault_of_function("What is at work.", is_property=True) is not None
