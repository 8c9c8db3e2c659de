"""Defines how often something is repeated before it is a loop."""

from __future__ import annotations

import msgspec


class Thresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sets the threshold of each kind; None: loops of this kind are not looked for.

    `identical_action`: the same action in a row; `error_cycle`: returns to a failed action after another one failed;
    `semantic_loop`: failures of the same category in a row; `oscillation`: returns to an earlier state; `no_progress`:
    steps in a row that brought nothing. `repeated_errors` and `repeated_checks` count equal errors and equal results.
    """

    identical_action: int | None = 3
    error_cycle: int | None = 2
    semantic_loop: int | None = 4
    oscillation: int | None = 2
    no_progress: int | None = 4
    repeated_errors: int | None = 3
    repeated_checks: int | None = 3

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"threshold {name} is {value}; at least 1, or None to look for no such loop")


DEFAULT_THRESHOLDS = Thresholds()
NO_THRESHOLDS = Thresholds(None, None, None, None, None, None, None)
