"""What the import contracts cannot see: packages that load elsewhere, and what `__init__` files pull in."""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import actors.capabilities
import runtime

ROOT = Path(__file__).parent.parent
FORBIDDEN = ("ray", "vllm", "fastapi", "mcp", "aiohttp")

_IMPORT_WITHOUT = """
import importlib, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {forbidden!r}:
            raise ImportError(name + " must not be imported here")
sys.meta_path.insert(0, Refuse())
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def modules_of(package: object, prefix: str) -> list[str]:
    return [module.name for module in pkgutil.walk_packages(package.__path__, prefix)]  # type: ignore[attr-defined]


def import_without_ray(*names: str) -> subprocess.CompletedProcess[str]:
    script = _IMPORT_WITHOUT.replace("{forbidden!r}", repr(FORBIDDEN))
    return subprocess.run([sys.executable, "-c", script, *names], capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.long
@pytest.mark.parametrize(
    "names",
    [modules_of(runtime, "runtime."), modules_of(actors.capabilities, "actors.capabilities.")],
    ids=["runtime", "capabilities"],
)
def test_every_module_loads_where_ray_and_the_web_cannot_be_imported(names: list[str]) -> None:
    assert names
    done = import_without_ray(*names)
    assert done.returncode == 0, done.stderr


def test_the_check_above_fails_for_a_module_that_imports_ray() -> None:
    done = import_without_ray("actors.system")
    assert done.returncode != 0
    assert "ray must not be imported here" in done.stderr


def test_every_package_marker_is_empty() -> None:
    markers = [path for folder in ("runtime", "actors", "serve") for path in (ROOT / folder).rglob("__init__.py")]
    assert len(markers) > 5
    assert [str(path) for path in markers if path.read_text(encoding="utf-8")] == []


@pytest.mark.long
def test_the_protocol_of_coding_agents_is_imported_at_its_door_alone() -> None:
    """Unlike the import contract, this holds for packages that are added later, too."""
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("runtime", "actors", "serve")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in names_imported(node)
        if name.partition(".")[0] in {"mcp", "mcp_types"}
    }
    assert found
    assert {path for path in found if not path.startswith("serve/mcp/")} == set()


def names_imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and node.level == 0 else []


def test_importing_the_program_starts_nothing_and_loads_no_ray() -> None:
    script = (
        "import sys\n"
        "from serve.cli.command_table import COMMANDS\n"
        "assert all(entry.load() for entry in COMMANDS)\n"
        "sys.exit('ray' in sys.modules or 'mcp' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
