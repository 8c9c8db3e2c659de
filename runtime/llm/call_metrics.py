"""What a process counts of its model calls, and how the counts of several processes are put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from runtime.bus.circuit_breaker import State
from runtime.llm.messages import Completion
from runtime.primitives.counters import HistogramSample, LabelledCounter, LabelledHistogram, Sample

Outcome = Literal["served", "broke_off", "down", "busy", "refused", "stopped", "cancelled"]

CALLS = "jeeves_model_calls"
TOKENS = "jeeves_model_tokens"
RETRIES = "jeeves_model_retries"
FALLBACKS = "jeeves_model_fallbacks"
FIRST_TEXT_S = "jeeves_model_first_text_seconds"
CALL_S = "jeeves_model_call_seconds"

# Name → labels and help text.
COUNTERS: dict[str, tuple[tuple[str, ...], str]] = {
    CALLS: (("role", "deployment", "outcome"), "Calls of models by how they ended."),
    TOKENS: (
        ("role", "deployment", "kind"),
        "Tokens of served calls: in, out, and cached, those of in that the engine found in its prefix cache.",
    ),
    RETRIES: (("role", "deployment"), "Calls made again because nothing was served."),
    FALLBACKS: (("role", "deployment"), "Requests passed on to the next deployment of the role."),
}
HISTOGRAMS: dict[str, str] = {
    FIRST_TEXT_S: "From sending a request to the first text, of answers that come in pieces.",
    CALL_S: "From sending a request to the whole answer.",
}
BOUNDS_S = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_WORST_LAST: tuple[State, ...] = ("closed", "half_open", "open")


class ModelStats(msgspec.Struct, frozen=True):
    """Counts by name, and where the breaker of each deployment stands."""

    counters: dict[str, list[Sample]] = {}
    histograms: dict[str, list[HistogramSample]] = {}
    breakers: dict[str, State] = {}


class CallMetrics:
    """The counts of one process."""

    def __init__(self) -> None:
        self._counters = {name: LabelledCounter(name, told, labels) for name, (labels, told) in COUNTERS.items()}
        self._histograms = {
            name: LabelledHistogram(name, told, ("deployment",), BOUNDS_S) for name, told in HISTOGRAMS.items()
        }

    def ended(self, role: str, deployment: str, outcome: Outcome) -> None:
        """A call has ended."""
        self._counters[CALLS].add(role, deployment, outcome)

    def served(self, role: str, deployment: str, completion: Completion, seconds: float) -> None:
        """A call was served."""
        tokens = self._counters[TOKENS]
        tokens.add(role, deployment, "in", by=completion.tokens_in)
        tokens.add(role, deployment, "cached", by=min(completion.tokens_cached, completion.tokens_in))
        tokens.add(role, deployment, "out", by=completion.tokens_out)
        self._histograms[CALL_S].observe(seconds, deployment)

    def first_text(self, deployment: str, seconds: float) -> None:
        """The first piece of an answer has come."""
        self._histograms[FIRST_TEXT_S].observe(seconds, deployment)

    def retried(self, role: str, deployment: str) -> None:
        """A deployment is asked again."""
        self._counters[RETRIES].add(role, deployment)

    def passed_on(self, role: str, deployment: str) -> None:
        """The deployment after this one is asked."""
        self._counters[FALLBACKS].add(role, deployment)

    def stats(self, breakers: Mapping[str, State]) -> ModelStats:
        """All of it, as plain data."""
        return ModelStats(
            {name: counter.samples() for name, counter in self._counters.items()},
            {name: histogram.samples() for name, histogram in self._histograms.items()},
            dict(breakers),
        )


def together(stats: Iterable[ModelStats]) -> ModelStats:
    """The counts of several processes as one: sums, and the worst state of each breaker."""
    counts: dict[str, dict[tuple[tuple[str, str], ...], int]] = {name: {} for name in COUNTERS}
    values: dict[str, dict[tuple[tuple[str, str], ...], HistogramSample]] = {name: {} for name in HISTOGRAMS}
    breakers: dict[str, State] = {}
    for each in stats:
        for name, samples in each.counters.items():
            for sample in samples:
                labels = tuple(sample.labels.items())
                counts[name][labels] = counts[name].get(labels, 0) + sample.value
        for name, found in each.histograms.items():
            for one in found:
                labels = tuple(one.labels.items())
                values[name][labels] = _added(values[name].get(labels), one)
        for deployment, state in each.breakers.items():
            breakers[deployment] = max(breakers.get(deployment, state), state, key=_WORST_LAST.index)
    return ModelStats(
        {
            name: [Sample(dict(labels), count) for labels, count in sorted(found.items())]
            for name, found in counts.items()
        },
        {name: [found[labels] for labels in sorted(found)] for name, found in values.items()},
        breakers,
    )


def _added(one: HistogramSample | None, other: HistogramSample) -> HistogramSample:
    if one is None:
        return other
    counts = [first + second for first, second in zip(one.counts, other.counts, strict=True)]
    return HistogramSample(one.labels, counts, one.total + other.total)
