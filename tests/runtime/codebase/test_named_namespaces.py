"""A PHP class is not the one of the same name in another namespace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.codebase import Codebase
from runtime.codebase.resolution.named_namespaces import NamedNamespace
from runtime.codebase.tools.symbol_usage import explore_symbol_usage
from tests.runtime.codebase.sample_repository import write_files

CLASS = "<?php\n\nnamespace Depot\\Check;\n\nabstract class Case_Of extends \\Frame\\Case_Of\n{\n}\n"

USERS = {
    "src/Full.php": "<?php\n\nnamespace Depot;\n\nclass Full extends \\Depot\\Check\\Case_Of\n{\n}\n",
    "src/Foreign.php": "<?php\n\nnamespace Depot;\n\nclass Foreign extends \\Frame\\Case_Of\n{\n}\n",
    "src/Brought.php": ("<?php\n\nnamespace Depot;\n\nuse Frame\\Case_Of;\n\nclass Brought extends Case_Of\n{\n}\n"),
    "src/Own.php": ("<?php\n\nnamespace Depot;\n\nuse Depot\\Check\\Case_Of;\n\nclass Own extends Case_Of\n{\n}\n"),
    "src/Relative.php": "<?php\n\nnamespace Depot;\n\nclass Relative extends Check\\Case_Of\n{\n}\n",
    "tests/ForeignTest.php": "<?php\n\nclass ForeignTest extends \\Frame\\Case_Of\n{\n}\n",
    "tests/TextTest.php": "<?php\n\nclass TextTest\n{\n    public $name = '\\Frame\\Case_Of';\n}\n",
}


@pytest.fixture
def depot(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, {"src/Check/Case_Of.php": CLASS, **USERS})
    return opened(root)


def test_only_lines_that_may_mean_it_are_its_uses(depot: Codebase) -> None:
    data = explore_symbol_usage(depot, "Case_Of").data
    used = {row["file"] for row in data["references"]}
    assert {"src/Full.php", "src/Own.php", "src/Relative.php"} <= used
    assert used.isdisjoint({"src/Foreign.php", "src/Brought.php"})
    assert data["tests"] == []


@pytest.mark.parametrize(
    ("file", "line", "may_mean"),
    [
        ("src/Full.php", r"class A extends \Depot\Check\Case_Of", True),
        ("src/Full.php", r"class A extends \depot\CHECK\Case_Of", True),
        ("src/Full.php", r"class A extends \Frame\Case_Of", False),
        ("src/Full.php", r"class A extends \Check\Case_Of", False),
        ("src/Full.php", r"class A extends Frame\Case_Of", True),
        ("src/Full.php", r"new \Frame\Case_Of(new \Depot\Check\Case_Of())", True),
        ("src/Full.php", r"new \Case_Of()", True),
        ("src/Full.php", r"new \Frame\Case_Of_More()", True),
        ("src/Full.php", "new Case_Of()", True),
        ("src/Brought.php", "new Case_Of()", False),
        ("src/Brought.php", r"use Frame\Case_Of;", False),
        ("src/Brought.php", r"use Depot\Check\Case_Of as Other;", True),
        ("src/Own.php", "new Case_Of()", True),
        ("docs/use.md", r"\Frame\Case_Of", True),
    ],
)
def test_a_line_may_mean_it_unless_its_namespace_is_another(
    depot: Codebase, file: str, line: str, may_mean: bool
) -> None:
    symbol = next(one for one in depot.symbols_named("Case_Of") if one.file == "src/Check/Case_Of.php")
    assert NamedNamespace(depot.index, depot.try_source, symbol).may_mean(file, line) is may_mean


@given(line=st.text(alphabet="\\\\ aCase_Of(", max_size=40))
def test_without_a_class_any_line_may_mean_it(line: str) -> None:
    assert NamedNamespace(None, lambda _file: None, None).may_mean("a.php", line)  # type: ignore[arg-type]
