"""Trains the cross-encoder's weights, on questions whose deciding lines are known.

    python -m tests.ranking.cross_encoder_training --clones FOLDER --state FOLDER --out WEIGHTS.npz
        [--cases FILE] [--steps N] [--from WEIGHTS.npz] [--rate RATE] [--seed N] [--judge FILE]

Each step draws six questions; of each, a piece that holds the answer must score more than seven others among the first
by words, the nearer ones drawn oftener. 600 steps take some 35 minutes on two cores. The weights are written every 150
steps, so that training may be stopped. `--from` goes on from weights that this program has written. `--judge` prints
how often the best of the first pieces by words is right, before and after; repositories of that file do not train.

Needs torch, which is in no environment of the project, and clones of the repositories, named OWNER+NAME, each at its
commit (docs/ranking.md).
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.piece_text import piece_text
from runtime.codebase.search.features import kind_asked
from runtime.codebase.search.gathering import gather
from runtime.codebase.search.prose.report import lines_about_code
from runtime.codebase.search.second_reading import READ_KINDS
from runtime.codebase.semantics.cross_encoding.cross_encoder import CrossWeights, cross_weights
from runtime.codebase.semantics.piece_order import pieces_in_order
from runtime.codebase.semantics.question_meaning import described
from tests.ranking.cases import QUESTIONS, Case, both_wordings, read_cases
from tests.ranking.examples import open_clone
from tests.ranking.sentence_net import SentenceNet, tokens_of

RANK = 16
STEPS, QUESTIONS_AT_ONCE, OTHERS = 600, 6, 7
RATE, WARM_UP, LEAST_RATE = 5e-4, 30, 0.05
DROPPED, DECAY, MOST_NORM = 0.05, 0.01, 1.0
# The pieces by words from which wrong ones are drawn, and among which a judge looks for the best.
NEAR_BY_WORDS, JUDGED = 40, 20
# A wrong piece is drawn with weight 1 / (rank + 3): the first hardly oftener than the second.
RANK_OFFSET = 3
# What the scores are multiplied by to be added to the ranker's sums: of 0.4, 0.6 and 1.0 what told most.
SHARE = 0.6
SAID_EVERY, WRITTEN_EVERY = 20, 150
SEED = 1


@dataclass(frozen=True, slots=True)
class Answered:
    """Holds a question, the pieces with its answer, and the first ones by words, each marked if it is right."""

    question: str
    answers: list[str]
    near: list[tuple[str, bool]]

    @property
    def wrong(self) -> list[str]:
        """The pieces by words that do not hold the answer, in order."""
        return [text for text, is_right in self.near if not is_right]


def answered(cases: Sequence[Case], clones: Path, state: Path) -> Iterator[Answered]:
    """Yield the cases of the clones that are there, with texts from their indexes."""
    for name in sorted({case.folder for case in cases}):
        if not (clones / name).is_dir():
            print(f"no clone {name}: left out", flush=True)
            continue
        codebase = open_clone(clones, state, name)
        pieces: dict[str, list[tuple[int, int, str]]] = {}
        for piece in pieces_in_order(codebase.index):
            if not piece.is_passage:
                pieces.setdefault(piece.file, []).append((piece.start_line, piece.end_line, piece.symbol))
        yield from (_answered(case, codebase, pieces) for case in cases if case.folder == name)
        codebase.close()


def _answered(case: Case, codebase: Codebase, pieces: dict[str, list[tuple[int, int, str]]]) -> Answered:
    answers = []
    for place in case.lead:
        source = codebase.try_source(place.file)
        for start, end, symbol in pieces.get(place.file, ()) if source is not None else ():
            if source is not None and place.meets(place.file, start, end):
                answers.append(piece_text(place.file, symbol, source.lines[start - 1 : end]))
    gathered = gather(codebase.index, lines_about_code(case.question, codebase.index.defined_names))
    if gathered is None:
        return Answered(case.question, answers, [])
    hits = [one.words.hit for one in gathered.candidates]
    code = [hit for hit in hits if kind_asked(gathered.asked.kinds, hit.file, hit.symbol) in READ_KINDS]
    near = [
        (
            described(hit, codebase.try_source(hit.file)),
            any(place.meets(hit.file, hit.start_line, hit.end_line) for place in case.lead),
        )
        for hit in code[:NEAR_BY_WORDS]
    ]
    return Answered(case.question, answers, near)


def train(net: SentenceNet, examples: Sequence[Answered], steps: int, rate: float, seed: int, out: Path) -> None:
    """Let an answer of each question score more than what does not answer it."""
    draw = random.Random(seed)
    learned = [one for one in net.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=rate, weight_decay=DECAY)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / WARM_UP) * max(LEAST_RATE, 1 - step / steps)
    )
    waiting: list[Answered] = []
    losses: list[float] = []
    net.train()
    for step in range(1, steps + 1):
        if len(waiting) < QUESTIONS_AT_ONCE:
            waiting += draw.sample(examples, len(examples))
        asked, waiting = waiting[:QUESTIONS_AT_ONCE], waiting[QUESTIONS_AT_ONCE:]
        loss = _loss(net, asked, draw)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, MOST_NORM)
        optimizer.step()
        rates.step()
        losses.append(loss.item())
        if step % SAID_EVERY == 0 or step == steps:
            print(f"step {step} of {steps}: loss {np.mean(losses):.3f}", flush=True)
            losses.clear()
        if step % WRITTEN_EVERY == 0 or step == steps:
            write(net, out)


def _loss(net: SentenceNet, asked: Sequence[Answered], draw: random.Random) -> Any:
    texts = [[draw.choice(one.answers), *_drawn(one.wrong, draw)] for one in asked]
    pairs = [(one.question, text) for one, own in zip(asked, texts, strict=True) for text in own]
    with torch.autocast("cpu", torch.bfloat16):
        scores = net(*tokens_of(pairs), DROPPED)
    own_scores = torch.split(scores, [len(own) for own in texts])
    first = torch.zeros(1, dtype=torch.long)
    return torch.stack([functional.cross_entropy(one[None], first) for one in own_scores]).mean()


def _drawn(wrong: Sequence[str], draw: random.Random) -> list[str]:
    """Return seven different pieces, or all of fewer, drawn by the weights of their ranks."""
    # Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006.
    keys = [draw.random() ** (rank + RANK_OFFSET) for rank in range(len(wrong))]
    ranks = sorted(range(len(wrong)), key=lambda rank: -keys[rank])[:OTHERS]
    return [wrong[rank] for rank in ranks]


def judge(net: SentenceNet, examples: Sequence[Answered]) -> str:
    """Return how often a right piece is among the best 1, 3 and 8 of the first 20 by words.

    Questions for which these hold none are left out.
    """
    net.eval()
    ranks = []
    for one in examples:
        near = one.near[:JUDGED]
        if any(is_right for _, is_right in near):
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
                scores = net(*tokens_of([(one.question, text) for text, _ in near])).numpy()
            order = np.argsort(-scores, kind="stable")
            ranks.append(next(rank for rank, place in enumerate(order) if near[place][1]))
    shares = [100 * sum(rank < most for rank in ranks) / max(1, len(ranks)) for most in (1, 3, 8)]
    return f"{len(ranks)} questions: " + ", ".join(
        f"first {most} {share:.1f} %" for most, share in zip((1, 3, 8), shares, strict=True)
    )


def write(net: SentenceNet, path: Path) -> None:
    """Write what was learned, its matrices in 16 bits, its scores as they are added to the ranker's sums."""
    weights = _scaled(net.weights(), SHARE)
    kept: dict[str, Any] = {"kinds": weights.kinds, "head": weights.head}
    kept |= {"scale": np.float32(weights.scale), "bias": np.float32(weights.bias)}
    for number, narrow in weights.added.items():
        kept |= {f"down_{number}": narrow.down.astype(np.float16), f"up_{number}": narrow.up.astype(np.float16)}
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **kept)


def _scaled(weights: CrossWeights, factor: float) -> CrossWeights:
    """Return weights whose scores are so many times as large."""
    head = (weights.head * factor).astype(np.float32)
    return weights._replace(scale=weights.scale * factor, head=head, bias=weights.bias * factor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cases", type=Path, default=QUESTIONS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--from", type=Path, dest="begun")
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--judge", type=Path)
    given = parser.parse_args()
    given.state.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)
    net = SentenceNet(RANK)
    if given.begun:
        net.start_from(_scaled(cross_weights(given.begun), 1 / SHARE))
    judging = read_cases(given.judge) if given.judge else []
    kept_out = {case.repo for case in judging}
    judged = list(answered(judging, given.clones, given.state))
    if judged:
        print("before:", judge(net, judged), flush=True)
    cases = [case for case in both_wordings(given.cases) if case.repo not in kept_out]
    examples = [one for one in answered(cases, given.clones, given.state) if one.answers and one.wrong]
    train(net, examples, given.steps, given.rate, given.seed, given.out)
    if judged:
        print("after:", judge(net, judged), flush=True)


if __name__ == "__main__":
    main()
