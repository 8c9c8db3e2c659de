"""Prompts are laid out so that the engine finds their beginnings in its prefix cache: measured over whole runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_analysis.capability import CAPABILITY
from actors.model_handle import HandleBackend, handle_backend
from runtime.llm.client_opening import counter_of
from runtime.llm.messages import Completion, Message, ModelRequest, Piece, Sampling
from runtime.llm.model_file import ModelsFile
from runtime.llm.prompts import PromptRegistry
from runtime.llm.protocol import drained
from runtime.settings import shipped_config_dir
from serve.llm.vllm_provider import VllmDeployment
from tests.capabilities.code_analysis.model_desk import ModelDesk
from tests.capabilities.code_analysis.support import AnalysisHarness, write_files
from tests.capabilities.code_analysis.test_evidence_chain import REPOSITORY
from tests.runtime.test_fix_prompts import ACTIONS, FIX_STATES, shared_beginning

# Whole blocks only are shared.
BLOCK_TOKENS = 128
GOAL = 0.95

pytestmark = pytest.mark.timeout(1_200)


class Watched(HandleBackend):
    """Remembers what was asked and what was found at hand."""

    def watch(self) -> list[tuple[ModelRequest, Completion]]:
        self.seen: list[tuple[ModelRequest, Completion]] = []
        return self.seen

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        async for piece in super().stream(request):
            if isinstance(piece, Completion):
                self.seen.append((request, piece))
            yield piece


@pytest.fixture
def backend(served: Any, deployment: VllmDeployment) -> Watched:
    backend = handle_backend("main", deployment, counter_of(deployment))
    return Watched("model-main", deployment, backend.counter)


def shareable(prompts: Sequence[list[int]]) -> list[int]:
    """For each prompt the tokens, in whole blocks, that an earlier one begins with as well.

    At least one token of a prompt is always worked out anew.
    """
    found = []
    for number, prompt in enumerate(prompts):
        common = max((shared_beginning(prompt, earlier) for earlier in prompts[:number]), default=0)
        found.append(min(common, len(prompt) - 1) // BLOCK_TOKENS * BLOCK_TOKENS)
    return found


def shares(deployment: VllmDeployment, seen: list[tuple[ModelRequest, Completion]]) -> tuple[int, int, int]:
    """Tokens found at hand, tokens that could have been, and tokens of all prompts."""
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(deployment.model)
    prompts = [
        tokenizer.apply_chat_template(
            [{"role": message.role, "content": message.content} for message in request.messages],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=False,
        )
        for request, _ in seen
    ]
    assert [len(prompt) for prompt in prompts] == [done.tokens_in for _, done in seen]
    return sum(done.tokens_cached for _, done in seen), sum(shareable(prompts)), sum(map(len, prompts))


async def test_runs_of_code_analysis_find_what_their_prompts_share(
    backend: Watched, deployment: VllmDeployment, tiny: ModelsFile, tmp_path: Path
) -> None:
    write_files(tmp_path / "repo", REPOSITORY)
    desk = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    seen = backend.watch()
    for question in ("How does deliver_parcel work?", "Where is MAX_PARCELS defined?", "Who calls is_full?"):
        await ModelDesk(desk, backend, CAPABILITY, models=tiny).ask(question)
    cached, could_be, in_all = shares(deployment, seen)
    print(f"code_analysis: {len(seen)} calls, {in_all} tokens, {could_be} in shared blocks, {cached} found")  # noqa: T201
    assert could_be > 0.3 * in_all, "prompts that share little are laid out badly"
    assert cached >= GOAL * could_be


async def test_the_steps_of_a_fix_find_what_their_prompts_share(backend: Watched, deployment: VllmDeployment) -> None:
    prompts = PromptRegistry.open([shipped_config_dir()], "violation_fix")
    seen = backend.watch()
    for number, state in enumerate(FIX_STATES):
        made = prompts.render("decide", {"actions": ACTIONS, "context": state})
        messages = (Message("system", made.system), Message("user", made.user))
        await drained(backend, ModelRequest(f"step-{number}", messages, Sampling(8, 1.0, number)))
    cached, could_be, in_all = shares(deployment, seen)
    print(f"decide: {len(seen)} calls, {in_all} tokens, {could_be} in shared blocks, {cached} found")  # noqa: T201
    assert could_be > 0.3 * in_all, "prompts that share little are laid out badly"
    assert cached >= GOAL * could_be
