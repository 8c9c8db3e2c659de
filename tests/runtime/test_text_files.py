"""Files that a user names: regular ones only, bounded, whatever reads them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import JeevesError
from runtime.llm.model_file import load_models
from runtime.llm.prompts import read_prompt
from runtime.llm.providers.openai import OpenAIDeployment, api_key
from runtime.llm.tokens import TokenizerCounter
from runtime.primitives.text_files import MAX_TEXT_FILE_BYTES, read_text_file
from runtime.primitives.yaml_documents import load_yaml
from runtime.settings import load_settings, read_section


def read_key(path: Path) -> str | None:
    return api_key(
        OpenAIDeployment(
            backend="openai", base_url="http://h/v1", model="m", max_model_len=1000, api_key_file=str(path)
        )
    )


READERS = [load_yaml, load_settings, read_section, load_models, read_prompt, read_key, TokenizerCounter.open]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_refused_by_name(read: Callable[[Path], Any], kind: str, tmp_path: Path) -> None:
    path = tmp_path / "planner.1.md"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to(os.devnull)
    else:
        path.mkdir()
    with pytest.raises(JeevesError, match=r"planner\.1\.md.*(regular file|No such file)"):
        read(path)


@pytest.mark.parametrize(("more", "is_read"), [(-1, True), (0, True), (1, False)])
def test_a_file_is_read_up_to_its_bound(more: int, is_read: bool, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x" * (MAX_TEXT_FILE_BYTES + more))
    if is_read:
        assert len(read_text_file(path)) == MAX_TEXT_FILE_BYTES + more
    else:
        with pytest.raises(OSError, match=f"{MAX_TEXT_FILE_BYTES + 1} bytes, at most {MAX_TEXT_FILE_BYTES} allowed"):
            read_text_file(path)
