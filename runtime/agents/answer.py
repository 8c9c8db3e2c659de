"""Defines the answer of a run: the keys of a stage's output that end up in the answer document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

ANSWER_KEY = "integration"


class Answer(msgspec.Struct, frozen=True):
    """Holds the answer of a pipeline. All keys are optional; others in the same output are left alone.

    - `final_response`: the answer, in Markdown.
    - `citations`: {file, start_line, end_line, symbol?, quote, why} of each place, most relevant first. A capability
      that cites leaves an empty list if it found nothing; one that does not cite has no such key.
    - `commits`: {sha, author, date, subject} of each commit that the answer mentions.
    - `parts`: {text, status, confidence, citations} of each thing that was asked, in order.
    - `findings`: {goal, status, text, citations} of each goal. `files_examined`: paths.
    - `open_goals`: goals without an answer; without the key, those of the run that are not answered.
    - `confidence`: how far the answer can be trusted, 0 to 1.
    - `status`: `answered`, or `not_found` where the places that it cites are likely ones only.
    - `claims_dropped`: reason → number of a model's claims that its evidence did not bear; `claims_struck`: {text,
      cited, verdict, why} of each that a judge struck. `model_unused`: a model was wanted, and did nothing.
    - `partial`: the answer lacks something. `bound`: the bound that left goals open. `ended_because`: why, in words.
    """

    final_response: str = ""
    citations: list[dict[str, Any]] | None = None
    commits: list[dict[str, Any]] = []
    findings: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    files_examined: list[str] = []
    open_goals: list[str] | None = None
    claims_dropped: dict[str, int] = {}
    claims_struck: list[dict[str, Any]] = []
    model_unused: bool = False
    partial: bool = False
    bound: str | None = None
    ended_because: str | None = None
    confidence: float | None = None
    status: str | None = None


def answer_in(outputs: Mapping[str, dict[str, Any]], is_completed: bool = True) -> Answer:
    """Return the answer among the outputs of a run; an empty one if there is none.

    It is the output `integration`; else, of a completed run, the last output that has a `final_response`. While a run
    waits, or after it was denied, such an output may be a draft that nobody has approved. An output whose keys have
    other types than those of `Answer` is reported in place of the answer.
    """
    if not is_completed:
        outputs = {key: output for key, output in outputs.items() if key == ANSWER_KEY}
    having = [output for output in outputs.values() if output.get("final_response")]
    output = outputs.get(ANSWER_KEY) or (having[-1] if having else {})
    try:
        answer = msgspec.convert(output, Answer)
        for finding in (*answer.findings, *answer.parts):
            msgspec.convert(finding.get("citations", []), list[dict[str, Any]])
        # Through JSON: hooks may return bytes and the like, which doors cannot print.
        return msgspec.json.decode(msgspec.json.encode(output), type=Answer)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        return Answer(f"The answer of the pipeline cannot be read: {error}.", partial=True)
