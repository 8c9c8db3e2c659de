"""Learns by which verb authors name blocks, and writes the weights into the package.

    python -m tests.naming.train --examples FILE [--out FILE] [--judge PART]

FILE is what `tests.naming.examples` wrote. Of its packages, those that are held out teach nothing; with `--judge`,
those of another part do not either: `tests.naming.measure --part` then tells how well it does there. Needs torch,
which is in no environment of the project.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from actors.capabilities.violation_fix.refactoring.naming.learned.verb_groups import verb_class
from actors.capabilities.violation_fix.refactoring.naming.learned.verb_model import SUM_SCALE, WEIGHTS
from tests.naming.examples import Example, part_of, read_examples

MOST_VERBS, FEWEST_OF_A_VERB = 120, 12
FEWEST_OF_A_FEATURE = 12
WIDTH, EPOCHS, BATCH, RATE, DROPPED = 48, 6, 256, 3e-3, 0.3
# What is put back is what the model is for.
PUT_BACK_WEIGHT = 2.0
# Divides the scores, so that what is likely comes true as often; by a part that taught nothing.
TEMPERATURE = 1.1


class Net(nn.Module):
    """Is the model that `verb_model` reads."""

    def __init__(self, features: int, verbs: int) -> None:
        super().__init__()
        self.vectors = nn.EmbeddingBag(features, WIDTH, mode="sum")
        nn.init.normal_(self.vectors.weight, std=0.02)
        self.verbs = nn.Linear(WIDTH, verbs)
        self.dropped = nn.Dropout(DROPPED)

    def forward(self, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        counts = torch.tensor([len(each) for each in rows])
        starts = torch.cumsum(counts, 0) - counts
        total = self.vectors(torch.cat(list(rows)), starts) * (SUM_SCALE / counts.sqrt())[:, None]
        scores: torch.Tensor = self.verbs(self.dropped(torch.relu(total)))
        return scores


def train_verbs(examples: Sequence[Example]) -> tuple[Net, list[str], list[str]]:
    """Return the trained net, its features and its verbs."""
    torch.manual_seed(0)
    counted = Counter(verb_class(each.name) for each in examples)
    verbs = [verb for verb, count in counted.most_common(MOST_VERBS) if count >= FEWEST_OF_A_VERB]
    seen = Counter(feature for each in examples for feature in each.features)
    features = sorted(feature for feature, count in seen.items() if count >= FEWEST_OF_A_FEATURE)
    rows = {feature: row for row, feature in enumerate(features)}
    known = [each for each in examples if verb_class(each.name) in verbs]
    packed = [_rows(each, rows) for each in known]
    kept = [number for number, each in enumerate(packed) if len(each)]
    wanted = torch.tensor([verbs.index(verb_class(each.name)) for each in known])
    weights = torch.tensor([PUT_BACK_WEIGHT if each.is_put_back else 1.0 for each in known])
    net = Net(len(features), len(verbs))
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE)
    for epoch in range(EPOCHS):
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - epoch / EPOCHS)
        order = torch.tensor(kept)[torch.randperm(len(kept))].tolist()
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            scores = net([packed[number] for number in batch])
            loss = (functional.cross_entropy(scores, wanted[batch], reduction="none") * weights[batch]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    net.eval()
    return net, features, verbs


def _rows(example: Example, rows: dict[str, int]) -> torch.Tensor:
    return torch.tensor([rows[feature] for feature in example.features if feature in rows], dtype=torch.long)


def write_weights(path: Path, net: Net, features: list[str], verbs: list[str]) -> None:
    vectors = net.vectors.weight.detach().numpy()
    scales = np.abs(vectors).max(axis=0) / 127
    np.savez_compressed(
        path,
        features=np.frombuffer(json.dumps(features).encode(), dtype=np.uint8),
        verbs=np.frombuffer(json.dumps(verbs).encode(), dtype=np.uint8),
        vectors=np.round(vectors / scales).astype(np.int8),
        scales=scales.astype(np.float32),
        weights=(net.verbs.weight.detach().numpy().T / TEMPERATURE).astype(np.float16),
        bias=(net.verbs.bias.detach().numpy() / TEMPERATURE).astype(np.float16),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    parser.add_argument("--judge", type=int, default=None)
    given = parser.parse_args()
    torch.set_num_threads(1)
    examples = [each for each in read_examples(given.examples) if not each.is_held_out]
    taught = [each for each in examples if part_of(each.package) != given.judge]
    net, features, verbs = train_verbs(taught)
    write_weights(given.out, net, features, verbs)


if __name__ == "__main__":
    main()
