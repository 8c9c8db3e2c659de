"""Builds contexts like those of real fixes: functions of the standard library that are too complex, step after step.

For measurements before there are recorded steps. The actions are those that a fix has in each phase.
"""

from __future__ import annotations

import argparse
import configparser
import inspect
import json.decoder
import mailbox
import optparse
import shlex
import tarfile
import textwrap
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from runtime.context.actions import ActionDef, ActionRecord, ActionResult, ActionsSpec, BlockedAction
from runtime.context.fact_extraction import extract_facts
from runtime.context.fact_rules import ToolOutput
from runtime.context.fact_store import FactStore
from runtime.context.models import (
    AgentContext,
    Analysis,
    ExtractionSuggestion,
    PhaseState,
    StateSpec,
    TaskSpec,
    VerificationState,
)

FUNCTIONS: tuple[Callable[..., Any], ...] = (
    argparse.ArgumentParser._get_optional_kwargs,
    argparse.HelpFormatter._format_usage,
    vars(configparser.RawConfigParser)["_read"],
    json.decoder.py_scanstring,  # type: ignore[attr-defined]
    mailbox.MH.pack,
    optparse.OptionParser._process_short_opts,
    shlex.shlex.read_token,
    tarfile.TarInfo.create_pax_header,
)

_ALWAYS = (
    ActionDef(
        name="escalate",
        description="Hand the task to a person, with the reason.",
        parameters={"reason": "str"},
        preconditions=("Stuck, or a decision of a person is needed",),
        postconditions=("The task is escalated",),
    ),
    ActionDef(
        name="cannot_fix",
        description="Give the task up, with the reason.",
        parameters={"reason": "str"},
        preconditions=("No safe change removes the violation",),
        postconditions=("The task is escalated",),
    ),
)
_READ = ActionDef(
    name="read_file",
    description="Read a file, or some of its lines.",
    parameters={"path": "str", "start_line": "int", "end_line": "int"},
    preconditions=("Code has to be seen that is not shown here",),
    postconditions=("What the file defines is known",),
    priority=1,
)
_LOAD = ActionDef(
    name="load_context",
    description="Load the definitions that a file imports or that call the function.",
    parameters={"path": "str"},
    preconditions=("Callers or imports matter for the change",),
    postconditions=("What the file defines is known",),
)
_CHECK = ActionDef(
    name="run_check",
    description="Run the check that reported the violation.",
    preconditions=("After a change",),
    postconditions=("The verification state is up to date",),
    priority=5,
)
_IMPLEMENT = (
    ActionDef(
        name="extract_function",
        description="Move whole statements of a function to a new function and call it.",
        parameters={
            "file_path": "str",
            "source_function": "str",
            "start_line": "int",
            "end_line": "int",
            "new_function_name": "str",
        },
        preconditions=("An extraction is suggested", "A function is too complex or too long"),
        postconditions=("The lines are a function of their own", "Checks and tests run by themselves"),
        value_hints={"start_line": "first line, from 1", "end_line": "last line, included"},
        priority=10,
    ),
    ActionDef(
        name="simplify_conditional",
        description="Turn an if with a long body or an else into a guard clause.",
        parameters={"file_path": "str", "function_name": "str", "if_line": "int"},
        preconditions=("Conditions are nested",),
        postconditions=("The code is nested less deep", "Checks and tests run by themselves"),
        priority=8,
    ),
    _CHECK,
    ActionDef(
        name="write_file",
        description="Create or overwrite a file.",
        parameters={"path": "str", "content": "str"},
        preconditions=("A new file is needed",),
        postconditions=("The file has this content",),
        priority=4,
    ),
    ActionDef(
        name="replace_lines",
        description="Replace lines of a file by number.",
        parameters={"file_path": "str", "start_line": "int", "end_line": "int", "new_content": "str"},
        preconditions=("No refactoring fits and the lines are known",),
        postconditions=("Checks and tests run by themselves",),
        priority=3,
    ),
    ActionDef(
        name="edit_file",
        description="Replace a text that occurs once in a file.",
        parameters={"path": "str", "old_text": "str", "new_text": "str"},
        preconditions=("No refactoring fits",),
        postconditions=("Checks and tests run by themselves",),
        priority=2,
    ),
    _READ,
)
_VERIFY = (
    ActionDef(
        name="complete",
        description="End the task as fixed.",
        preconditions=("All checks pass", "All tests pass"),
        postconditions=("The fix is committed",),
        priority=11,
    ),
    _CHECK.changed(priority=10),
    ActionDef(
        name="run_tests",
        description="Run the tests, or those below a path.",
        parameters={"path": "str"},
        preconditions=("The tests have not run since the last change",),
        postconditions=("The verification state is up to date",),
        priority=9,
    ),
)
_PLAN = (
    ActionDef(
        name="record_plan",
        description="Write down which changes to make, in order.",
        parameters={"plan": "str"},
        preconditions=("It is clear what to change",),
        postconditions=("The plan is known in later steps",),
    ),
)
ACTIONS: dict[str, tuple[ActionDef, ...]] = {
    "analyze": (_READ, _LOAD, *_ALWAYS),
    "plan": (*_PLAN, *_ALWAYS),
    "implement": (*_IMPLEMENT, *_ALWAYS),
    "verify": (*_VERIFY, *_ALWAYS),
}


