"""Attacks on shared memories: by the mechanism alone, by reading on, by context, and by all that is known."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedrag_flwr.files import replace_file
from fedrag_flwr.privacy import EntityPartition, RandomisedResponse, SeededRandomness, SurrogateMemo
from fedrag_flwr.privacy.attack import (
    Counts,
    Floats,
    best_possible,
    crossfit,
    draw_counts,
    expected_success,
    log_posterior,
    restored,
)
from fedrag_flwr.privacy.normalise import normal_name
from simulations.parts.privacy_model_attack import Attacker
from simulations.parts.privacy_release import Shared, Slot, holds

UPLOADS = (1, 5, 10, 50)
DEVICES = 4  # each perturbs every name anew in each of 50 epochs
TRIALS = 200  # draws a name and number of uploads, where the exact success is out of reach
WEIGHTS = np.array([0.0, 0.1, 0.25, 0.5, 1.0])  # trust in the model's word, as exponents


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many; `right` is a mean's numerator and need not be whole."""

    right: float
    of: int


@dataclass(frozen=True, slots=True)
class Left:
    """Of `of` names that the filter replaced: how many still stand in the same memory, or beside it."""

    of: int
    in_memory: int
    beside: int


def by_mechanism(
    slots: Sequence[Slot], partition: EntityPartition, epsilon: float, rng: np.random.Generator
) -> dict[str, object]:
    """Maximum likelihood over the group, with surrogates drawn as devices draw them; one slot a name."""
    places = [_place(slot, partition) for slot in slots]
    fresh, kept = _uploads(slots, partition, epsilon, rng)
    guesses: dict[str, dict[str, int]] = {"fresh": {}, "kept": {}}
    alone = 0
    for slot_number, (_, index) in enumerate(places):
        for how, seen in (("fresh", fresh[slot_number]), ("kept", kept[slot_number])):
            for uploads in UPLOADS:
                counts = seen[:, :uploads].sum(axis=1)
                right = int(restored(log_posterior(counts, epsilon), index, rng).sum())
                guesses[how][str(uploads)] = guesses[how].get(str(uploads), 0) + right
        each = fresh[slot_number].reshape(-1, fresh[slot_number].shape[-1])
        alone += int(restored(log_posterior(each, epsilon), index, rng).sum())
    draws = len(slots) * DEVICES
    theory = [best_possible(len(partition.groups[number].members), epsilon) for number, _ in places]
    return {
        "theory": float(np.mean(theory)),
        "guess": {"right": alone, "of": draws * max(UPLOADS)},
        **{how: {"of": draws, **found} for how, found in guesses.items()},
    }


def _uploads(
    slots: Sequence[Slot], partition: EntityPartition, epsilon: float, rng: np.random.Generator
) -> tuple[list[Counts], list[Counts]]:
    """What each upload shows of each name, as ones, (devices, uploads, size): drawn anew each time, and kept."""
    asked = [(slot.kind, slot.text) for slot in slots]
    places = [_place(slot, partition) for slot in slots]
    sizes = [len(partition.groups[number].members) for number, _ in places]
    fresh = [np.zeros((DEVICES, max(UPLOADS), size), dtype=np.int64) for size in sizes]
    kept = [np.zeros_like(one) for one in fresh]
    for device in range(DEVICES):
        with tempfile.TemporaryDirectory() as folder:
            memo = SurrogateMemo(Path(folder) / "memo.sqlite")
            for upload in range(max(UPLOADS)):
                for seen, epoch in ((fresh, upload), (kept, 0)):
                    response = RandomisedResponse(partition, epsilon, memo, epoch=epoch, source=SeededRandomness(rng))
                    for row, (number, _), drawn in zip(seen, places, response.perturb(asked), strict=True):
                        row[device, upload, partition.groups[number].members.index(drawn.name)] = 1
            memo.close()
    return fresh, kept


def left_in_clear(slots: Iterable[Slot], shared: Shared) -> Left:
    """Count names that the export filter replaced by something else and that can still be read."""
    of = same = near = 0
    for slot in slots:
        if slot.item.id in shared.items and normal_name(shared.surrogates.get(slot.name, "")) != slot.name:
            of += 1
            same += holds(shared.items[slot.item.id], slot.name)
            near += any(holds(item, slot.name) for item in shared.beside(slot.item))
    return Left(of, same, near)


