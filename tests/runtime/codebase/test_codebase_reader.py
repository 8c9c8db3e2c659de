from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.paths import is_denied, relative_to_root
from runtime.codebase.git.head import head_commit
from runtime.codebase.search.text_search import MAX_PATTERN_CHARS, compile_pattern
from runtime.errors import RepositoryError, ToolArgumentsError
from tests.runtime.codebase.sample_repository import write_files


def test_lines_and_hash_are_those_on_disk(codebase: Codebase, shop: Path) -> None:
    assert codebase.read_lines("web/format.js", 2, 3) == ["  return String(line)", "}"]
    assert codebase.read_lines("./web/../web/format.js", 3, 99) == ["}"]
    assert codebase.read_lines("web/format.js", 4) == []
    data = (shop / "web/format.js").read_bytes()
    assert codebase.sha256("web/format.js") == hashlib.sha256(data).hexdigest()
    (shop / "web/format.js").write_text("// new\n")
    assert codebase.read_lines("web/format.js") == ["// new"]


@pytest.mark.skipif(sys.platform != "linux", reason="open files are listed in /proc")
def test_connections_of_threads_that_ended_are_closed(codebase: Codebase, index_path: Path) -> None:
    for _ in range(20):
        thread = threading.Thread(target=codebase.symbols_named, args=("PaymentGateway",))
        thread.start()
        thread.join()
    open_files = [os.path.realpath(file) for file in Path("/proc/self/fd").iterdir()]
    assert 1 <= open_files.count(str(index_path.resolve())) <= 5  # SQLite keeps a few for its next connections
    assert codebase.symbols_named("PaymentGateway")


@pytest.mark.parametrize(
    "name", ["Order.total", "orders.Order.total", "shop.orders.Order.total", "Order::total", "Order#total", "total()"]
)
def test_a_symbol_is_found_by_every_way_to_write_it(codebase: Codebase, name: str) -> None:
    assert codebase.symbols_named(name)[0].qualified_name == "Order.total"


def test_names_are_found_in_any_case_with_the_exact_one_first(codebase: Codebase) -> None:
    assert [symbol.name for symbol in codebase.symbols_named("paymentgateway")] == ["PaymentGateway"]
    assert codebase.symbols_named("Payment.nothing") == []
    assert codebase.symbols_named("  ") == []
    assert codebase.symbols_named("refund") == []
    assert codebase.symbols_named("refund", fuzzy=True)[0].name == "refund_payment"


def test_the_symbol_at_a_line_is_the_innermost(codebase: Codebase) -> None:
    order = codebase.symbols_named("Order.rounded")[0]
    found = codebase.symbol_at("src/shop/orders.py", order.end_line)
    assert found is not None
    assert found.qualified_name == "Order.rounded"
    assert codebase.symbol_at("src/shop/orders.py", 1) is None


def test_callers_come_with_the_function_around_them(codebase: Codebase) -> None:
    charge = codebase.symbols_named("PaymentGateway.charge")[0]
    assert [(call.file, call.enclosing) for call in codebase.callers(charge)] == [("src/shop/orders.py", "pay_order")]
    assert [call.enclosing for call in codebase.callers("pay_order")] == ["main"]


def test_callees_are_led_to_their_definitions(codebase: Codebase) -> None:
    def targets(name: str) -> dict[str, str | None]:
        callees = codebase.callees(codebase.symbols_named(name)[0])
        return {item.name: item.definition.qualified_name if item.definition else None for item in callees}

    assert targets("Order.total") == {"rounded": "Order.rounded"}
    assert targets("Order.rounded") == {"ceil": None}
    assert targets("cli.main") == {"PaymentGateway": "PaymentGateway", "pay_order": "pay_order", "Order": "Order"}


def test_a_bare_call_never_means_a_method_of_another_class(root: Path, opened: Callable[[Path], Codebase]) -> None:
    write_files(root, {"a.py": "class A:\n    def next(self): ...\n\ndef f(it):\n    return next(it)\n"})
    codebase = opened(root)
    assert codebase.callees(codebase.symbols_named("f")[0])[0].definition is None


def test_references_hold_calls_imports_and_mentions_in_code(codebase: Codebase) -> None:
    found = {(item.file, item.kind) for item in codebase.references("PaymentGateway")}
    assert ("src/shop/cli.py", "call") in found
    assert ("src/shop/cli.py", "import") in found
    gateway = codebase.references("VAT_RATE")
    assert [(item.kind, item.enclosing) for item in gateway] == [("reference", "Order.total")]


@pytest.mark.parametrize("wanted", ["src/shop/orders.py", "./src/shop/orders.py"])
def test_importers_of_a_file_are_found(codebase: Codebase, wanted: str) -> None:
    assert {item.file for item in codebase.importers(wanted)} == {
        "src/shop/__init__.py",
        "src/shop/cli.py",
        "tests/test_orders.py",
    }


