"""Defines the settings that deployments of all providers share."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from runtime.primitives.money import DECIMALS, MOST_UNITS

Price = Annotated[Decimal, Field(ge=0, le=MOST_UNITS, decimal_places=DECIMALS, allow_inf_nan=False)]
Direction = Literal["in", "out"]


def _has_both(prices: dict[Direction, Price]) -> dict[Direction, Price]:
    if len(prices) < 2:
        raise PydanticCustomError("prices", "give the price of both directions, in and out")
    return prices


Prices = Annotated[dict[Direction, Price], AfterValidator(_has_both)]
Seconds = Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)]


class Frozen(BaseModel):
    """Forbids unknown keys and changes; the parts of a model file derive from it."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Deployment(Frozen):
    """Holds the settings of a deployment; each provider adds its own.

    `max_model_len`: tokens of prompt and answer together; `concurrent`: calls at once. Without a `tokenizer` (a file or
    a folder) tokens are counted by bytes. `price_per_million_tokens`: of a prompt's tokens (`in`) and of an answer's
    (`out`), in any one currency; without it calls cost nothing. `PATHS` are the keys that hold paths, `MUST_EXIST`
    those of existing files.
    """

    MUST_EXIST: ClassVar[tuple[str, ...]] = ("tokenizer",)
    PATHS: ClassVar[tuple[str, ...]] = ("tokenizer",)

    backend: str
    model: str = Field(min_length=1, max_length=500)
    max_model_len: int = Field(ge=256, le=10_000_000)
    tokenizer: str | None = None
    bytes_per_token: float = Field(default=1.0, ge=1, le=8, allow_inf_nan=False)
    concurrent: int = Field(default=32, ge=1, le=10_000)
    total_timeout_s: Seconds = 120
    price_per_million_tokens: Prices | None = None

    def cost_micro(self, tokens_in: int, tokens_out: int) -> int:
        """Return what a call cost in millionths of the currency, rounded up."""
        prices = self.price_per_million_tokens
        if prices is None:
            return 0
        # A price per million tokens is that of one token in millionths.
        exact = prices["in"] * tokens_in + prices["out"] * tokens_out
        return int(exact.to_integral_value(ROUND_CEILING))

    def missing_files(self) -> Iterator[tuple[str, str]]:
        """Yield key and problem of each path that is wrong."""
        for key in self.MUST_EXIST:
            path = getattr(self, key)
            if path is not None and not absolute(path).exists():
                yield key, f"there is no {absolute(path)}"

    def with_absolute_paths(self) -> Self:
        """Make its paths absolute: workers start in other folders than the command that reads the file."""
        paths = {key: getattr(self, key) for key in self.PATHS}
        return self.model_copy(update={key: str(absolute(path)) for key, path in paths.items() if path is not None})

    def tokenizer_place(self) -> Path | None:
        """Return the file or folder to count tokens by, None to count bytes."""
        return None if self.tokenizer is None else Path(self.tokenizer).expanduser()


def absolute(path: str) -> Path:
    """Resolve a path of a model file against the folder that jeeves was started in."""
    try:
        return Path(path).expanduser().resolve()
    except (RuntimeError, ValueError):  # an unknown home folder, or an invalid file name
        return Path(path)
