"""Trains the cross-encoder's weights, on questions whose deciding lines are known.

    python -m tests.ranking.cross_encoder_training --clones FOLDER --state FOLDER --out WEIGHTS.npz
        [--cases FILE] [--steps N] [--rank N] [--from WEIGHTS.npz] [--rate RATE] [--seed N] [--judge FILE]

Each step draws eight questions; of each, a window of lines over those that answer must score more than six others: up
to two of the same piece that do not touch them, and windows of pieces among the first by words, the nearer ones drawn
oftener. 450 steps take some 15 minutes on two cores. The weights are written every 150 steps, so that training may be
stopped. `--from` goes on from weights that this program has written, of the same rank or a lower one. `--judge` prints
how often the best of the first pieces by words is right, before and after; repositories of that file do not train.

Needs torch, which is in no environment of the project, and clones of the repositories, named OWNER+NAME, each at its
commit (docs/ranking.md).
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.search.features import kind_asked
from runtime.codebase.search.gathering import gather
from runtime.codebase.search.prose.report import lines_about_code
from runtime.codebase.search.second_reading import READ_KINDS
from runtime.codebase.semantics.cross_encoding.cross_encoder import CrossWeights, cross_weights
from runtime.codebase.semantics.cross_encoding.reading_windows import (
    WINDOW_CHARS,
    Window,
    most_telling,
    windows_of,
)
from runtime.codebase.semantics.piece_order import pieces_in_order
from tests.ranking.cases import QUESTIONS, Case, both_wordings, read_cases
from tests.ranking.examples import open_clone
from tests.ranking.sentence_net import SentenceNet, tokens_of

RANK = 16
STEPS, QUESTIONS_AT_ONCE, OTHERS = 450, 8, 6
# Of the others, so many come from the piece that answers; of the rest, this share are the windows nearest by words.
FROM_SAME_PIECE, NEAREST_BY_WORDS = 2, 0.6
# How often the first place of a question is drawn, and how often a window over lines that answer begins a line earlier.
FIRST_PLACE, LINE_EARLIER = 0.7, 0.85
LEAST_LINES = 4
RATE, WARM_UP, LEAST_RATE = 4e-4, 30, 0.05
DECAY, MOST_NORM = 0.01, 1.0
# Windows of a step are scored in so many parts, by length: fewer are filled up.
PARTS = 3
# The pieces by words from which wrong ones are drawn, and among which a judge looks for the best.
NEAR_BY_WORDS, JUDGED = 40, 20
# A wrong piece is drawn with weight 1 / (rank + 3): the first hardly oftener than the second.
RANK_OFFSET = 3
# What the scores are multiplied by to be added to the ranker's sums: of 0.4, 0.6 and 1.0 what told most.
SHARE = 0.6
SAID_EVERY, WRITTEN_EVERY = 20, 150
SEED = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """Holds a piece, and the positions of the first and last of its lines that answer."""

    head: str
    lines: Sequence[str]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Answered:
    """Holds a question, the pieces with its answer, and the windows of the first by words, each marked if right."""

    question: str
    answers: list[Answer]
    near: list[tuple[list[Window], bool]]

    @property
    def wrong(self) -> list[list[Window]]:
        """The pieces by words that do not hold the answer, in order."""
        return [windows for windows, is_right in self.near if not is_right]


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
                first, last = max(place.start, start) - start, min(place.end, end) - start
                answers.append(Answer(f"{place.file} {symbol}", source.lines[start - 1 : end], first, last))
    gathered = gather(codebase.index, lines_about_code(case.question, codebase.index.defined_names))
    if gathered is None:
        return Answered(case.question, answers, [])
    hits = [one.words.hit for one in gathered.candidates]
    code = [hit for hit in hits if kind_asked(gathered.asked.kinds, hit.file, hit.symbol) in READ_KINDS]
    near = [
        (
            _windows(hit, codebase),
            any(place.meets(hit.file, hit.start_line, hit.end_line) for place in case.lead),
        )
        for hit in code[:NEAR_BY_WORDS]
    ]
    return Answered(case.question, answers, near)


def _windows(hit: ChunkHit, codebase: Codebase) -> list[Window]:
    source = codebase.try_source(hit.file)
    lines = [] if source is None else source.lines[hit.start_line - 1 : hit.end_line]
    return windows_of(f"{hit.file} {hit.symbol or ''}", lines)


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
    texts = [list(_drawn(one, draw)) for one in asked]
    pairs = [(one.question, text) for one, own in zip(asked, texts, strict=True) for text in own]
    with torch.autocast("cpu", torch.bfloat16):
        scores = _scores(net, pairs)
    own_scores = torch.split(scores, [len(own) for own in texts])
    first = torch.zeros(1, dtype=torch.long)
    return torch.stack([functional.cross_entropy(one[None], first) for one in own_scores]).mean()


def _scores(net: SentenceNet, pairs: Sequence[tuple[str, str]]) -> Any:
    by_length = sorted(range(len(pairs)), key=lambda place: len(pairs[place][0]) + len(pairs[place][1]))
    parts = [[int(place) for place in part] for part in np.array_split(by_length, min(PARTS, len(pairs)))]
    scores = torch.cat([net(*tokens_of([pairs[place] for place in part])) for part in parts])
    return scores[torch.argsort(torch.tensor(by_length))]


def _drawn(asked: Answered, draw: random.Random) -> Iterator[str]:
    """Yield a window that answers and six that do not; of pieces by words as many as are there, by their ranks."""
    answer = asked.answers[0] if draw.random() < FIRST_PLACE else draw.choice(asked.answers)
    yield window_over(answer, draw).text
    beside = [window for window in windows_of(answer.head, answer.lines) if _is_beside(window, answer)]
    beside = draw.sample(beside, min(FROM_SAME_PIECE, len(beside)))
    yield from (window.text for window in beside)
    # Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006.
    keys = [draw.random() ** (rank + RANK_OFFSET) for rank in range(len(asked.wrong))]
    ranks = sorted(range(len(keys)), key=lambda rank: -keys[rank])[: OTHERS - len(beside)]
    for windows in (asked.wrong[rank] for rank in ranks):
        is_nearest = draw.random() < NEAREST_BY_WORDS
        yield (most_telling(asked.question, windows) if is_nearest else draw.choice(windows)).text


def window_over(answer: Answer, draw: random.Random) -> Window:
    """Return a window over the lines that answer, with as many of those before them as fit, or fewer.

    Where they are too long for one, every other window begins anywhere among them.
    """
    whole = windows_of(answer.head, answer.lines)
    if len(whole) == 1:
        return whole[0]
    lines, start = answer.lines, answer.first
    room = WINDOW_CHARS - sum(len(line) + 1 for line in lines[answer.first : answer.last + 1])
    if room < 0 and draw.random() < 0.5:
        start = draw.randint(answer.first, answer.last)
    while start > 0 and len(lines[start - 1]) < room and draw.random() < LINE_EARLIER:
        start -= 1
        room -= len(lines[start]) + 1
    first = windows_of(answer.head, lines[start:])[0]
    return first._replace(first=first.first + start, last=first.last + start)


def _is_beside(window: Window, answer: Answer) -> bool:
    """Return whether a window has some lines and none of those that answer."""
    is_apart = window.last < answer.first or answer.last < window.first
    return is_apart and window.last - window.first + 1 >= LEAST_LINES


def judge(net: SentenceNet, examples: Sequence[Answered]) -> str:
    """Return how often a right piece is among the best 1, 3 and 8 of the first 20 by words.

    Questions for which these hold none are left out.
    """
    net.eval()
    ranks = []
    for one in examples:
        near = one.near[:JUDGED]
        if any(is_right for _, is_right in near):
            scores = np.array([_best_score(net, one.question, windows) for windows, _ in near])
            order = np.argsort(-scores, kind="stable")
            ranks.append(next(rank for rank, place in enumerate(order) if near[place][1]))
    shares = [100 * sum(rank < most for rank in ranks) / max(1, len(ranks)) for most in (1, 3, 8)]
    return f"{len(ranks)} questions: " + ", ".join(
        f"first {most} {share:.1f} %" for most, share in zip((1, 3, 8), shares, strict=True)
    )


def _best_score(net: SentenceNet, question: str, windows: Iterable[Window]) -> float:
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        return float(net(*tokens_of([(question, window.text) for window in windows])).max())


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
    parser.add_argument("--rank", type=int, default=RANK)
    parser.add_argument("--from", type=Path, dest="begun")
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--judge", type=Path)
    given = parser.parse_args()
    given.state.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)
    net = SentenceNet(given.rank)
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
