"""What model calls cost, by the prices of their deployments: exact, whatever is added up in whatever order."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import DocumentFaults, ModelBrokeOffError, ModelDownError
from runtime.llm.client import ModelClient
from runtime.llm.model_file import ModelsFile, load_models, read_models
from runtime.llm.provider import all_providers
from runtime.llm.scripted import ScriptedModel
from runtime.llm.stage_llm import ModelAsked, StageLlm
from runtime.primitives.clock import FakeClock
from runtime.primitives.money import micro_of, money_of, told_money
from runtime.run.bounds import Grant
from runtime.run.stage_budget import StageBudget
from tests.runtime.llm.test_model_client import models
from tests.runtime.llm.test_stage_llm import HELLO, HELLO_TOKENS

FILE = """
deployments:
  main:
    backend: openai
    base_url: http://127.0.0.1:8000/v1
    model: main
    max_model_len: 32768
    price_per_million_tokens: {prices}
roles:
  default: {{deployment: main, max_tokens: 4096}}
"""


def loaded(folder: Path, prices: str) -> Any:
    (folder / "models.yaml").write_text(FILE.format(prices=prices), encoding="utf-8")
    return load_models(folder / "models.yaml").deployments["main"]


@pytest.mark.parametrize(
    ("prices", "tokens", "cost"),
    [
        ("{in: 0.15, out: 0.6}", (1_000_000, 0), 150_000),
        ("{in: 0.15, out: 0.6}", (0, 1_000_000), 600_000),
        ("{in: 0.15, out: 0.6}", (100, 50), 45),
        ("{in: 0.15, out: 0.6}", (1, 0), 1),
        ("{in: 0.1, out: 0.2}", (3, 0), 1),
        ("{in: 0.1, out: 0.2}", (10, 10), 3),
        ("{in: 0.1, out: 0.2}", (11, 10), 4),
        ('{in: "0.000001", out: 0}', (10**12, 5), 1_000_000),
        ("{in: 0, out: 0}", (10**9, 10**9), 0),
        ("null", (10**9, 10**9), 0),
    ],
)
def test_a_call_costs_its_tokens_rounded_up_to_a_millionth(
    tmp_path: Path, prices: str, tokens: tuple[int, int], cost: int
) -> None:
    assert loaded(tmp_path, prices).cost_micro(*tokens) == cost


def test_prices_stay_the_same_on_their_way_to_the_agents(tmp_path: Path) -> None:
    loaded(tmp_path, "{in: 0.1, out: 0.000003}")
    models = load_models(tmp_path / "models.yaml")
    again = read_models(models.model_dump(mode="json"), all_providers(()))
    assert again.deployments["main"].price_per_million_tokens == {"in": Decimal("0.1"), "out": Decimal("0.000003")}


@pytest.mark.parametrize(
    "prices",
    [
        "{in: 1}",
        "{out: 1}",
        "{}",
        "{in: -1, out: 1}",
        "{in: .nan, out: 1}",
        "{in: .inf, out: 1}",
        "{in: x, out: 1}",
        "{in: 1, out: 1, cached: 1}",
        "{in: 0.0000001, out: 1}",
        "3",
        "{in: 1000000001, out: 0}",
    ],
)
def test_prices_that_are_none_are_told_with_their_place(tmp_path: Path, prices: str) -> None:
    with pytest.raises(DocumentFaults, match="price_per_million_tokens"):
        loaded(tmp_path, prices)


def priced(main: str, spare: str) -> ModelsFile:
    given = models(("main", "spare"))
    prices = {
        name: {"in": Decimal(price), "out": Decimal(2 * int(price))}
        for name, price in (("main", main), ("spare", spare))
    }
    deployments = {
        name: given.deployments["main"].model_copy(update={"price_per_million_tokens": price})
        for name, price in prices.items()
    }
    return given.model_copy(update={"deployments": deployments})


@pytest.mark.parametrize(
    ("script", "cost"),
    [
        ("abc", 1_000 * HELLO_TOKENS + 2_000 * 3),
        (ModelDownError("down", permanent=True), 7 * HELLO_TOKENS + 14 * 5),
        (ModelBrokeOffError("cut", tokens_in=9, tokens_out=4), 1_000 * 9 + 2_000 * 4 + 7 * HELLO_TOKENS + 14 * 5),
    ],
)
async def test_a_stage_is_told_what_its_calls_cost_where_they_were_served(script: Any, cost: int) -> None:
    backends = {"main": ScriptedModel((script,), 4_096), "spare": ScriptedModel(("spare",), 4_096)}
    clock, budget = FakeClock(), StageBudget(Grant(llm_calls=9))
    client = ModelClient(priced("1000", "7"), backends, clock)
    llm = StageLlm(client, ModelAsked("planner"), budget, "r-1", "ann", clock, clock.now_ms() + 100_000)
    await llm.generate(HELLO)
    assert budget.cost_micro == cost


@given(st.integers(-(10**18), 10**18))
def test_amounts_are_told_exactly(micro: int) -> None:
    assert Decimal(told_money(micro)) == money_of(micro)
    assert micro_of(money_of(micro)) == micro
    assert "E" not in told_money(micro)


def test_amounts_have_no_zeros_behind() -> None:
    assert [told_money(micro) for micro in (0, 1, 10, 1_500_000, -2_000_000)] == [
        "0",
        "0.000001",
        "0.00001",
        "1.5",
        "-2",
    ]
