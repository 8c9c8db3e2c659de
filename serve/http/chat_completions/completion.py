"""Builds chat completions, whole and in chunks, from answer documents. Pure.

Citations stand in the text as marks ([FILE:FROM-TO]); each mark is an annotation, too, of OpenAI's type `url_citation`.
Its URL names repository, file, commit and lines: jeeves://REPOSITORY/FILE?commit=COMMIT#L12-L19.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from runtime.run.envelope import BOUND_REASONS

DONE = "data: [DONE]\n\n"
MAX_ANNOTATIONS = 200
# Members of the answer document that go with a completion as a member of its own.
_KEPT = ("run_id", "commit", "terminal_reason", "status", "confidence", "partial", "bound", "open_goals", "citations")
_ENDED_WITH_TEXT = frozenset({"completed", "clarification_required", "confirmation_required"}) | BOUND_REASONS


class Naming(NamedTuple):
    """Names a completion: its run, the model as the caller wrote it, its repository, and when it was asked for."""

    run_id: str
    model: str
    repository: str
    created_s: int


def has_answer(document: Mapping[str, Any]) -> bool:
    """Return whether a run ended with something to tell: an answer, a partial one, or a question."""
    return document["terminal_reason"] in _ENDED_WITH_TEXT


def completion_of(document: Mapping[str, Any], naming: Naming) -> dict[str, Any]:
    """Return the completion of an answer document."""
    content = str(document["answer"])
    message = {
        "role": "assistant",
        "content": content,
        "refusal": None,
        "annotations": annotations_of(document, naming.repository),
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(document)}
    return {
        **_head(naming, "chat.completion"),
        "choices": [choice],
        "usage": usage_of(document),
        "jeeves": {name: document[name] for name in _KEPT if name in document},
    }


def annotations_of(document: Mapping[str, Any], repository: str) -> list[dict[str, Any]]:
    """Return an annotation for each mark of a citation in the text of an answer, in the order of the text."""
    text, commit = str(document["answer"]), document.get("commit")
    found: list[tuple[int, dict[str, Any]]] = []
    for citation in document["citations"]:
        mark = _mark(citation)
        start = text.find(mark)
        while start >= 0:
            end = start + len(mark)
            cited = {
                "start_index": start,
                "end_index": end,
                "title": " ".join(part for part in (mark[1:-1], citation.get("symbol")) if part),
                "url": _url(citation, repository, commit),
            }
            found.append((start, {"type": "url_citation", "url_citation": cited}))
            start = text.find(mark, end)
    in_order = dict(sorted(found, key=lambda each: each[0]))
    return list(in_order.values())[:MAX_ANNOTATIONS]


def usage_of(document: Mapping[str, Any]) -> dict[str, int]:
    """Return the tokens that models were sent and wrote; none without a model."""
    sent, written = document["usage"]["tokens_in"], document["usage"]["tokens_out"]
    return {"prompt_tokens": sent, "completion_tokens": written, "total_tokens": sent + written}


class Chunks:
    """Builds the chunks of a streamed completion, as server-sent events. `has_usage`: the last tells the usage."""

    def __init__(self, naming: Naming, has_usage: bool) -> None:
        self._naming = naming
        self._has_usage = has_usage

    def first(self) -> str:
        """Return the chunk that begins the message."""
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def progress(self, stage: str) -> str:
        """Return the chunk of a stage that began. Chat programs show it apart from the answer, or not at all."""
        return self._chunk({"reasoning_content": f"{stage.replace('_', ' ')} …\n"})

    def answer(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Yield the chunks of an answer document, line by line, and what ends the stream."""
        for line in str(document["answer"]).splitlines(keepends=True):
            yield self._chunk({"content": line})
        if annotations := annotations_of(document, self._naming.repository):
            yield self._chunk({"annotations": annotations})
        yield self._chunk({}, _finish_reason(document))
        if self._has_usage:
            yield _event({**_head(self._naming, "chat.completion.chunk"), "choices": [], "usage": usage_of(document)})
        yield DONE

    def _chunk(self, delta: Mapping[str, Any], finish_reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        no_usage_yet = {"usage": None} if self._has_usage else {}
        return _event({**_head(self._naming, "chat.completion.chunk"), "choices": [choice], **no_usage_yet})


def _head(naming: Naming, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{naming.run_id}", "object": kind, "created": naming.created_s, "model": naming.model}


def _event(data: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"


def _finish_reason(document: Mapping[str, Any]) -> str:
    return "length" if document.get("bound") is not None else "stop"


def _mark(citation: Mapping[str, Any]) -> str:
    first, last = citation["start_line"], citation["end_line"]
    return f"[{citation['file']}:{first}]" if first == last else f"[{citation['file']}:{first}-{last}]"


def _url(citation: Mapping[str, Any], repository: str, commit: Any) -> str:
    """Return the URL of a citation; a file name may hold any character."""
    at = f"?commit={quote(commit)}" if isinstance(commit, str) else ""
    file = quote(citation["file"].encode("utf-8", "surrogatepass"))
    return f"jeeves://{quote(repository, safe='')}/{file}{at}#L{citation['start_line']}-L{citation['end_line']}"
