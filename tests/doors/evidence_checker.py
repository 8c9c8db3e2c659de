"""Checks an answer document against the files, with nothing of the product's own check in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

FIELDS: dict[str, type | tuple[type, ...]] = {
    "schema_version": int,
    "run_id": str,
    "question": str,
    "repo": str,
    "commit": (str, type(None)),
    "answer": str,
    "citations": list,
    "commits": list,
    "findings": list,
    "files_examined": list,
    "open_goals": list,
    "terminal_reason": str,
    "bound": (str, type(None)),
    "terminal_detail": (str, type(None)),
    "partial": bool,
    "reasoner": str,
    "usage": dict,
}
TRUST = {"status", "confidence"}
# Only of answers that have them.
SOMETIMES = {"id", "attempts", "failures", "meaning", "vectors", "parts"}
USAGE = {"llm_calls", "tokens_in", "tokens_out", "tool_calls", "hops", "stages", "duration_ms"}

_MARK = re.compile(r"\[([^\[\]\s:]+):(\d+)(?:-(\d+))?\]")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)

Place = tuple[str, int, int]


def shape_faults(document: dict[str, Any]) -> list[str]:
    """Fields that the document lacks, has too many, or of the wrong type."""
    faults = [f"lacks {name}" for name in FIELDS if name not in document]
    faults += [f"has {name}" for name in document if name not in {*FIELDS, *TRUST, *SOMETIMES}]
    faults += [fault for part in document.get("parts", ()) for fault in part_faults(part, document)]
    if document.get("status") not in {None, "answered", "not_found"}:
        faults.append(f"status is {document['status']}")
    if not 0 <= document.get("confidence", 1) <= 1:
        faults.append(f"confidence is {document['confidence']}")
    faults += [
        f"{name} is a {type(document[name]).__name__}"
        for name, kind in FIELDS.items()
        if name in document and not isinstance(document[name], kind)
    ]
    usage = document.get("usage", {})
    if set(usage) != USAGE or not all(type(value) is int and value >= 0 for value in usage.values()):
        faults.append(f"usage is {usage}")
    return faults


def part_faults(part: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """What is wrong with one part of a question: every part cites what the answer does."""
    if set(part) != {"text", "status", "confidence", "citations"}:
        return [f"a part has {sorted(part)}"]
    # A part is told without control characters and cut where it is long: its words are those of the question.
    asked, told = (re.sub(r"[\W_]+", "", text) for text in (document["question"], part["text"]))
    faults = [] if told in asked else [f"nobody asked {part['text']!r}"]
    if part["status"] not in {"answered", "not_found"} or (part["status"] == "answered" and not part["citations"]):
        faults.append(f"part {part['text']!r} is {part['status']} with {len(part['citations'])} citations")
    return faults + [f"a part cites {cited}" for cited in part["citations"] if cited not in document["citations"]]


def citation_faults(citation: dict[str, Any], root: Path) -> list[str]:
    """What is wrong with one citation."""
    name = f"{citation.get('file')}:{citation.get('start_line')}-{citation.get('end_line')}"
    if missing := {"file", "start_line", "end_line", "quote", "why"} - set(citation):
        return [f"{name} lacks {sorted(missing)}"]
    if unknown := set(citation) - {"file", "start_line", "end_line", "quote", "why", "symbol"}:
        return [f"{name} has {sorted(unknown)}"]
    path = root / citation["file"]
    if Path(citation["file"]).is_absolute() or not path.resolve().is_relative_to(root.resolve()):
        return [f"{name} is not below the repository"]
    if not path.is_file():
        return [f"{name}: no such file"]
    lines = path.read_bytes().decode("utf-8", "replace").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    first, last = citation["start_line"], citation["end_line"]
    if not 1 <= first <= last <= len(lines):
        return [f"{name}: the file has {len(lines)} lines"]
    quote = " ".join(citation["quote"].split())
    if not quote or quote not in " ".join(" ".join(lines[first - 1 : last]).split()):
        return [f"{name}: {quote!r} is not there"]
    return []


def places(citations: list[dict[str, Any]]) -> set[Place]:
    """Where citations point."""
    return {(item["file"], item["start_line"], item["end_line"]) for item in citations}


def marks(text: str) -> set[Place]:
    """The places that a text names, outside of the code that it shows."""
    return {(file, int(first), int(last or first)) for file, first, last in _MARK.findall(_CODE.sub("", text))}


def finding_faults(finding: dict[str, Any], given: set[Place], root: Path) -> list[str]:
    """What is wrong with one finding of an answer that cites the places `given`."""
    if set(finding) != {"goal", "status", "text", "citations"}:
        return [f"a finding has the fields {sorted(finding)}"]
    faults = [fault for citation in finding["citations"] for fault in citation_faults(citation, root)]
    if not places(finding["citations"]) <= given:
        faults.append(f"finding '{finding['goal']}' cites what the answer does not")
    if marks(finding["text"]) != places(finding["citations"]):
        faults.append(f"finding '{finding['goal']}' marks {sorted(marks(finding['text']))}")
    return faults


def document_faults(document: dict[str, Any], root: Path) -> list[str]:
    """Everything that is wrong with an answer document about the repository at `root`."""
    faults = shape_faults(document)
    if faults:
        return faults
    given = places(document["citations"])
    if len(given) != len(document["citations"]):
        faults.append("a place is cited twice")
    for citation in document["citations"]:
        faults += citation_faults(citation, root)
    if marks(document["answer"]) != given:
        faults.append(f"the answer marks {sorted(marks(document['answer']))}, cited are {sorted(given)}")
    for finding in document["findings"]:
        faults += finding_faults(finding, given, root)
    for file in document["files_examined"]:
        if not (root / file).is_file():
            faults.append(f"{file} was examined, but is no file")
    if document["terminal_reason"] != "completed" and not document["partial"]:
        faults.append("partial and terminal_reason disagree")
    if document["partial"] and not document["terminal_detail"]:
        faults.append("it is partial and does not say why")
    return faults
