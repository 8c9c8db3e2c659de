from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.search.fusion import FRONT, MAX_JOINED_PER_FILE_IN_FRONT, MAX_PER_FILE_IN_FRONT
from tests.runtime.codebase.sample_repository import write_files


@pytest.mark.parametrize(
    ("question", "file", "symbol"),
    [
        ("how is money given back to the customer?", "src/shop/payment.py", "PaymentGateway.refund_payment"),
        ("Where does PaymentGateway.charge take money?", "src/shop/payment.py", "PaymentGateway.charge"),
        ("pay_order", "src/shop/orders.py", "pay_order"),
        ("which currency setting", "conf/settings.yaml", None),
        ("adding lines to a cart", "web/cart.js", "Cart"),
    ],
)
def test_a_question_finds_the_piece_that_answers_it(
    codebase: Codebase, question: str, file: str, symbol: str | None
) -> None:
    best = codebase.search_chunks(question, 5)[0]
    assert best.file == file
    assert symbol is None or (best.symbol or "").startswith(symbol)


def test_tests_and_documents_come_behind_source_unless_asked_for(codebase: Codebase) -> None:
    assert codebase.search_chunks("total tax of an order")[0].file == "src/shop/orders.py"
    assert codebase.search_chunks("which test covers the total tax of an order")[0].file == "tests/test_orders.py"
    assert codebase.search_chunks("what does the documentation say of the refund desk")[0].file == "README.md"


def test_a_path_in_the_question_raises_its_file(codebase: Codebase) -> None:
    assert codebase.search_chunks('File "/home/me/lib/src/shop/cli.py", line 9, in main order payment')[0].file == (
        "src/shop/cli.py"
    )


def test_a_scope_keeps_everything_else_out(codebase: Codebase) -> None:
    assert {hit.file for hit in codebase.search_chunks("order", 20, scope="tests")} == {"tests/test_orders.py"}
    assert codebase.search_chunks("order", 20, scope="web") == []


@pytest.mark.parametrize("question", ["", "   ", "how is it?", "zzqx wvvk", '"', "NEAR( AND OR", "a" * 50_000, "💥 🙈"])
def test_questions_without_a_known_word_find_nothing_and_do_no_harm(codebase: Codebase, question: str) -> None:
    assert codebase.search_chunks(question) == []


def test_the_same_question_gives_the_same_order(codebase: Codebase) -> None:
    assert codebase.search_chunks("order total payment", 20) == codebase.search_chunks("order total payment", 20)


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_no_more_than_the_limit_come_back(codebase: Codebase, limit: int) -> None:
    assert len(codebase.search_chunks("order total payment", limit)) == limit


def test_one_file_does_not_fill_the_front(root: Path, opened: Callable[[Path], Codebase]) -> None:
    many = "\n\n".join(f"def redirect_{n}(response):\n    return response.redirect({n})" for n in range(30))
    write_files(root, {"big.py": many, **{f"small{n}.py": "# a redirect\nx = 1\n" for n in range(10)}})
    hits = opened(root).search_chunks("redirect response", 40)
    counts = Counter(hit.file for hit in hits[:FRONT])
    assert counts["big.py"] == MAX_PER_FILE_IN_FRONT
    assert len(hits) == 40


def test_an_attribute_of_a_name_leaves_the_function_of_that_name_what_it_gains(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    holders = {f"h{n}.py": f"class H{n}:\n    def __init__(self):\n        self.drain_all = {n}\n" for n in range(5)}
    write_files(root, {"pump.py": "def drain_all(tank):\n    tank.empty()\n", **holders})
    alone, *others = opened(root).search_chunks("drain_all", 10)
    assert alone.file == "pump.py"
    assert all(alone.score > 2 * other.score for other in others)


def test_of_joined_places_more_of_one_file_come_in_front(root: Path, opened: Callable[[Path], Codebase]) -> None:
    long = "\n".join(f"    step_{n}()" for n in range(50))
    many = "\n\n".join(f"def redirect_{n}(response):\n{long}\n    return response.redirect({n})" for n in range(30))
    write_files(root, {"big.py": many, **{f"small{n}.py": "# a redirect\nx = 1\n" for n in range(10)}})
    hits = opened(root).search_chunks("redirect response", 40, join=True)
    assert Counter(hit.file for hit in hits[:FRONT])["big.py"] == MAX_JOINED_PER_FILE_IN_FRONT
