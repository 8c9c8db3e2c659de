"""Loads pipelines from YAML files and reports all faults at once, each with file, line and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def load_pipeline(path: Path) -> PipelineConfig:
    """Load the pipeline in the YAML file `path`. Raises DocumentFaults that lists all of its faults."""
    return _checked(load_yaml(path))


def parse_pipeline(text: str, file: str = "<pipeline>") -> PipelineConfig:
    """Parse the pipeline in YAML `text`. Raises DocumentFaults that lists all of its faults."""
    return _checked(parse_yaml(text, file))


def _checked(document: Document) -> PipelineConfig:
    if not isinstance(document.data, dict):
        raise_faults(
            [Fault(document.file, 1, "", "not a pipeline: the document must be a mapping with name and agents")]
        )
    try:
        config = PipelineConfig.model_validate(document.data)
    except ValidationError as error:
        raise_faults([*model_faults(document, error), *_faults_across_stages(document)])
        raise
    raise_faults(document.fault(path, problem) for path, problem in problems_of(config))
    return config


def _faults_across_stages(document: Document) -> list[Fault]:
    """Return the faults across stages, found after repairing what pydantic refused, to report both at once."""
    data = dict(document.data)
    refused: set[KeyPath] = set()
    for _ in range(50):
        try:
            config = PipelineConfig.model_validate(data)
        except ValidationError as error:
            paths = [tuple(item["loc"]) for item in complaints_of(error)]
            refused.update(paths)
            if not all(_repair(data, path) for path in paths):
                return []
        else:
            found = problems_of(config, complete=False)
            return [document.fault(path, problem) for path, problem in found if path not in refused]
    return []


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