def realistic_steps() -> list[AgentContext]:
    """Return the contexts of the steps of a fix of each function."""
    return [context for number, function in enumerate(FUNCTIONS) for context in _steps_of(function, number)]


def _steps_of(function: Callable[..., Any], number: int) -> Iterator[AgentContext]:
    lines, start = inspect.getsourcelines(function)
    name = function.__qualname__
    path = f"src/lib/{function.__module__.replace('.', '/')}.py"
    analysis = Analysis(
        violating_function=name,
        function_lines=(start, start + len(lines) - 1),
        function_source=textwrap.dedent("".join(lines)),
        extraction_suggestions=tuple(_suggestions(start, len(lines), function.__name__)),
    )
    task = TaskSpec(
        task_id=f"fix-{number:04x}a7c91e",
        task_type="fix_violation",
        goal=f"Reduce the cyclomatic complexity of {name} in {path} to at most 10",
        success_criteria=(
            "The check C901 passes for the function",
            "All tests that passed before still pass",
            "No new violation of any enabled rule",
        ),
        constraints=(f"Change only {path}", "Keep the public signatures", "Change no test and no configuration"),
        created_at=datetime(2026, 1, 2, tzinfo=UTC),
    )
    domain = {
        "violation_id": f"{number:04x}a7c91e",
        "check_id": "C901",
        "file_path": path,
        "line_number": start,
        "severity": "warning",
        "message": f"`{name}` is too complex (17 > 10)",
        "fix_hint": "Extract functions or use guard clauses",
        "test_path": f"tests/test_{function.__module__.split('.')[0]}.py",
    }
    store = FactStore()
    records: list[ActionRecord] = []
    for step, (phase, action, parameters, summary, outputs, verification) in enumerate(_script(name, path, start)):
        yield AgentContext(
            task=task,
            state=StateSpec(
                current_step=step,
                phase=PhaseState(current_phase=phase),
                verification=verification,
                understanding=store.understanding,
                recent_actions=tuple(records[-5:]),
            ),
            actions=_actions(phase, verification),
            domain_context=domain,
            precomputed=analysis,
        )
        facts = [extract_facts(ToolOutput(tool, text, result, step, "C901")).facts for tool, result, text in outputs]
        for found in facts:
            store, _ = store.add(found, step)
        records.append(
            ActionRecord(
                step=step,
                action=action,
                target=path,
                parameters=parameters,
                result=outputs[0][1],
                summary=summary,
                facts_produced=tuple(fact.id for found in facts for fact in found),
                duration_ms=900,
                error=None if outputs[0][1] is ActionResult.SUCCESS else outputs[0][2].splitlines()[0],
            )
        )


