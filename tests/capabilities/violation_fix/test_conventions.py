"""What a project asks of new code is read as data: annotations by its checkers, lengths of lines by its formatters."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.violation_fix.checks.line_length import line_length_of
from actors.capabilities.violation_fix.checks.typing_config import typing_rules


def package(root: Path, name: str = "", text: str = "") -> Path:
    """Write a package `shop` with a module `orders`, and one file of settings beside it."""
    (root / "shop").mkdir()
    (root / "shop" / "__init__.py").write_text("", encoding="utf-8")
    (root / "shop" / "orders.py").write_text("", encoding="utf-8")
    if name:
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("name", "text", "is_strict"),
    [
        ("pyproject.toml", "[tool.mypy]\nstrict = true\n", True),
        ("pyproject.toml", "[tool.mypy]\ndisallow_untyped_defs = true\n", True),
        ("pyproject.toml", "[tool.mypy]\nwarn_unused_ignores = true\n", False),
        (
            "pyproject.toml",
            "[tool.mypy]\nstrict = true\n[[tool.mypy.overrides]]\nmodule = 'shop.*'\nignore_errors = true\n",
            False,
        ),
        (
            "pyproject.toml",
            "[[tool.mypy.overrides]]\nmodule = ['other', 'shop.*']\ndisallow_untyped_defs = true\n",
            True,
        ),
        ("pyproject.toml", "[tool.pyright]\ntypeCheckingMode = 'strict'\n", True),
        ("pyproject.toml", "[tool.ruff.lint]\nselect = ['E', 'ANN']\n", True),
        ("pyproject.toml", "[tool.mypy\n", False),
        ("mypy.ini", "[mypy]\ndisallow_untyped_defs = True\n", True),
        ("setup.cfg", "[mypy]\n\n[mypy-shop.orders]\ndisallow_incomplete_defs = yes\n", True),
        ("setup.cfg", "[mypy\n", False),
        ("pyrightconfig.json", '{"typeCheckingMode": "strict"}', True),
        ("pyrightconfig.json", "[1", False),
    ],
)
def test_strict_typing_is_read_from_the_settings_of_type_checkers(
    tmp_path: Path, name: str, text: str, is_strict: bool
) -> None:
    assert typing_rules(package(tmp_path, name, text), "shop/orders.py").is_strict is is_strict


def test_a_file_is_known_by_its_dotted_name_and_reads_its_package(tmp_path: Path) -> None:
    inside = tmp_path / "src"
    inside.mkdir()
    package(inside, "secret.py", "x = 1")
    (inside / "shop" / "linked.py").symlink_to("/etc/hostname")
    rules = typing_rules(tmp_path, "src/shop/orders.py")
    assert (rules.module, rules.is_package, rules.is_checked) == ("shop.orders", False, False)
    assert typing_rules(tmp_path, "src/shop/__init__.py").module == "shop"
    assert rules.sources is not None
    assert rules.sources.source_of("shop") == ("", True)
    assert rules.sources.source_of("shop.orders") == ("", False)
    assert rules.sources.source_of("shop.linked") is None
    assert rules.sources.source_of("..secret") is None


def test_the_oldest_python_and_the_marker_of_typed_packages_are_read(tmp_path: Path) -> None:
    root = package(tmp_path, "pyproject.toml", "[project]\nrequires-python = '>=3.9'\n")
    (root / "shop" / "py.typed").write_text("", encoding="utf-8")
    rules = typing_rules(root, "shop/orders.py")
    assert (rules.min_python, rules.is_checked, rules.is_strict) == ((3, 9), True, False)


@pytest.mark.parametrize(
    ("name", "text", "length"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n", 100),
        ("pyproject.toml", "[tool.black]\nline-length = 95\n", 95),
        ("pyproject.toml", "[tool.black]\nline-length = 39\n", 88),
        ("ruff.toml", "line-length = 40\n", 40),
        ("setup.cfg", "[flake8]\nmax-line-length = 110\n", 110),
        ("tox.ini", "[pycodestyle]\nmax_line_length = 90\n", 90),
        (".flake8", "[flake8]\nmax-line-length = off\n", 79),
        (".editorconfig", "root = true\n[*.py]\nmax_line_length = 99\n", 99),
        ("pyproject.toml", "[tool.ruff\n", 79),
        ("pyproject.toml", "[tool.black]\ntarget-version = ['py311']\n", 88),
        ("pyproject.toml", "[tool.ruff.format]\nquote-style = 'single'\n", 88),
        ("pyproject.toml", "[tool.black]\n[tool.flake8]\nmax-line-length = 100\n", 100),
        ("pyproject.toml", "[tool.ruff.lint]\nselect = ['E']\n", 79),
        ("ruff.toml", "line-length = 1000\n", 1000),
        ("ruff.toml", "line-length = 1001\n", 79),
        ("pyproject.toml", "tool = 3\n", 79),
        ("pyproject.toml", "[tool]\nruff = 3\nblack = []\n", 79),
        ("pyproject.toml", "a = " + "[" * 20_000, 79),
    ],
)
def test_the_length_of_lines_is_read_from_the_settings(tmp_path: Path, name: str, text: str, length: int) -> None:
    assert line_length_of(package(tmp_path, name, text), "shop/orders.py") == length


@pytest.mark.parametrize(("longest", "length"), [(79, 79), (80, 88), (88, 88), (89, 100), (121, 120)])
def test_without_settings_a_file_keeps_the_length_of_its_own_lines(tmp_path: Path, longest: int, length: int) -> None:
    root = package(tmp_path)
    (root / "shop" / "orders.py").write_text("x = 1\n" + "#" * longest + "\n", encoding="utf-8")
    assert line_length_of(root, "shop/orders.py") == length


def test_one_long_line_in_a_hundred_changes_no_length(tmp_path: Path) -> None:
    root = package(tmp_path)
    (root / "shop" / "orders.py").write_text("x = 1\n" * 99 + "#" * 200 + "\n", encoding="utf-8")
    assert line_length_of(root, "shop/orders.py") == 79