def test_importers_of_a_folder_and_of_a_foreign_module_are_found(codebase: Codebase) -> None:
    assert {item.file for item in codebase.importers("src/shop")} == {"tests/test_orders.py"}
    assert [item.file for item in codebase.importers("math")] == ["src/shop/orders.py"]
    assert [item.file for item in codebase.importers("web/format.js")] == ["web/cart.js"]


def test_text_search_finds_strings_and_patterns_source_first(codebase: Codebase) -> None:
    hits, more, _ = codebase.search_text("Order(")
    assert [(hit.file, hit.text.strip()) for hit in hits] == [
        ("src/shop/cli.py", "orders.pay_order(Order(100), gateway)"),
        ("tests/test_orders.py", "assert Order(100).total() == 120"),
    ]
    assert not more
    assert len(codebase.search_text("Order(", case_sensitive=False)[0]) == 3
    assert len(codebase.search_text(r"^class \w+", regex=True)[0]) == 2
    assert codebase.search_text("Order(", scope="tests")[0][0].file == "tests/test_orders.py"


@pytest.mark.parametrize(("limit", "more"), [(1, True), (2, False), (3, False)])
def test_text_search_says_whether_there_is_more(codebase: Codebase, limit: int, more: bool) -> None:
    hits, truncated, _ = codebase.search_text("Order(", max_hits=limit)
    assert (len(hits), truncated) == (min(limit, 2), more)


@pytest.mark.parametrize("pattern", ["", "x" * (MAX_PATTERN_CHARS + 1), "(", "a**"])
def test_patterns_that_cannot_be_used_are_refused(pattern: str) -> None:
    with pytest.raises(ToolArgumentsError):
        compile_pattern(pattern, regex=True, case_sensitive=True)


def test_a_pattern_may_be_as_long_as_the_limit() -> None:
    assert compile_pattern("x" * MAX_PATTERN_CHARS, regex=False, case_sensitive=True)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "src/../../x", "out/x", ".git/config", "a\0b"])
def test_no_path_leads_out_of_the_repository(codebase: Codebase, shop: Path, path: str) -> None:
    (shop.parent / "x").write_text("secret\n")
    (shop / "out").symlink_to(shop.parent)
    with pytest.raises(RepositoryError) as caught:
        codebase.source(path)
    assert is_denied(caught.value)


@pytest.mark.parametrize("path", [".env", "src/tls.key"])
def test_secrets_are_not_read_even_when_named(codebase: Codebase, shop: Path, path: str) -> None:
    (shop / path).write_text("KEY=1\n")
    (shop / "plain.txt").symlink_to(shop / path)
    for name in (path, "plain.txt"):
        with pytest.raises(RepositoryError, match="secrets"):
            codebase.source(name)


def test_missing_binary_and_huge_files_are_errors_that_say_so(codebase: Codebase, shop: Path) -> None:
    (shop / "b.bin").write_bytes(b"\0")
    with (shop / "huge.txt").open("wb") as file:
        file.truncate(10_000_001)
    for path, message in [
        ("nothing.py", "no file"),
        ("src", "not a file"),
        ("b.bin", "binary"),
        ("huge.txt", "too large"),
    ]:
        with pytest.raises(RepositoryError, match=message):
            codebase.source(path)


@given(st.lists(st.sampled_from(["..", ".", "a", "b", "out", ""]), max_size=8), st.booleans())
def test_whatever_is_put_together_from_parts_stays_below_the_root(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], absolute: bool
) -> None:
    root = tmp_path_factory.getbasetemp() / "confined"
    if not root.exists():
        (root / "a" / "b").mkdir(parents=True)
        (root / "out").symlink_to(root.parent)
    path = ("/" if absolute else "") + "/".join(parts)
    try:
        relative = relative_to_root(root.resolve(), path)
    except RepositoryError as error:
        assert is_denied(error)
        return
    assert (root / relative).resolve().is_relative_to(root.resolve())
    assert not relative.startswith(("/", ".."))


def git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), "-c", "user.name=n", "-c", "user.email=e@x", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_commit_is_read_from_loose_packed_detached_and_linked_heads(shop: Path, tmp_path: Path) -> None:
    assert head_commit(shop) is None
    git(shop, "init", "-q")
    assert head_commit(shop) is None
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "one")
    commit = git(shop, "rev-parse", "HEAD")
    assert head_commit(shop) == commit
    git(shop, "pack-refs", "--all")
    assert head_commit(shop) == commit
    git(shop, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert head_commit(tmp_path / "linked") == commit
    git(shop, "checkout", "-q", "--detach")
    assert head_commit(shop) == commit
    assert head_commit(shop / "src") is None
