"""Registers the tools that carry out the actions of a fix; edits are found done after a kill."""

from __future__ import annotations

from actors.capabilities.violation_fix.actions.edit_tools import (
    EditFile,
    ReplaceLines,
    WriteFile,
    edit_file_tool,
    replace_lines_tool,
    was_edited,
    write_file_tool,
)
from actors.capabilities.violation_fix.actions.read_tools import (
    LoadContext,
    ReadFile,
    load_context_tool,
    read_file_tool,
)
from actors.capabilities.violation_fix.actions.refactoring_tools import (
    ExtractFunction,
    SimplifyConditional,
    SplitParameters,
    extract_function_tool,
    simplify_conditional_tool,
    split_parameters_tool,
)
from actors.capabilities.violation_fix.actions.safe_fix import ApplySafeFix, apply_safe_fix_tool
from actors.capabilities.violation_fix.actions.take_back import TakeBack, take_back_tool
from actors.capabilities.violation_fix.actions.verify_tools import (
    TESTS_TIMEOUT_S,
    RunCheck,
    RunTests,
    run_check_tool,
    run_tests_tool,
)
from runtime.tools.registry import Tool, ToolRegistry


def _edit(name: str, description: str, parameters: type, run: object, timeout_s: float = 120.0) -> Tool:
    return Tool(
        name,
        description,
        parameters,
        run,  # type: ignore[arg-type]
        access="write",
        risk="write",
        cost=2,
        timeout_s=timeout_s,
        effect="check_first",
        was_done=was_edited,
    )


TOOLS = ToolRegistry(
    [
        Tool("read_file", "Read lines of a file.", ReadFile, read_file_tool),
        Tool("load_context", "Find the definition of a name.", LoadContext, load_context_tool, cost=2),
        _edit("extract_function", "Move statements to a new function.", ExtractFunction, extract_function_tool),
        _edit("simplify_conditional", "Simplify a conditional.", SimplifyConditional, simplify_conditional_tool),
        _edit("split_parameters", "Gather parameters of a private function.", SplitParameters, split_parameters_tool),
        _edit("apply_safe_fix", "Apply the linter's safe fix.", ApplySafeFix, apply_safe_fix_tool),
        _edit("replace_lines", "Replace lines of the file.", ReplaceLines, replace_lines_tool),
        _edit("edit_file", "Replace a quotation in the file.", EditFile, edit_file_tool),
        _edit("write_file", "Write the whole file.", WriteFile, write_file_tool),
        Tool(
            "take_back",
            "Take an edit back.",
            TakeBack,
            take_back_tool,
            access="write",
            risk="write",
            effect="repeatable",
        ),
        Tool("run_check", "Check the file of the violation.", RunCheck, run_check_tool, cost=5, timeout_s=300.0),
        Tool("run_tests", "Run the tests.", RunTests, run_tests_tool, cost=50, timeout_s=TESTS_TIMEOUT_S),
    ]
)
