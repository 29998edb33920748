"""Fit the small network that finds an answer's words in a passage, on training rows that no confidence is fitted on.

The default encoder's upper layers and two heads are trained on questions beside passages that tell their answers or do
not (`simulations.corpora.span_examples`). What the fit changed in each matrix is kept as a product of two thin ones. On
two cores it takes half an hour.
"""

import base64
import json
import os
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import typer
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.registry import DEFAULT_ENCODER
from fedrag_flwr.models.span_network import SpanNetwork, Window
from fedrag_flwr.models.spans import SHIPPED
from fedrag_flwr.text.segment import under_title
from simulations.bench.frame import Bench
from simulations.corpora.span_examples import SpanExample, span_examples

EPOCHS, BATCH, SEED = 2.0, 24, 5
FROZEN = 2  # of the encoder's first layers
RANK = 64  # of a matrix's change
TOKENS = 176  # of an example
RATE, HEADS_RATE, WARM = 1e-4, 1e-3, 40
NO_SPAN = -100  # the place of an answer that is none of the passage's words; such an example trains the other head


@dataclass(frozen=True, slots=True)
class Example:
    """A window with the places of the answer's first and last token, 0 where there is none, and whether it tells."""

    window: Window
    first: int
    last: int
    told: bool


def run(bench: Bench, write: Annotated[bool, typer.Option(help="Put the weights into the package.")] = False) -> None:
    """Train, and keep what it changed."""
    torch.manual_seed(SEED)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    base = resolve(DEFAULT_ENCODER).parent
    network = SpanNetwork(base)
    texts = span_examples(bench.data(), SEED, bench.tell)
    examples = [one for text in bench.sized(texts, texts[:8]) if (one := _example(network, text)) is not None]
    path = SHIPPED if write else bench.out / SHIPPED.name
    train(network, examples, bench)
    told = f"{len(examples):,} questions beside passages, of training rows that no confidence is fitted on"
    write_changes(path, dict(changes_of(network, base, RANK)), told)
    bench.tell(f"kept in {path.name if write else path}")


def train(network: SpanNetwork, examples: Sequence[Example], bench: Bench) -> None:
    """Train the heads and the upper layers, with a warm start and a linear decay."""
    frozen = [network.encoder.embeddings, *network.encoder.encoder.layer[:FROZEN]]
    for part in frozen:
        part.requires_grad_(False)
    heads = [*network.span.parameters(), *network.told.parameters()]
    upper = [one for one in network.encoder.parameters() if one.requires_grad]
    groups = [{"params": upper, "lr": RATE}, {"params": heads, "lr": HEADS_RATE}]
    steps = max(int(EPOCHS * len(examples) / BATCH), 1)
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / WARM, max(0.02, (steps - step) / steps))
    )
    network.train()
    start = time.monotonic()
    for step, batch in enumerate(_batches(examples, steps), 1):
        with torch.autocast("cpu", torch.bfloat16):
            found = network([one.window for one in batch])
        loss = _loss(batch, *found)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        rate.step()
        if step % 50 == 0:
            left = (time.monotonic() - start) / step * (steps - step)
            bench.tell(f"step {step} of {steps}, loss {float(loss.detach()):.2f}, {left / 60:.0f} minutes left")
    network.eval()


def _loss(batch: Sequence[Example], spans: Tensor, told: Tensor) -> Tensor:
    """Of the heads: whether it tells, and where the answer begins and ends."""
    firsts, lasts = torch.tensor([one.first for one in batch]), torch.tensor([one.last for one in batch])
    loss = binary_cross_entropy_with_logits(told, torch.tensor([float(one.told) for one in batch]))
    if bool((firsts != NO_SPAN).any()):
        places = cross_entropy(spans[..., 0], firsts, ignore_index=NO_SPAN)
        loss = loss + (places + cross_entropy(spans[..., 1], lasts, ignore_index=NO_SPAN)) / 2
    return loss


def _batches(examples: Sequence[Example], steps: int) -> Iterator[Sequence[Example]]:
    """So many batches of examples that are about as long as one another, in a drawn order."""
    draw, near = random.Random(SEED), 20 * BATCH
    made: list[Sequence[Example]] = []
    while len(made) < steps:
        order = draw.sample(examples, len(examples))
        for start in range(0, len(order), near):
            own = sorted(order[start : start + near], key=lambda one: len(one.window.tokens))
            batches = [own[first : first + BATCH] for first in range(0, len(own), BATCH)]
            made += draw.sample(batches, len(batches))
    yield from made[:steps]


def _example(network: SpanNetwork, one: SpanExample) -> Example | None:
    """The window of a passage that holds the answer, or its first one, cut to fit."""
    text = under_title(one.title, one.text)
    windows = network.windows(one.question, text)
    if one.span is None or not one.answered:
        place = 0 if not one.answered else NO_SPAN
        return Example(_cut(windows[0], 0), place, place, one.answered)
    shift = len(text) - len(one.text)
    begin, end = one.span[0] + shift, one.span[1] + shift
    for window in windows:
        held = [at for at, (first, last) in enumerate(window.offsets) if first < end and last > begin]
        if held and window.offsets[held[0]][0] <= begin and window.offsets[held[-1]][1] >= end:
            room = TOKENS - window.head - 1
            from_token = max(0, min(held[0] - room // 2, len(window.offsets) - room)) if held[-1] >= room else 0
            cut = _cut(window, from_token)
            places = [at - from_token + window.head for at in held]
            if places[-1] < window.head + len(cut.offsets):
                return Example(cut, places[0], places[-1], True)
    return None


def _cut(window: Window, at: int) -> Window:
    """The stretch of a window's passage from a token on that an example has room for."""
    room = TOKENS - window.head - 1
    own = window.tokens[window.head : -1][at : at + room]
    tokens = (*window.tokens[: window.head], *own, window.tokens[-1])
    return Window(tokens, window.head, window.offsets[at : at + room])


def low_rank(before: Tensor, after: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """The change of a matrix as a product of two thin ones: up (rows, rank) and down (rank, columns)."""
    left, sizes, right = torch.linalg.svd(after - before, full_matrices=False)
    return left[:, :rank] * sizes[:rank], right[:rank]


def changes_of(network: SpanNetwork, base: Path, rank: int) -> Iterable[tuple[str, Tensor]]:
    """What a fit changed in the network, by name, in 16 bits."""
    before = SpanNetwork(base).state_dict()
    for name, value in network.state_dict().items():
        if name.startswith("encoder.") and torch.equal(value, before[name]):
            continue
        if name.startswith("encoder.") and value.ndim == 2:
            up, down = low_rank(before[name], value, rank)
            yield f"{name}.up", up.half().contiguous()
            yield f"{name}.down", down.half().contiguous()
        else:
            yield name, value.half().contiguous()


def write_changes(path: Path, changes: Mapping[str, Tensor], fitted_on: str) -> None:
    """Keep what a fit changed, as text: an app's bundle takes no other files (Flower's FAB)."""
    weights = base64.b64encode(save(dict(changes))).decode()
    path.write_text(json.dumps({"fitted_on": fitted_on, "safetensors": weights}) + "\n")
