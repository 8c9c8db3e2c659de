"""Trains the vectors of terms, on questions whose deciding pieces are known and on what comments say of code.

    python -m tests.ranking.term_vectors_training --clones FOLDER --state FOLDER --out VECTORS.npz
        [--cases FILE] [--judge FILE] [--without PART] [--seed N]

The terms are the usual ones of the repositories: those of at least four, up to 16,384. Each starts at what the sentence
model makes of the word, cut to its main components. First a piece without its comments must be more like some words of
them than 1,500 other pieces of its repository, then like the questions that it answers. Both take minutes on two cores.
`--judge` prints how often the vectors alone find a right piece, before and after; repositories of that file train
nothing; nor do those of a part of three with `--without`, so that weights may be learned from them
(`unseen_vectors.py`). An index made with other vectors is made anew.

Needs torch, which is in no environment of the project, and clones of the repositories, named OWNER+NAME, each at its
commit (docs/ranking.md).
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.path_kinds import kind_of_place
from runtime.codebase.files.words import index_terms, query_terms
from runtime.codebase.semantics.embedding import shared_embedder
from runtime.codebase.term_meaning.term_vectors import PARTS, write_to
from tests.ranking.cases import QUESTIONS, Case, both_wordings
from tests.ranking.examples import open_clone
from tests.ranking.unseen_vectors import PARTS as PARTS_OF_REPOSITORIES
from tests.ranking.unseen_vectors import part_of

SIZE, MOST_TERMS, LEAST_REPOSITORIES = 128, 16_384, 4
COMMENT_STEPS, PIECES_AT_ONCE, MOST_COMMENT_TERMS, LEAST_COMMENT_TERMS = 3_000, 32, 12, 4
PASSES, QUESTIONS_AT_ONCE, OTHERS = 3, 24, 1_500
RATE, GAIN_RATE, LEAST_RATE = 2e-3, 1e-2, 0.05
# Shares of the terms that are left out, so that no single one is relied on.
DROPPED, DROPPED_ASKED = 0.3, 0.2
# At first names and paths tell more than a body, comments less; a cosine counts so much; occurrences count by roots.
FIRST_GAINS, FIRST_SCALE, FIRST_EXPONENT = (0.0, 1.1, 0.7, -0.3), 3.0, 0.5
# However usual a term is, it tells something; a rare one starts longer.
LEAST_RARITY, LEAST_LENGTH = 0.15, 0.3
# Of its lines that answer, a piece must have at least half as many as the piece with most to be one that does.
LEAST_SHARE = 0.5
HIDDEN = -1e4
SAID_EVERY = 200
SEED = 1


@dataclass(frozen=True, slots=True)
class Pieces:
    """Holds the pieces of source code of a repository, each as numbers of terms, their parts and occurrences.

    `starts`: of the terms of each piece, and behind the last. `questions`: counts of terms, and the pieces that answer
    and those that touch an answer.
    """

    starts: np.ndarray
    terms: np.ndarray
    parts: np.ndarray
    counts: np.ndarray
    questions: list[tuple[Counter[int], list[int], list[int]]]

    def span(self, piece: int) -> slice:
        """Return where the terms of a piece lie."""
        return slice(int(self.starts[piece]), int(self.starts[piece + 1]))


Texts = Sequence[tuple[str, int, int, tuple[str, ...]]]


def read(cases: Sequence[Case], clones: Path, state: Path) -> tuple[dict[str, Texts], Counter[str]]:
    """Return the pieces of source code of each clone that is there, and how often each word stands in how many."""
    texts: dict[str, Texts] = {}
    words: Counter[str] = Counter()
    for name in sorted({case.folder for case in cases}):
        if not (clones / name).is_dir():
            print(f"no clone {name}: left out", flush=True)
            continue
        codebase = open_clone(clones, state, name)
        texts[name] = list(_texts(codebase))
        words.update({word for file in codebase.index.files() for word in _words(codebase, file.path)})
        codebase.close()
    return texts, words


def _texts(codebase: Codebase) -> Iterable[tuple[str, int, int, tuple[str, ...]]]:
    numbers = [number for (number,) in codebase.index.rows("SELECT id FROM chunks ORDER BY id")]
    terms = codebase.index.chunk_texts(numbers)
    for number, path, start, end, _, symbol in codebase.index.chunk_places(numbers):
        if kind_of_place(path, symbol) == "source":
            yield path, start, end, terms[number]


def _words(codebase: Codebase, path: str) -> Iterable[str]:
    source = codebase.try_source(path)
    return () if source is None else (word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", source.text))


def usual_terms(texts: dict[str, Texts]) -> tuple[list[str], list[int]]:
    """Return the terms that most repositories have, and in how many each occurs."""
    found: Counter[str] = Counter()
    for pieces in texts.values():
        found.update({term for *_, parts in pieces for part in parts for term in part.split()})
    usual = [(term, count) for term, count in found.items() if count >= LEAST_REPOSITORIES and term.isascii()]
    usual = sorted(usual, key=lambda pair: (-pair[1], pair[0]))[:MOST_TERMS]
    return [term for term, _ in usual], [count for _, count in usual]


def in_numbers(pieces: Texts, cases: Sequence[Case], number: dict[str, int]) -> Pieces:
    """Return the pieces of a repository and the questions about it, in numbers of terms."""
    rows = []
    for *_, parts in pieces:
        counted = (Counter(number[term] for term in part.split() if term in number) for part in parts)
        rows.append([(term, at, count) for at, own in enumerate(counted) for term, count in own.items()])
    flat = np.array([row for own in rows for row in own], np.int64).reshape(-1, 3)
    starts = np.cumsum([0, *map(len, rows)])
    asked = [_asked(case, pieces, number) for case in cases]
    return Pieces(starts, flat[:, 0], flat[:, 1], flat[:, 2], [one for one in asked if one[0] and one[1]])


def _asked(case: Case, pieces: Texts, number: dict[str, int]) -> tuple[Counter[int], list[int], list[int]]:
    terms = Counter(
        {number[term]: count for term, count in query_terms(case.question).counts.items() if term in number}
    )
    lines: dict[int, int] = {}
    for place in case.lead:
        for at, (path, start, end, _) in enumerate(pieces):
            if place.meets(path, start, end):
                lines[at] = lines.get(at, 0) + min(place.end, end) - max(place.start, start) + 1
    most = max(lines.values(), default=0)
    return terms, [at for at, own in lines.items() if own >= LEAST_SHARE * most], list(lines)


class TermNet(nn.Module):
    """Makes a vector of the terms of a question or a piece: the sum of theirs."""

    def __init__(self, rows: Any) -> None:
        super().__init__()
        self.rows = nn.Parameter(rows)
        self.gains = nn.Parameter(torch.tensor(FIRST_GAINS))
        self.exponent = nn.Parameter(torch.tensor(FIRST_EXPONENT))
        self.scale = nn.Parameter(torch.tensor(FIRST_SCALE))

    def of_pieces(self, pieces: Pieces, chosen: np.ndarray, bare: np.ndarray | None = None) -> Any:
        """Return the vectors of the chosen pieces, of length 1, those marked in `bare` without their comments."""
        sizes = pieces.starts[chosen + 1] - pieces.starts[chosen]
        starts = np.cumsum(sizes) - sizes
        at = np.repeat(pieces.starts[chosen] - starts, sizes) + np.arange(sizes.sum())
        parts, counts = torch.from_numpy(pieces.parts[at]), torch.from_numpy(pieces.counts[at]).float()
        weights = torch.exp(self.gains)[parts] * counts ** torch.sigmoid(self.exponent)
        if bare is not None:
            weights = weights * ~((parts == PARTS.index("doc")) & torch.from_numpy(np.repeat(bare, sizes)))
        return self._summed(torch.from_numpy(pieces.terms[at]), starts, weights, DROPPED)

    def of_questions(self, questions: Sequence[Counter[int]]) -> Any:
        """Return the vectors of questions, of length 1."""
        sizes = np.array([len(one) for one in questions])
        terms = torch.tensor([term for one in questions for term in one])
        counts = torch.tensor([float(count) for one in questions for count in one.values()])
        return self._summed(terms, np.cumsum(sizes) - sizes, 1 + torch.log(counts), DROPPED_ASKED)

    def _summed(self, terms: Any, starts: np.ndarray, weights: Any, dropped: float) -> Any:
        if self.training:
            weights = weights * (torch.rand(len(weights)) > dropped)
        offsets = torch.from_numpy(starts)
        return functional.normalize(
            functional.embedding_bag(terms, self.rows, offsets, mode="sum", per_sample_weights=weights), dim=-1
        )


def first_rows(terms: Sequence[str], counts: Sequence[int], words: Counter[str], repositories: int) -> Any:
    """Return what the sentence model makes of each term's commonest word, in main components; rare terms are longer."""
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for word, count in words.items():
        forms[index_terms(word).partition(" ")[0]][word] += count
    said = [forms[term].most_common(1)[0][0] if forms.get(term) else term for term in terms]
    made = torch.tensor(np.asarray(shared_embedder().embed(said), np.float32))
    made = made - made.mean(0)
    _, _, main = torch.pca_lowrank(made, SIZE, niter=6)
    rarity = torch.log(torch.tensor([1 + repositories / (count + 0.5) for count in counts])).clamp(min=LEAST_RARITY)
    return functional.normalize(made @ main, dim=-1) * (LEAST_LENGTH + rarity)[:, None]


