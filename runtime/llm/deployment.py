"""What every deployment of a model file says, whatever provider serves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)]


class Frozen(BaseModel):
    """A part of a model file: no unknown keys, nothing changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Deployment(Frozen):
    """The settings of a deployment; each provider adds its own. `max_model_len`: tokens of prompt and answer together;
    `concurrent`: calls at once.

    Without a `tokenizer` (a file or a folder) tokens are counted by bytes. Subclasses name the keys that hold paths:
    `MUST_EXIST` are those where something has to be.
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

    def missing_files(self) -> Iterator[tuple[str, str]]:
        """Key and problem of each path that leads nowhere, or to something else."""
        for key in self.MUST_EXIST:
            path = getattr(self, key)
            if path is not None and not absolute(path).exists():
                yield key, f"there is no {absolute(path)}"

    def with_absolute_paths(self) -> Self:
        """Paths as every process has them: workers do not start in the folder of whoever started them."""
        paths = {key: getattr(self, key) for key in self.PATHS}
        return self.model_copy(update={key: str(absolute(path)) for key, path in paths.items() if path is not None})

    def tokenizer_place(self) -> Path | None:
        """The file or folder to count tokens by, None to count bytes."""
        return None if self.tokenizer is None else Path(self.tokenizer).expanduser()


def absolute(path: str) -> Path:
    """A path of the file as it is from here: they count from the folder that jeeves was started in."""
    try:
        return Path(path).expanduser().resolve()
    except (RuntimeError, ValueError):  # a home of nobody, or a name that no file can have
        return Path(path)
