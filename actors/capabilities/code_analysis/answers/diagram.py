"""Draws call chains, and imports between parts, as Mermaid diagrams, from checked claims alone.

Names come from a repository: what has a meaning in Mermaid, or could be read as a citation mark, is left out of labels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from actors.capabilities.code_analysis.evidence.claims import Claim

MIN_EDGES = 2
MAX_EDGES = 20

_UNFIT = re.compile(r"[^\w.$<>/ -]+")


def call_diagram(claims: Sequence[Claim]) -> str | None:
    """The steps among the claims as a Markdown block with a flowchart; None for fewer than MIN_EDGES.

    Edges are labelled with file and line of what backs them, the call's own where it is known.
    """
    edges = [claim for claim in claims if claim.role == "step" and claim.source and claim.subject][:MAX_EDGES]
    if len(edges) < MIN_EDGES:
        return None
    names = list(dict.fromkeys(name for claim in edges for name in (claim.source, claim.subject)))
    nodes = {name: f"n{number}" for number, name in enumerate(names)}
    lines = [f'    {nodes[name]}["{_label(name)}"]' for name in names]
    for claim in edges:
        place = claim.citations[0]
        at = _label(f"{place.file} {place.start_line}")
        lines.append(f'    {nodes[claim.source]} -->|"{at}"| {nodes[claim.subject]}')
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


def part_diagram(claims: Sequence[Claim]) -> str | None:
    """Return the parts and the imports between them as a Markdown block with a flowchart; None without an import.

    Edges are labelled with the number of importing files.
    """
    links = [claim for claim in claims if claim.role == "link" and claim.source and claim.subject][:MAX_EDGES]
    if not links:
        return None
    parts = [claim.subject for claim in claims if claim.role == "part"]
    names = dict.fromkeys((*parts, *(name for claim in links for name in (claim.source, claim.subject))))
    nodes = {name: f"n{number}" for number, name in enumerate(names)}
    lines = [f'    {node}["{_label(name)}"]' for name, node in nodes.items()]
    lines += [f"    {nodes[claim.source]} -->|{claim.count}| {nodes[claim.subject]}" for claim in links]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


def _label(text: str) -> str:
    return _UNFIT.sub(" ", text).strip() or "?"
