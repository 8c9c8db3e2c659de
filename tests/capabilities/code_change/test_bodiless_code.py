"""Code that needs no body is evidence: stubs, protocols, overloads, new packages; of others the way on is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.evidence.changed_lines import changed_lines
from actors.capabilities.code_change.evidence.proofs import proofs_of
from actors.capabilities.code_change.evidence.write_guard import is_ours
from tests.capabilities.code_change.played_agent import git, repository
from tests.capabilities.code_change.test_hollow_evidence import judged


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


PROTOCOL = "from typing import Protocol\n\n\nclass Store(Protocol):\n    def get(self, key: str) -> str: ...\n"
OVERLOAD = "@overload\ndef load(url: str) -> str: ...\n@typing.overload\ndef load(url: bytes) -> bytes:\n    ...\n"
TAKEN = [
    ("def load(url: str) -> str: ...\n", "new.pyi", "1"),
    ("class A:\n    def load(self, url: str) -> str:\n        pass\n", "new.pyi", "1-3"),
    ("LIMIT: int\n", "new.pyi", "1"),
    (PROTOCOL, "new.py", "4-5"),
    (PROTOCOL, "new.py", "5"),
    (PROTOCOL.replace("(Protocol)", "(typing.Protocol)"), "new.py", "5"),
    (PROTOCOL.replace("(Protocol)", "(Sized, Protocol[T])"), "new.py", "5"),
    (OVERLOAD, "new.py", "1-2"),
    (OVERLOAD, "new.py", "3-5"),
    ("class TooLong(ValueError):\n    pass\n", "new.py", "1"),
    ('class TooLong(errors.LoadError):\n    """Says so."""\n', "new.py", "1"),
    ("class Kept(Base):\n    pass\n", "new.py", "1"),
    ("class Kept(Base): pass\n", "new.py", "1"),
    ("class Kept extends Base {}\n", "new.js", "1"),
    ("class Kept implements Marker {}\n", "Kept.java", "1"),
    ("impl Marker for Kept {}\n", "new.rs", "1"),
    ("struct Kept : std::exception {};\n", "new.cpp", "1"),
    ("final class Codes {\n  static final int A = 1;\n  private Codes() {}\n}\n", "Codes.java", "1-4"),
    ("class One {\n  private constructor() {}\n  static one = new One();\n}\n", "new.ts", "1-4"),
    ("class Kept : Base { public Kept(int x) : base(x) { } }\n", "Kept.cs", "1"),
    ("@Component({ selector: 'a' })\nexport class Kept {}\n", "new.ts", "1-2"),
    ("defmodule A do\n  def next(x), do: x + 1\nend\n", "new.ex", "1-3"),
    ("function next(x) return x + 1 end\n", "new.lua", "1"),
    ("@click.group()\ndef cli():\n    pass\n", "new.py", "1-3"),
    ("@app.callback()\ndef main():\n    pass\n", "new.py", "1-3"),
    ("@pytest.hookspec(firstresult=True)\ndef collect(path): ...\n", "new.py", "1-2"),
]


@pytest.mark.parametrize(("text", "file", "lines"), TAKEN)
def test_a_head_that_needs_no_body_is_evidence(root: Path, text: str, file: str, lines: str) -> None:
    assert judged(root, text, f"{file}:{lines}", file=file) is None


REFUSED = [
    ("@click.command()\ndef load():\n    pass\n", "new.py", "1-3"),
    ("@grouped\ndef load():\n    pass\n", "new.py", "1-3"),
    ("def load(url: str) -> str:\n    ...\n", "new.pyi", "2"),
    ('"""Loads."""\n# later\n\n', "new.pyi", "1-3"),
    ("def load(url: str) -> str: ...\n", "new.py", "1"),
    ("class Store:\n    def get(self, key: str) -> str: ...\n", "new.py", "1-2"),
    ("class Protocols(Base):\n    def get(self, key: str) -> str: ...\n", "new.py", "1-2"),
    (PROTOCOL + '    """Kept."""\n', "new.py", "6"),
    ("@abc.abstractmethod\ndef get(self, key): ...\n", "new.py", "1-2"),
    ("class Kept(object):\n    pass\n", "new.py", "1"),
    ("class Kept(Base):\n    def get(self): ...\n", "new.py", "1-2"),
    ("class Kept:\n    pass\n", "new.py", "1-2"),
    ("final class Codes {\n  static final int A = 1;\n  Codes() {}\n}\n", "Codes.java", "1-4"),
    ("class One {\n  private load() {}\n  static one = new One();\n}\n", "new.ts", "1-4"),
    ("class Kept : Base { public Kept() : base() { } }\n", "Kept.cs", "1"),
    ("@Component()\nexport class Kept {}\n", "new.ts", "1-2"),
    ("defmodule A do\n  def next(x), do: nil\nend\n", "new.ex", "1-3"),
    ("function next(x) return nil end\n", "new.lua", "1"),
    ("def next(x: Int): Int = {\n  ???\n}\n", "new.scala", "1-3"),
    ("package a\n\nfunc F() {\n\tselect {\n\tdefault:\n\t}\n}\n", "new.go", "1-7"),
    ("def is_kept(key):\n    return False\n", "new.py", "1-2"),
    ("def warn(key):\n    log.warning('limit %s', key)\n", "new.py", "1-2"),
]


@pytest.mark.parametrize(("text", "file", "lines"), REFUSED)
def test_other_bodies_that_do_nothing_are_refused_with_the_way_on(root: Path, text: str, file: str, lines: str) -> None:
    told = judged(root, text, f"{file}:{lines}", file=file)
    assert told is not None
    assert "or skip it with that as the reason, which the person is told" in told


def doubt_of(root: Path, item: str, evidence: str) -> str:
    changed = changed_lines(root, git(root, "rev-parse", "HEAD"), is_ours)
    return proofs_of([{"item": item, "status": "done", "evidence": evidence}], root, changed)[item].doubt


@pytest.mark.parametrize(
    ("item", "is_told"),
    [("retry loop", True), ("add the exception Kept", False), ("Kept derives from Base", False)],
)
def test_a_type_that_only_derives_is_told_unless_the_item_speaks_of_one(root: Path, item: str, is_told: bool) -> None:
    for text in ("class Kept(Base):\n    pass\n", "class Kept(LoadError):\n    pass\n"):
        assert judged(root, text, "new.py:1-2", item, file="new.py") is None
        assert ("Kept among its lines holds nothing of its own" in doubt_of(root, item, "new.py:1-2")) is is_told


MARKERS = [
    ("class Missing:\n    pass\n", "new.py", "1-2"),
    ('class Missing:\n    """Stands for no value."""\n', "new.py", "1"),
    ("class Missing {}\n", "new.js", "1"),
    ("interface Missing {\n}\n", "Missing.java", "1-2"),
    ("struct Missing {};\n", "new.cpp", "1"),
]


@pytest.mark.parametrize(("text", "file", "lines"), MARKERS)
def test_a_type_without_anything_is_evidence_of_an_item_that_asks_for_a_marker_alone(
    root: Path, text: str, file: str, lines: str
) -> None:
    evidence = f"{file}:{lines}"
    assert judged(root, text, evidence, "add the marker Missing", file=file) is None
    assert "implement nothing" in str(judged(root, text, evidence, "retry loop", file=file))


@pytest.mark.parametrize(
    ("text", "lines"),
    [("class Missing:\n    def load(self):\n        pass\n", "1-3"), ("class Missing: ...\ndef f(): ...\n", "1-2")],
)
def test_a_function_that_does_nothing_is_no_marker(root: Path, text: str, lines: str) -> None:
    assert "nothing" in str(judged(root, text, f"new.py:{lines}", "add the marker Missing", file="new.py"))


@pytest.mark.parametrize("item", ["make it a package", "add new/__init__.py"])
@pytest.mark.parametrize("text", ['"""Loads pages."""\n', "# a package\n", "\n"])
def test_a_new_package_is_evidence_of_an_item_that_asks_for_one_and_is_told(root: Path, item: str, text: str) -> None:
    (root / "new").mkdir()
    assert judged(root, text, "new/__init__.py:1", item, file="new/__init__.py") is None
    changed = changed_lines(root, git(root, "rev-parse", "HEAD"), is_ours)
    entry = {"item": item, "status": "done", "evidence": "new/__init__.py:1"}
    assert "all that proves it" in proofs_of([entry], root, changed)[item].doubt


@pytest.mark.parametrize(
    ("item", "file"),
    [("mark it as typed", "new/py.typed"), ("keep the folder by .gitkeep", "new/.gitkeep")],
)
def test_a_file_that_does_its_work_by_being_there_is_evidence_of_an_item_that_asks_for_it(
    root: Path, item: str, file: str
) -> None:
    (root / "new").mkdir()
    assert judged(root, "", f"{file}:1", item, file=file) is None
    assert "implement nothing" in str(judged(root, "", f"{file}:1", "retry loop", file=file))


@pytest.mark.parametrize(("item", "file"), [("retry loop", "new/__init__.py"), ("make it a package", "new/init.py")])
def test_a_file_without_code_is_no_evidence_of_anything_else(root: Path, item: str, file: str) -> None:
    (root / "new").mkdir()
    assert "implement nothing" in str(judged(root, '"""Loads pages."""\n', f"{file}:1", item, file=file))
