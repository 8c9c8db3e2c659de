"""Blank lines, comments and padding prove nothing: what stands or is gone beside an empty body does not fill it."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.evidence.changed_lines import changed_lines
from actors.capabilities.code_change.evidence.checklist_evidence import refutation
from actors.capabilities.code_change.evidence.proofs import proofs_of
from actors.capabilities.code_change.evidence.write_guard import is_ours
from tests.capabilities.code_change.played_agent import Agent, git, repository

OLD = '''import net

# Pages are fetched once.

KEPT = {"a b": 1}


def load(url):
    """Fetch a page."""

    # as it is
    return net.fetch(url, KEPT)
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = repository(tmp_path / "project")
    (root / "load.py").write_text(OLD)
    (root / "page.c").write_text("int load(int url)\n{\n    /* once */\n\n    return fetch(url);\n}\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "more")
    return root


def judged(root: Path, text: str, evidence: str, item: str = "retry loop", file: str = "load.py") -> str | None:
    (root / file).write_text(text)
    return refutation(evidence, root, changed_lines(root, git(root, "rev-parse", "HEAD"), is_ours), item)


GONE = [
    (OLD.replace("import net\n\n", "import net\n"), "load.py:1-2"),
    (OLD.replace("# Pages are fetched once.\n", ""), "load.py:2-3"),
    (OLD.replace("    # as it is\n", ""), "load.py:10-11"),
    (OLD.replace('    """Fetch a page."""\n', ""), "load.py:8-9"),
    (OLD.replace("\n    # as it is\n", ""), "load.py:9"),
]


@pytest.mark.parametrize(("text", "evidence"), GONE)
def test_a_blank_line_or_a_comment_that_is_gone_proves_nothing(root: Path, text: str, evidence: str) -> None:
    told = judged(root, text, evidence)
    assert told is not None
    assert "only blank lines or comments were removed" in told


def test_comments_of_other_languages_that_are_gone_prove_nothing(root: Path) -> None:
    text = (root / "page.c").read_text().replace("    /* once */\n\n", "")
    assert "only blank lines or comments were removed" in str(judged(root, text, "page.c:2-3", file="page.c"))


@pytest.mark.parametrize("item", ["remove the comment", "drop what is unused", "trim the file", "fix the comments"])
def test_an_item_that_asks_for_it_is_proven_by_a_comment_that_is_gone_and_told(root: Path, item: str) -> None:
    text = OLD.replace("# Pages are fetched once.\n", "")
    assert judged(root, text, "load.py:2-3", item) is None
    changed = changed_lines(root, git(root, "rev-parse", "HEAD"), is_ours)
    entry = {"item": item, "status": "done", "evidence": "load.py:2-3"}
    assert "blank lines or comments" in proofs_of([entry], root, changed)[item].doubt


def test_a_removed_line_of_code_proves_an_item_without_doubt(root: Path) -> None:
    text = OLD.replace('KEPT = {"a b": 1}\n', "")
    assert judged(root, text, "load.py:4-5") is None
    changed = changed_lines(root, git(root, "rev-parse", "HEAD"), is_ours)
    entry = {"item": "retry loop", "status": "done", "evidence": "load.py:4-5"}
    assert proofs_of([entry], root, changed)["retry loop"].doubt == ""


BLANKED = [
    (OLD.replace('KEPT = {"a b": 1}', 'KEPT={"a b":1}'), "load.py:5"),
    (OLD.replace('KEPT = {"a b": 1}', 'KEPT = { "a b" : 1 }  # kept'), "load.py:5"),
    (OLD.replace("net.fetch(url, KEPT)", "net.fetch(\n        url, KEPT\n    )"), "load.py:12-14"),
]


@pytest.mark.parametrize(("text", "evidence"), BLANKED)
def test_blanks_beside_quotes_and_lines_broken_elsewhere_prove_nothing(root: Path, text: str, evidence: str) -> None:
    assert "differ in blanks or comments alone" in str(judged(root, text, evidence))


def test_blanks_within_quotes_are_a_change(root: Path) -> None:
    assert judged(root, OLD.replace('"a b"', '"a  b"'), "load.py:5") is None


EMPTY = "def decode(value):\n    pass\n"
PADDED = [
    ("LIMIT = 1\n\n\n" + EMPTY, "new.py"),
    ("import os\n\n\n" + EMPTY, "new.py"),
    (EMPTY + "\n\nprint(decode)\n", "new.py"),
    ("class Decoder:\n    limit = 1\n\n    def decode(self, value):\n        return None\n", "new.py"),
    ("#include <stdio.h>\nint limit = 1;\nint decode(int value)\n{\n    return 0;\n}\n", "new.c"),
    ("cdef int LIMIT = 1\n\ncdef int decode(int value) nogil:\n    return 0\n", "new.pyx"),
    ("package a\n\nvar limit = 1\n\nfunc Decode(value int) error {\n\treturn nil\n}\n", "new.go"),
    ("export const LIMIT = 1;\nexport function decode(value: string): void {\n}\n", "new.ts"),
]


@pytest.mark.parametrize(("text", "file"), PADDED)
def test_padding_beside_an_empty_body_does_not_make_it_count(root: Path, text: str, file: str) -> None:
    count = text.count("\n")
    told = judged(root, text, f"{file}:1-{count}", file=file)
    assert told is not None
    assert "ecode among them does nothing" in told
    assert "write its body" in told


def test_an_empty_body_beside_a_removed_line_is_no_evidence(root: Path) -> None:
    text = OLD.replace('KEPT = {"a b": 1}\n', "").replace("    return net.fetch(url, KEPT)\n", "    pass\n")
    assert "load among them does nothing" in str(judged(root, text, "load.py:1-11"))


def test_an_empty_body_beside_one_that_does_something_is_told(root: Path) -> None:
    text = "def encode(value):\n    return value + 1\n\n\n" + EMPTY
    assert judged(root, text, "new.py:1-6", file="new.py") is None
    changed = changed_lines(root, git(root, "rev-parse", "HEAD"), is_ours)
    entry = {"item": "retry loop", "status": "done", "evidence": "new.py:1-6"}
    assert proofs_of([entry], root, changed)["retry loop"].doubt == "decode among its lines does nothing"


DECLARED = {
    "new.swift": "protocol Store {\n    var limit: Int { get }\n    func load() -> Int\n    func keep(x: Int)\n}\n",
    "new.scala": "trait Store {\n  val limit = 1\n  def load(): Int\n}\n",
    "new.h": "class A {\npublic:\n  A() = default;\n  int x = 1;\n  virtual int load() = 0;\n  virtual ~A() {}\n};\n",
    "new.kt": "interface Store {\n    val limit: Int\n    fun load(): Int\n}\n",
    "new.rs": "trait Store {\n    const LIMIT: u8 = 1;\n    fn load(&self) -> u8;\n}\n",
    "New.java": "interface Store {\n    int LIMIT = 1;\n    int load();\n}\n",
    "new.ts": "abstract class A {\n  limit = 1;\n  abstract load(): number;\n}\n",
    "New.cs": "abstract class A {\n  int x = 1;\n  public abstract int Load();\n}\n",
    "new.php": "<?php\ninterface S {\n  const X = 1;\n  public function load($x);\n}\n",
}


@pytest.mark.parametrize("file", DECLARED)
def test_declarations_of_other_languages_are_no_empty_bodies(root: Path, file: str) -> None:
    text = DECLARED[file]
    assert judged(root, text, f"{file}:1-{text.count(chr(10))}", file=file) is None


FINE = [
    "import abc\n\n\nclass Store(abc.ABC):\n    limit = 1\n\n    @abc.abstractmethod\n    def get(self, key): ...\n",
    "from typing import Protocol\n\n\nclass Store(Protocol):\n    limit: int\n\n    def get(self, key: str): ...\n",
    "LIMIT = 1\n",
]


@pytest.mark.parametrize("text", FINE)
def test_declarations_without_a_body_are_no_empty_bodies(root: Path, text: str) -> None:
    assert judged(root, text, f"new.py:1-{text.count(chr(10))}", file="new.py") is None


LOUD = (
    "import os\n\n\ndef drop(path):\n    try:\n        os.unlink(path)\n    except FileNotFoundError:\n        raise\n"
)
QUIET = LOUD.replace("        raise\n", "        pass\n")


@pytest.mark.parametrize("item", ["ignore files that are missing", "tolerate a missing file"])
def test_a_handler_that_passes_proves_that_a_failure_is_ignored_and_is_told(root: Path, item: str) -> None:
    (root / "drop.py").write_text(LOUD)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "drop")
    assert judged(root, QUIET, "drop.py:8", item, "drop.py") is None
    changed = changed_lines(root, git(root, "rev-parse", "HEAD"), is_ours)
    entry = {"item": item, "status": "done", "evidence": "drop.py:8"}
    assert "lines that do nothing" in proofs_of([entry], root, changed)[item].doubt
    assert "implement nothing" in str(judged(root, QUIET, "drop.py:8", "retry loop", "drop.py"))


@pytest.mark.parametrize("text", [QUIET, "def drop(path):\n    pass\n"])
def test_a_new_handler_or_body_that_passes_is_no_proof_that_a_failure_is_ignored(root: Path, text: str) -> None:
    evidence = f"drop.py:{text.count(chr(10))}"
    assert judged(root, text, evidence, "ignore files that are missing", "drop.py") is not None


async def test_a_session_does_not_take_a_removed_blank_line_for_the_work(tmp_path: Path) -> None:
    agent = Agent(repository(tmp_path / "project"), tmp_path / "state")
    await agent.start()
    await agent.go_to(13)
    payload = await agent.prepare()
    agent.edit(text="import net\n\ndef load(url):\n    return net.fetch(url)\n")
    items = [{"item": "retry loop", "status": "done", "evidence": "load.py:2-3"}]
    told = await agent.submit({**payload, "checklist": items})
    assert "only blank lines or comments were removed" in told["error"]["problems"][0]