def _suggestions(start: int, count: int, name: str) -> Iterator[ExtractionSuggestion]:
    for part in range(1, 4):
        first = start + count * part // 5
        yield ExtractionSuggestion(
            start_line=first,
            end_line=first + max(3, count // 6),
            suggested_name=f"_{name.strip('_')}_part_{part}",
            reason=f"{2 + part} branches, {part} inputs, 1 output; complexity {17 - 2 * part} after it",
        )


def _actions(phase: str, verification: VerificationState) -> ActionsSpec:
    blocked = () if verification.ready_for_completion else ("complete",)
    recommended = {"implement": "extract_function", "verify": "run_check"}.get(phase)
    return ActionsSpec(
        available=ACTIONS[phase],
        recommended=recommended,
        blocked=tuple(BlockedAction(action=each, reason="1 check fails") for each in blocked),
    )


_Output = tuple[str, ActionResult, str]
_Step = tuple[str, str, dict[str, Any], str, list[_Output], VerificationState]


def _script(name: str, path: str, start: int) -> list[_Step]:
    """Return the steps of a fix: phase, action, parameters, summary, outputs of tools, and verification before it."""
    success, failure = ActionResult.SUCCESS, ActionResult.FAILURE
    open_, ready = (
        VerificationState(checks_failing=1, tests_passing=True),
        VerificationState(checks_passing=1, tests_passing=True, ready_for_completion=True),
    )
    where = {"file_path": path, "source_function": name}
    check = ("run_check", failure, f"{path}:{start}:5: C901 `{name}` is too complex (14 > 10)\nFound 1 error.")
    tests: _Output = ("run_tests", success, "==== 214 passed, 3 skipped in 8.71s ====")
    extracted = f"Extracted '_part_1' from lines {start + 9}-{start + 17} of {path}"
    blocked = f"cannot extract lines {start + 20}-{start + 31}: `break` in line {start + 24} leaves the selection"
    lines = {"start_line": start + 9, "end_line": start + 17, "new_function_name": "_part_1"}
    more = {"start_line": start + 20, "end_line": start + 31, "new_function_name": "_part_2"}
    return [
        (
            "analyze",
            "read_file",
            {"path": path},
            f"Read {path}: 1204 lines",
            [("read_file", success, f"Read {path}\nimport os\n\nclass Store:\n    def load(self): ...\n" * 3)],
            open_,
        ),
        (
            "plan",
            "record_plan",
            {"plan": "extract part 1, then part 2"},
            "Plan recorded",
            [("record_plan", success, "Plan:\n1. extract the parsing of the header\n2. extract the loop\n3. check")],
            open_,
        ),
        (
            "implement",
            "extract_function",
            {**where, **lines},
            f"{extracted}; complexity 14",
            [("extract_function", success, extracted), check, tests],
            open_,
        ),
        (
            "implement",
            "extract_function",
            {**where, **more},
            f"Blocked: {blocked}",
            [("extract_function", failure, blocked)],
            open_,
        ),
        (
            "implement",
            "simplify_conditional",
            {"file_path": path, "function_name": name, "if_line": start + 22},
            (f"Guard clause at line {start + 22}; complexity 9"),
            [
                (
                    "simplify_conditional",
                    success,
                    f"Converted the if at line {start + 22} of '{name}' to a guard clause",
                ),
                ("run_check", success, "All checks passed!"),
                tests,
            ],
            open_,
        ),
        ("verify", "run_check", {}, "Check passed", [("run_check", success, "All checks passed!")], open_),
        ("verify", "run_tests", {}, "214 tests passed", [tests], ready),
        ("verify", "complete", {}, "Fixed", [("complete", success, "done")], ready),
    ]
