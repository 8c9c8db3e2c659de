"""The steps of the guides do what the guides say: run as written, in a copy of the source tree."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples import long_but

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("runtime", "actors", "serve", "configs")

# A block of a file has its path behind the language; a block of commands has what they print below each.
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_START = "from serve.cli.main import main; main()"
_INDENTED = re.compile(r"^   ```python\n(.*?)^   ```$", re.MULTILINE | re.DOTALL)
# What a coding agent gets that calls the tool of a guide.
_OFFERED = """
import asyncio
from pathlib import Path

from runtime.settings import Settings
from serve.mcp.search.tools import SearchHost, search_tools


async def unheard(*_told):
    return None


async def main():
    here = Path.cwd()
    host = SearchHost(Settings(state_dir=here / "state"), str(here / "sample"))
    (tool,) = [each for each in search_tools(host) if each.name == "count_languages"]
    answer = await tool.run(tool.read({}), unheard)
    await host.close()
    print(answer.text)


if __name__ == "__main__":
    asyncio.run(main())
"""


class Guide:
    """The blocks of one guide: files by their paths, and commands with what they are said to print."""

    def __init__(self, name: str) -> None:
        text = (ROOT / "docs" / "guides" / name).read_text(encoding="utf-8")
        blocks = _BLOCK.findall(text)
        self.files = {path: body for _, path, body in blocks if path}
        self.entry_points = "".join(body for kind, _, body in blocks if kind == "toml")
        self.commands: list[tuple[str, str]] = []
        for kind, _, body in blocks:
            if kind == "console":
                for part in body.split("$ ")[1:]:
                    command, _, told = part.partition("\n")
                    self.commands.append((command, told.strip()))


def run_guide(guide: Guide, folder: Path, *, without: str = "") -> Iterator[str]:
    """Follow a guide in a copy of the tree; what the commands printed that is not as told, one line each."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    write_files(folder, {path: body for path, body in guide.files.items() if path != without})
    yield from run_commands(guide, folder)


def write_files(folder: Path, files: dict[str, str]) -> None:
    for path, body in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(body, encoding="utf-8")


def run_commands(guide: Guide, folder: Path) -> Iterator[str]:
    """What each command printed that is not as told."""
    for command, told in guide.commands:
        done = run_command(command, folder)
        if not prints(done.stdout, told):
            yield f"{command}: {done.stdout}{done.stderr}"


def run_command(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program, *arguments = shlex.split(command)
    assert program == "jeeves"
    environment = os.environ | {"PYTHONPATH": str(folder), "JEEVES_STATE_DIR": str(folder / "state")}
    return subprocess.run(
        [sys.executable, "-c", _START, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def prints(output: str, told: str) -> bool:
    """Whether an output has the told parts, between which something may be left out, in their order."""
    pattern = ".*".join(re.escape(part.strip()) for part in told.split("…"))
    return bool(told) and re.search(pattern, output, re.DOTALL) is not None


GUIDES = {
    "add-a-language.md": ("runtime/codebase/languages/starlark.py", 4),
    "add-a-tool.md": ("runtime/codebase/tools/count_languages.py", 3),
}
STEPS = [(name, path) for name in GUIDES for path in sorted(Guide(name).files)]


@pytest.mark.parametrize("name", long_but(list(GUIDES), 1))
def test_the_steps_of_a_guide_do_what_it_says(name: str, tmp_path: Path) -> None:
    guide = Guide(name)
    assert len(guide.commands) == GUIDES[name][1]
    assert list(run_guide(guide, tmp_path)) == []


@pytest.mark.parametrize(("name", "path"), long_but(STEPS, len(STEPS) - 1))
def test_without_one_of_its_files_a_guide_does_not_hold(name: str, path: str, tmp_path: Path) -> None:
    assert next(run_guide(Guide(name), tmp_path, without=path), None) is not None


@pytest.mark.long
def test_the_test_of_a_tool_that_its_guide_shows_passes_and_needs_the_tool(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "guides" / "add-a-tool.md").read_text(encoding="utf-8")
    shown = next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def test_" in block)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    write_files(tmp_path, {"test_shown.py": shown})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shown.py"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}

    def told() -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        return done.stdout

    assert "No module named 'runtime.codebase.tools.count_languages'" in told()
    write_files(tmp_path, Guide("add-a-tool.md").files)
    assert "1 passed" in told()


@pytest.mark.long
def test_a_tool_is_offered_to_coding_agents_once_it_has_the_entry_that_the_guide_shows(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "guides" / "add-a-tool.md").read_text(encoding="utf-8")
    arguments, entry = map(textwrap.dedent, _INDENTED.findall(page))
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    write_files(tmp_path, Guide("add-a-tool.md").files | {"offered.py": _OFFERED})
    search = tmp_path / "serve" / "mcp" / "search"
    listed = (search / "tools.py").read_text(encoding="utf-8")

    def told() -> str:
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "offered.py"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        return done.stdout or done.stderr

    assert "not enough values to unpack" in told()
    with (search / "parameters.py").open("a", encoding="utf-8") as parameters:
        parameters.write(f"\n\n{arguments}")
    (search / "tools.py").write_text(
        listed.replace("SEARCH_TOOLS = (\n", f"SEARCH_TOOLS = (\n{entry.rstrip()},\n"), "utf-8"
    )
    assert told() == "languages (2):\nlanguage=python lines=2\nlanguage=sql lines=1\n"


@pytest.mark.parametrize("name", long_but(list(GUIDES), 0))
def test_what_another_package_declares_by_an_entry_point_is_found_as_well(name: str, tmp_path: Path) -> None:
    guide = Guide(name)
    module = GUIDES[name][0]
    declared = re.sub(r'project\.entry-points\."([\w.]+)"', r"\1", guide.entry_points).replace('"', "")
    installed = {
        "my_package/__init__.py": "",
        f"my_package/{Path(module).name}": guide.files[module],
        "my_package-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: my-package\nVersion: 1\n",
        "my_package-1.dist-info/entry_points.txt": declared,
    }
    samples = {path: body for path, body in guide.files.items() if path.startswith("sample/")}
    write_files(tmp_path, installed | samples)
    for package in PACKAGES:
        (tmp_path / package).symlink_to(ROOT / package)
    assert list(run_commands(guide, tmp_path)) == []


@pytest.mark.parametrize(
    ("module", "body", "told"),
    long_but(
        [
            ("languages/empty.py", "", "declares no languages; give it LANGUAGES"),
            ("tools/odd.py", "TOOL = 1\n", "declares no tool; give it TOOL"),
        ],
        1,
    ),
)
def test_a_module_that_declares_the_wrong_thing_is_told_with_its_name(
    module: str, body: str, told: str, tmp_path: Path
) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    write_files(tmp_path, {f"runtime/codebase/{module}": body, "sample/a.py": "x = 1\n"})
    done = run_command('jeeves tool glob_files \'{"pattern": "*"}\' --repo sample', tmp_path)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert Path(module).stem in done.stderr
    assert told in done.stderr
