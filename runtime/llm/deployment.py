"""Defines the settings that deployments of all providers share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)]


class Frozen(BaseModel):
    """Forbids unknown keys and changes; the parts of a model file derive from it."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Deployment(Frozen):
    """Holds the settings of a deployment; each provider adds its own.

    `max_model_len`: tokens of prompt and answer together; `concurrent`: calls at once. Without a `tokenizer` (a file or
    a folder) tokens are counted by bytes. `PATHS` are the keys that hold paths, `MUST_EXIST` those of existing files.
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