def learn(net: TermNet, batches: Iterable[Any], steps: int, about: str) -> None:
    """Take a step for each loss, at a rate that falls."""
    others = [net.gains, net.exponent, net.scale]
    optimizer = torch.optim.Adam([{"params": [net.rows], "lr": RATE}, {"params": others, "lr": GAIN_RATE}])
    rates = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(LEAST_RATE, 1 - step / steps))
    losses: list[float] = []
    net.train()
    for step, loss in enumerate(batches, 1):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rates.step()
        losses.append(loss.item())
        if step % SAID_EVERY == 0:
            print(f"{about}: step {step} of {steps}, loss {np.mean(losses):.3f}", flush=True)
            losses.clear()


def by_comments(net: TermNet, repositories: Sequence[Pieces], draw: random.Random) -> Iterable[Any]:
    """Yield losses: of pieces without their comments, that of each must be most like some words of its comments."""
    said = [
        [at for at in range(len(one.starts) - 1) if _comment_size(one, at) >= LEAST_COMMENT_TERMS]
        for one in repositories
    ]
    weights = [len(own) ** 0.7 if len(own) >= PIECES_AT_ONCE // 4 else 0.0 for own in said]
    for _ in range(COMMENT_STEPS):
        at = draw.choices(range(len(repositories)), weights)[0]
        chosen = draw.sample(said[at], min(PIECES_AT_ONCE, len(said[at])))
        yield _loss(
            net,
            repositories[at],
            [(_comment(repositories[at], one, draw), [one], [one]) for one in chosen],
            draw,
            bare=True,
        )


def _comment_size(pieces: Pieces, at: int) -> int:
    return int((pieces.parts[pieces.span(at)] == PARTS.index("doc")).sum())


def _comment(pieces: Pieces, at: int, draw: random.Random) -> Counter[int]:
    span = pieces.span(at)
    said = [place for place in range(span.start, span.stop) if pieces.parts[place] == PARTS.index("doc")]
    said = draw.sample(said, min(len(said), draw.randint(LEAST_COMMENT_TERMS, MOST_COMMENT_TERMS)))
    return Counter({int(pieces.terms[place]): int(pieces.counts[place]) for place in said})


def by_questions(net: TermNet, repositories: Sequence[Pieces], draw: random.Random) -> Iterable[Any]:
    """Yield losses: the pieces that answer a question must be most like it."""
    for _ in range(PASSES):
        batches = []
        for one in repositories:
            own = draw.sample(one.questions, len(one.questions))
            batches += [(one, own[at : at + QUESTIONS_AT_ONCE]) for at in range(0, len(own), QUESTIONS_AT_ONCE)]
        draw.shuffle(batches)
        yield from (_loss(net, one, own, draw, bare=False) for one, own in batches)


def _loss(
    net: TermNet,
    pieces: Pieces,
    asked: Sequence[tuple[Counter[int], list[int], list[int]]],
    draw: random.Random,
    *,
    bare: bool,
) -> Any:
    """Return how unlike the questions their answers are; pieces that only touch an answer count neither way."""
    right = {at for _, answers, _ in asked for at in answers}
    count = len(pieces.starts) - 1
    chosen = np.array(sorted(right | set(draw.sample(range(count), min(OTHERS, count)))))
    column = {int(at): place for place, at in enumerate(chosen)}
    # Every other time all pieces are bare, so that having comments is no sign.
    without = np.isin(chosen, list(right)) | (draw.random() < 0.5) if bare else None
    scores = (
        torch.exp(net.scale)
        * net.of_questions([terms for terms, _, _ in asked])
        @ net.of_pieces(pieces, chosen, without).T
    )
    answers, hidden = torch.full_like(scores, HIDDEN), torch.zeros_like(scores)
    for row, (_, own, touching) in enumerate(asked):
        answers[row, [column[at] for at in own]] = 0.0
        hidden[row, [column[at] for at in touching if at in column and at not in own]] = HIDDEN
    return -torch.logsumexp(functional.log_softmax(scores + hidden, -1) + answers, -1).mean()


def judge(net: TermNet, repositories: Sequence[Pieces]) -> str:
    """Return how often a right piece is among the first 1, 14 and 60 by these vectors alone."""
    net.eval()
    ranks: list[int] = []
    with torch.inference_mode():
        for one in (one for one in repositories if one.questions):
            scores = (
                net.of_questions([terms for terms, _, _ in one.questions])
                @ net.of_pieces(one, np.arange(len(one.starts) - 1)).T
            )
            for own, (_, _, touching) in zip(scores.numpy(), one.questions, strict=True):
                ranks.append(int((own > own[touching].max()).sum()))
    shares = ", ".join(f"first {most} {100 * np.mean([rank < most for rank in ranks]):.1f} %" for most in (1, 14, 60))
    return f"{len(ranks)} questions: {shares}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cases", type=Path, default=QUESTIONS)
    parser.add_argument("--judge", type=Path)
    parser.add_argument("--without", type=int, choices=range(PARTS_OF_REPOSITORIES))
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    given.state.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)
    draw = random.Random(given.seed)
    judging = both_wordings(given.judge) if given.judge else []
    kept_out = {case.repo for case in judging}
    cases = [case for case in both_wordings(given.cases) if case.repo not in kept_out]
    if given.without is not None:
        cases = [case for case in cases if part_of(case.repo, both_wordings()) != given.without]
    texts, words = read(cases, given.clones, given.state)
    terms, counts = usual_terms(texts)
    number = {term: at for at, term in enumerate(terms)}
    repositories = [
        in_numbers(own, [case for case in cases if case.folder == name], number) for name, own in texts.items()
    ]
    others, _ = read(judging, given.clones, given.state)
    judged = [
        in_numbers(own, [case for case in judging if case.folder == name], number) for name, own in others.items()
    ]
    net = TermNet(first_rows(terms, counts, words, len(texts)))
    print("before:", judge(net, judged), flush=True)
    learn(net, by_comments(net, repositories, draw), COMMENT_STEPS, "comments")
    steps = PASSES * sum(-(-len(one.questions) // QUESTIONS_AT_ONCE) for one in repositories)
    learn(net, by_questions(net, repositories, draw), steps, "questions")
    print("after:", judge(net, judged), flush=True)
    gains = torch.exp(net.gains).tolist()
    write_to(given.out, terms, net.rows.detach().numpy(), gains, torch.sigmoid(net.exponent).item())


if __name__ == "__main__":
    main()
