"""Defines agent profiles: the defaults that a capability ships for its agents, and what precedes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from runtime.errors import SettingsError
from runtime.pipeline.config import AgentConfig

MAX_TEMPERATURE = 2.0


class AgentProfile(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds an agent's defaults; None leaves a value to the model file, or sets no budget.

    `role`: its model role; `temperature`: from 0 to 2; `max_tokens`: of one answer; `thresholds`: numbers by name that
    its hooks decide by; `latency_budget_ms`: a stage that takes longer is warned of and counted, but not ended.
    Raises SettingsError for values outside these ranges, and for thresholds that are no finite numbers.
    """

    role: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    thresholds: Mapping[str, float] = {}
    latency_budget_ms: int | None = None

    def __post_init__(self) -> None:
        if self.temperature is not None and not (
            _is_number(self.temperature) and 0 <= self.temperature <= MAX_TEMPERATURE
        ):
            raise SettingsError(f"a profile's temperature is from 0 to {MAX_TEMPERATURE:g}, not {self.temperature!r}")
        for name in ("max_tokens", "latency_budget_ms"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise SettingsError(f"a profile's {name} is a whole number from 1, not {value!r}")
        for name, value in self.thresholds.items():
            if not _is_number(value):
                raise SettingsError(f"threshold '{name}' of a profile is a finite number, not {value!r}")


def profile_of(shipped: AgentProfile, config: AgentConfig, overrides: Mapping[str, Any]) -> AgentProfile:
    """Return the profile that an agent works by: settings precede its pipeline, and that precedes what is shipped.

    `overrides`: the agent's section of the settings. Thresholds are replaced one by one; raises SettingsError for one
    that the shipped profile does not have.
    """
    thresholds = overrides.get("thresholds") or {}
    unknown = sorted(set(thresholds) - set(shipped.thresholds))
    if unknown:
        known = ", ".join(sorted(shipped.thresholds)) or "none"
        raise SettingsError(f"agent '{config.name}' has no threshold {', '.join(unknown)}; it has {known}")
    pipeline = {"role": config.model_role, "temperature": config.temperature, "max_tokens": config.max_tokens}
    chosen = {name: getattr(shipped, name) for name in ("role", "temperature", "max_tokens", "latency_budget_ms")}
    for upper in (pipeline, overrides):
        chosen |= {name: upper[name] for name in chosen if upper.get(name) is not None}
    return AgentProfile(**chosen, thresholds={**shipped.thresholds, **thresholds})


def overrides_of(settings: Mapping[str, Any], capability: str, agent: str) -> Mapping[str, Any]:
    """Return what the settings say of an agent of a capability; `settings` is what agents are given."""
    section = settings.get("capability_settings", {}).get(capability, {})
    found: Mapping[str, Any] = section.get("agents", {}).get(agent, {})
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