def by_reading_on(slots: Iterable[Slot], partition: EntityPartition, shared: Shared, rng: np.random.Generator) -> Share:
    """Guess another name of the group that stands in memories of the same hyperedge, the most frequent, if any does.

    A name counts once, with the share of its memories in which the guess is right: its surrogate was drawn once.
    """
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for slot in slots:
        if slot.item.id not in shared.items:
            continue
        number, _ = _place(slot, partition)
        shown = normal_name(shared.surrogates[slot.name])
        near = shared.beside(slot.item)
        others = {normal_name(member) for member in partition.groups[number].members} - {shown}
        read = {other: sum(holds(item, other) for item in near) for other in sorted(others)}
        most = max(read.values())
        best = [other for other, count in read.items() if count == most]
        guess = best[int(rng.integers(len(best)))] if most else shown
        found[slot.name].append(guess == slot.name)
    return Share(sum(sum(right) / len(right) for right in found.values()), len(found))


def by_context(slots: Iterable[Slot], partition: EntityPartition | None, shared: Shared, attacker: Attacker) -> Share:
    """Let the model read the memory as it was shared: choose from the group, or without one say what was masked."""
    right = of = 0
    for slot in slots:
        shown = shared.items.get(slot.item.id)
        if shown is None:
            continue
        note = f"{shown.question} {shown.answer}"
        if partition is not None:
            number, _ = _place(slot, partition)
            members = partition.groups[number].members
            right += normal_name(attacker.choose(note, shared.surrogates[slot.name], members)) == slot.name
        elif slot.place in note:
            right += attacker.guesses(note, slot.place, slot.text)
        else:
            continue
        of += 1
    return Share(right, of)


def both(
    slots: Sequence[Slot],
    partition: EntityPartition,
    epsilon: float,
    attacker: Attacker,
    kept: Path,
    rng: np.random.Generator,
) -> dict[str, object]:
    """Prior from the model, likelihood from the mechanism.

    The model reads the memory with all of its other names true, so it knows more than a reader of shared memories; the
    priors do not depend on epsilon and are kept in a file.
    """
    priors = _priors(slots, partition, attacker, kept)
    places = [_place(slot, partition)[1] for slot in slots]
    alone = [float(restored(prior[None], index, rng)[0]) for prior, index in zip(priors, places, strict=True)]
    theory = [best_possible(len(prior), epsilon) for prior in priors]
    found = {
        str(uploads): float(crossfit(_successes(priors, places, epsilon, uploads, rng)).sum()) for uploads in UPLOADS
    }
    count = len(slots)
    return {
        "prior": {"right": sum(alone), "of": count},
        "theory_attacked": float(np.mean(theory)),
        "both": {"right": found["1"], "of": count},
        "both_fresh": {"of": count, **found},
    }


def _successes(
    priors: Sequence[Floats], places: Sequence[int], epsilon: float, uploads: int, rng: np.random.Generator
) -> Floats:
    """Success on each name at each trust in the model, (names, weights); exact for one upload."""
    table = np.zeros((len(priors), len(WEIGHTS)))
    for row, (prior, index) in enumerate(zip(priors, places, strict=True)):
        counts = draw_counts(len(prior), index, epsilon, uploads, TRIALS, rng)
        for column, weight in enumerate(WEIGHTS):
            if uploads == 1:
                table[row, column] = expected_success(len(prior), index, epsilon, weight * prior)
            else:
                table[row, column] = restored(log_posterior(counts, epsilon, weight * prior), index, rng).mean()
    return table


def _priors(slots: Sequence[Slot], partition: EntityPartition, attacker: Attacker, kept: Path) -> list[Floats]:
    known: list[list[float]] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else []
    for slot in slots[len(known) :]:
        number, _ = _place(slot, partition)
        prior = attacker.prior(slot.note, slot.place, partition.groups[number].members)
        known.append([round(float(value), 6) for value in prior])
        replace_file(kept, json.dumps(known).encode())
    return [np.array(prior) for prior in known]


def _place(slot: Slot, partition: EntityPartition) -> tuple[int, int]:
    place = partition.find(slot.kind, slot.text)
    if place is None:
        raise ValueError("an attacked name is in no group")
    return place
