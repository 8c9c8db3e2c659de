"""A body that only logs, fails or does nothing proves an item that asks for that, and is told; no other item."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_change.evidence.changed_lines import ALL_LINES, ChangedLines
from actors.capabilities.code_change.evidence.checklist_evidence import refutation
from actors.capabilities.code_change.evidence.proofs import proofs_of
from runtime.codebase.git.work_trees import Change

BODIES = {
    "new.py": "def f(self, a, b=None):\n    {}\n",
    "New.java": "class New {{ Object f(Object a) {{\n  {}\n}} }}\n",
    "New.cs": "class New {{ object F(object a) {{\n  {}\n}} }}\n",
    "new.ts": "export function f(a: T): T {{\n  {}\n}}\n",
    "new.go": "package a\n\nfunc F(a T) error {{\n\t{}\n}}\n",
    "new.rs": "fn f(a: T) -> R {{\n    {}\n}}\n",
    "new.rb": "def f(a)\n  {}\nend\n",
    "new.kt": "fun f(a: Int): T {{\n  {}\n}}\n",
    "new.php": "<?php\nfunction f($a) {{\n  {}\n}}\n",
}
ASKED = [
    ("new.py", "logger.info('connected to %s', a)", "log each connection"),
    ("new.py", "warnings.warn('f is deprecated', DeprecationWarning, stacklevel=2)", "deprecate f"),
    ("new.py", "raise ValueError('the door is closed')", "reject every call"),
    ("new.py", "pass", "a hook that does nothing by default"),
    ("new.py", "return False", "is_async returns False"),
    ("new.py", "logger.info('connected to %s', a)", "log each connection and warn of slow ones"),
    ("new.py", "logger.info('connected to %s', a)", "connections, disconnections and timeouts are logged"),
    ("New.java", 'throw new UnsupportedOperationException("the list is read-only");', "make the list immutable"),
    ("New.java", "return null;", "find returns null"),
    ("New.cs", 'throw new NotSupportedException("read-only");', "adding is not supported"),
    ("new.ts", "console.log(`${a}`);", "print the request"),
    ("new.go", "return nil", "closing is a no-op"),
    ("new.go", 'log.Printf("x %d", a)', "log the number"),
    ("new.rs", 'Err("closed".into())', "refuse calls on closed doors"),
    ("new.rb", 'logger.info("connected #{a}")', "log connections"),
    ("new.kt", 'logger.info("x $a")', "trace it"),
    ("new.php", "error_log($a);", "log errors"),
]
NOT_ASKED = [
    ("new.py", "logger.info('connected to %s', a)", "log in the user"),
    ("new.py", "logger.info('connected to %s', a)", "reject every call"),
    ("new.py", "raise ValueError('the door is closed')", "a hook that does nothing by default"),
    ("new.py", "raise NotImplementedError", "reject every call"),
    ("new.py", "raise ValueError('not implemented yet')", "reject every call"),
    ("new.py", "pass  # TODO", "a hook that does nothing by default"),
    ("new.py", "pass", "log each connection"),
    ("new.py", "pass", "nothing is lost when the process is killed"),
    ("new.py", "pass", "is_async returns False"),
    ("new.py", "return None", "load returns None when the page is missing"),
    ("New.java", 'throw new UnsupportedOperationException("not implemented");', "make the list immutable"),
    ("new.rs", "todo!()", "closing is a no-op"),
    ("new.go", 'panic("x")', "closing is a no-op"),
    # Work that is asked for beside it is not done by such a body.
    ("new.py", "logger.info('line %s', a)", "parse the file and log each line"),
    ("new.py", "logger.info('failed %s', a)", "Retry the download, log each failure"),
    ("new.py", "raise ValueError('the door is closed')", "validate the address, then reject bad ones"),
    ("new.py", "pass", "cache the results; closing is a no-op"),
]


# Languages without a grammar, of which no functions are known by name.
WITHOUT_NAMES = {
    "new.dart": "class New {{\n  void close(int a) {{\n    {}\n  }}\n}}\n",
    "new.hs": "close :: Int -> IO ()\nclose a = {}\n",
    "new.erl": "close(A) -> {}.\n",
}


def told(root: Path, file: str, body: str, item: str) -> tuple[str | None, str]:
    text = (BODIES | WITHOUT_NAMES)[file].format(body)
    (root / file).write_text(text)
    changed = ChangedLines((Change(file, "added"),), {file: ALL_LINES}, {}, frozenset())
    evidence = f"{file}:1-{text.count(chr(10))}"
    entry = {"item": item, "status": "done", "evidence": evidence}
    return refutation(evidence, root, changed, item), proofs_of([entry], root, changed)[item].doubt


@pytest.mark.parametrize(("file", "body", "item"), ASKED)
def test_what_an_item_asks_for_proves_it_and_is_told(tmp_path: Path, file: str, body: str, item: str) -> None:
    why, doubt = told(tmp_path, file, body, item)
    assert why is None
    assert "among its lines does nothing" in doubt


@pytest.mark.parametrize(("file", "body"), [(file, body) for file, body, _ in ASKED])
def test_it_proves_no_item_that_asks_for_something_else(tmp_path: Path, file: str, body: str) -> None:
    assert "does nothing" in str(told(tmp_path, file, body, "retry loop")[0])


@pytest.mark.parametrize(("file", "body", "item"), NOT_ASKED)
def test_what_was_not_asked_for_or_promises_something_proves_nothing(
    tmp_path: Path, file: str, body: str, item: str
) -> None:
    assert "does nothing" in str(told(tmp_path, file, body, item)[0])


@pytest.mark.parametrize(("file", "body"), [("new.dart", ""), ("new.hs", "pure ()"), ("new.erl", "ok")])
def test_it_is_so_where_no_functions_are_known_by_name(tmp_path: Path, file: str, body: str) -> None:
    assert told(tmp_path, file, body, "closing is a no-op") == (
        None,
        "lines that do nothing are all that proves it, as the item asks",
    )
    assert "implement nothing" in str(told(tmp_path, file, body, "retry loop")[0])
    assert "implement nothing" in str(told(tmp_path, file, body, "log each connection")[0])


@pytest.mark.parametrize(
    ("file", "body"),
    [("new.dart", "throw UnimplementedError();"), ("new.hs", "undefined"), ("new.erl", "error(not_implemented)")],
)
def test_a_promise_is_no_body_that_was_asked_for_there_either(tmp_path: Path, file: str, body: str) -> None:
    assert "implement nothing" in str(told(tmp_path, file, body, "closing fails")[0])


@pytest.mark.parametrize(
    ("file", "body"), [("new.dart", "socket.close(a);"), ("new.hs", "hClose a"), ("new.erl", "gen_tcp:close(A)")]
)
def test_work_is_told_as_no_doubt_there(tmp_path: Path, file: str, body: str) -> None:
    assert told(tmp_path, file, body, "closing is a no-op") == (None, "")
