"""Loads pipelines from YAML files and reports all faults at once, each with file, line and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from runtime.pipeline.config import END, PipelineConfig
from runtime.pipeline.pipeline_validation import problems_of
from runtime.primitives.yaml_documents import (
    Document,
    Fault,
    KeyPath,
    complaints_of,
    load_yaml,
    model_faults,
    parse_yaml,
    raise_faults,
)


class Examined(NamedTuple):
    """Holds what a document says of a pipeline: all of its faults, and the pipeline without the refused values.

    `config`: None if too little is left of it. `refused`: the places of the values that were left out or replaced.
    """

    document: Document
    config: PipelineConfig | None
    faults: list[Fault]
    refused: frozenset[KeyPath] = frozenset()


def load_pipeline(path: Path) -> PipelineConfig:
    """Load the pipeline in the YAML file `path`. Raises DocumentFaults that lists all of its faults."""
    return _checked(examine(load_yaml(path)))


def parse_pipeline(text: str, file: str = "<pipeline>") -> PipelineConfig:
    """Parse the pipeline in YAML `text`. Raises DocumentFaults that lists all of its faults."""
    return _checked(examine(parse_yaml(text, file)))


def examine(document: Document) -> Examined:
    """Return the pipeline of a document, as far as it is one, and all of its faults."""
    if not isinstance(document.data, dict):
        problem = "not a pipeline: the document must be a mapping with name and agents"
        return Examined(document, None, [Fault(document.file, 1, "", problem)])
    try:
        config = PipelineConfig.model_validate(document.data)
    except ValidationError as error:
        refused, repaired = _repaired(document)
        found = [] if repaired is None else problems_of(repaired, complete=False)
        across = [document.fault(path, problem) for path, problem in found if path not in refused]
        return Examined(document, repaired, [*model_faults(document, error), *across], frozenset(refused))
    return Examined(document, config, [document.fault(path, problem) for path, problem in problems_of(config)])


def _checked(examined: Examined) -> PipelineConfig:
    raise_faults(examined.faults)
    assert examined.config is not None  # else there are faults
    return examined.config


def _repaired(document: Document) -> tuple[set[KeyPath], PipelineConfig | None]:
    """Return the pipeline after repairing what pydantic refused, and what that was; None if that is not possible."""
    data = dict(document.data)
    refused: set[KeyPath] = set()
    for _ in range(50):
        try:
            return refused, PipelineConfig.model_validate(data)
        except ValidationError as error:
            paths = [tuple(item["loc"]) for item in complaints_of(error)]
            refused.update(paths)
            if not all(_repair(data, path) for path in paths):
                break
    return refused, None


_PLACEHOLDERS: dict[str, Any] = {"condition": "?", "value": None, "target": END, "max_count": 0}


def _repair(data: Any, path: KeyPath) -> bool:
    """Remove the refused value at `path`, or fill in a missing one; return False when neither is possible."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    for part in path[:-1]:
        if not _has(data, part):
            return True  # an earlier repair removed it
        data[part] = data[part].copy() if isinstance(data[part], dict | list) else data[part]
        data = data[part]
    if not path or not isinstance(data, dict):
        return False
    if path[-1] in data:
        del data[path[-1]]
        return True
    placeholders = dict(_PLACEHOLDERS)
    if len(path) == 1:
        placeholders["name"] = "unnamed"
    if len(path) == 3 and isinstance(path[1], int):
        placeholders["stage_order"] = 1_000_000 + path[1] if path[1] else 0
    data[path[-1]] = placeholders.get(str(path[-1]))
    return path[-1] in placeholders


def _has(data: Any, part: str | int) -> bool:
    return part in data if isinstance(data, dict) else isinstance(data, list) and part in range(len(data))
