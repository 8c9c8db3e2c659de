"""The sentence model: the expected file, another one, and none."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.codebase.semantics.sentence_model.model_file import (
    MODEL_BYTES,
    MODEL_SHA256,
    checked_model,
    missing_packages,
    model_fault,
    model_path,
)
from runtime.errors import MachineError


def installed() -> Path:
    path = model_path()
    assert path is not None
    return path


def test_the_default_install_brings_the_expected_model() -> None:
    assert missing_packages() == ()
    assert model_fault() is None
    assert len(checked_model()) == MODEL_BYTES


@pytest.mark.parametrize("change", ["flipped", "shorter", "longer"])
def test_a_model_that_differs_by_a_byte_is_refused(tmp_path: Path, change: str) -> None:
    content = bytearray(installed().read_bytes())
    if change == "flipped":
        content[len(content) // 2] ^= 1
    elif change == "shorter":
        del content[-1]
    else:
        content.append(0)
    other = tmp_path / "model.onnx"
    other.write_bytes(content)
    with pytest.raises(MachineError, match="not the expected one") as refused:
        checked_model(other)
    assert MODEL_SHA256 in refused.value.message
    assert refused.value.values["path"] == str(other)


def test_a_model_that_is_gone_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="cannot be read") as refused:
        checked_model(tmp_path / "model.onnx")
    assert str(tmp_path) in refused.value.message
