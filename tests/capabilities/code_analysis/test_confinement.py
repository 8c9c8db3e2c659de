"""No tool shows what lies outside of the repository or in a file with secrets, by whatever name it is asked for it."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.capabilities.code_analysis.tools.toolset import TOOLS
from runtime.codebase.codebase import Codebase
from runtime.tools.registry import Tool
from tests.capabilities.code_analysis.support import FILES, AnalysisHarness, write_files

SECRET = "hunter2hunter2"
PARAMETERS = ("path", "scope", "entry", "module", "symbol", "query", "pattern")
NAMES = (
    *("linked_folder/passwords.py", "linked_folder", "linked.py", "linked_env.py", ".env", "./relay/../.env"),
    *("../outside/passwords.py", "relay/../../outside/passwords.py", "~/.env", "PASSWORD", "RELAY_TOKEN", SECRET),
)

CASES = [
    (tool, parameter) for tool in TOOLS for parameter in PARAMETERS if parameter in tool.parameters.__struct_fields__
]


@pytest.fixture(scope="module")
def confined(tmp_path_factory: pytest.TempPathFactory) -> Codebase:
    """The relay in git, with links that lead to a folder beside it and to its own secrets."""
    folder = tmp_path_factory.mktemp("confined")
    root = folder / "repo"
    write_files(folder, {"outside/passwords.py": f'PASSWORD = "{SECRET}"\n'})
    write_files(root, FILES)
    (root / "linked_folder").symlink_to(folder / "outside")
    (root / "linked.py").symlink_to(folder / "outside" / "passwords.py")
    (root / "linked_env.py").symlink_to(root / ".env")
    for arguments in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    write_files(root, {".env": f"RELAY_TOKEN={SECRET}{SECRET}\n"})
    desk = asyncio.run(AnalysisHarness.open(root, folder / "state"))
    codebase: Codebase = desk.services.codebase(desk.repository)
    return codebase


def arguments_of(tool: Tool, parameter: str, name: str) -> dict[str, Any]:
    """The parameter with that name in it, and what the tool cannot do without."""
    needed = {field.name: "Depot" for field in msgspec.structs.fields(tool.parameters) if field.required}
    return {**needed, parameter: name}


@pytest.mark.parametrize(("tool", "parameter"), CASES, ids=[f"{tool.name}-{parameter}" for tool, parameter in CASES])
def test_no_name_leads_out_of_the_repository_or_to_a_secret(confined: Codebase, tool: Tool, parameter: str) -> None:
    for name in NAMES:
        result = tool.run(confined, tool.read_arguments(arguments_of(tool, parameter, name)))
        told = msgspec.json.encode((result.data, result.citations)).decode()
        assert told.count(SECRET) <= (name == SECRET), (name, told)
        for citation in result.citations:
            assert (confined.root / citation.file).resolve().is_relative_to(confined.root)
            assert citation.file not in {".env", "linked_env.py", "linked.py"}


def test_the_secret_is_there_for_who_may_read_it(confined: Codebase) -> None:
    assert SECRET in (confined.root / "linked_env.py").read_text(encoding="utf-8")
    assert SECRET in (confined.root / "linked_folder" / "passwords.py").read_text(encoding="utf-8")
    assert Path(confined.root / "linked.py").is_symlink()


@pytest.mark.parametrize("name", ["git_status", "git_diff"])
def test_a_change_to_a_file_of_secrets_is_not_shown(confined: Codebase, name: str) -> None:
    tool = TOOLS.get(name)
    result = tool.run(confined, tool.read_arguments({}))
    assert SECRET not in str(result)
