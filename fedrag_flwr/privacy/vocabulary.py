"""The fixed public partition of an entity vocabulary: who hides among whom (FD-RAG 4.3, candidate sets)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError, StoreCorruptError
from fedrag_flwr.files import replace_file
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.normalise import normal_name

SCHEMA = 1
_MOST_CHARS = 200
_MOST_BYTES = 64 * 2**20
_SETTING = "privacy.partition"  # what an error names, since it may leave the device: a file's name may tell of somebody


@dataclass(frozen=True, slots=True)
class Group:
    """Names of one type that share one candidate set."""

    type: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class EntityPartition:
    """Groups of at least `minimum` names each; every name of a type is in exactly one group; raises SettingError where
    a group is too small, or a name is blank, too long or in two groups of its type.

    Randomised response is epsilon-LDP among the members of a group; an entity's type and group are disclosed.
    """

    groups: tuple[Group, ...]
    minimum: int
    encoder_id: str
    seed: int

    def __post_init__(self) -> None:
        if self.minimum < 2 or not self.groups:
            raise SettingError("it needs groups of two names or more", where="partition")
        if any(len(group.members) < self.minimum for group in self.groups):
            raise SettingError(f"a group has fewer than {self.minimum} names", where="partition")
        names = [(group.type, normal_name(name)) for group in self.groups for name in group.members]
        if len(set(names)) != len(names):
            raise SettingError("a name is in two groups of its type", where="partition")
        if any(not name for _, name in names):
            raise SettingError("a name is blank", where="partition")
        if any(len(name) > _MOST_CHARS for group in self.groups for name in group.members):
            raise SettingError(f"a name is longer than {_MOST_CHARS} characters", where="partition")

    @cached_property
    def digest(self) -> str:
        """The partition's version: SHA-256 over its content."""
        content = [[group.type, *group.members] for group in self.groups]
        canonical = json.dumps([SCHEMA, self.minimum, self.encoder_id, self.seed, content], ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    @cached_property
    def types(self) -> frozenset[str]:
        """The types that have groups."""
        return frozenset(group.type for group in self.groups)

    @cached_property
    def smallest(self) -> int:
        """The size of the smallest group."""
        return min(len(group.members) for group in self.groups)

    @cached_property
    def _places(self) -> dict[tuple[str, str], tuple[int, int]]:
        return {
            (group.type, normal_name(name)): (number, index)
            for number, group in enumerate(self.groups)
            for index, name in enumerate(group.members)
        }

    def find(self, kind: str, name: str) -> tuple[int, int] | None:
        """Find an entity's group and its place there; a name that only has other types is found under the first."""
        normal = normal_name(name)
        for one in (kind, *sorted(self.types)):
            place = self._places.get((one, normal))
            if place is not None:
                return place
        return None

    def save(self, path: Path) -> None:
        """Write the partition as JSON lines: a header with the digest, then one group a line."""
        header = {
            "schema": SCHEMA,
            "digest": self.digest,
            "minimum": self.minimum,
            "encoder": self.encoder_id,
            "seed": self.seed,
        }
        lines = [header, *({"type": group.type, "members": list(group.members)} for group in self.groups)]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        replace_file(path, text.encode(), 0o644)


def load_partition(path: Path) -> EntityPartition:
    """Read a partition and check it against its own digest; raises SettingError where there is no such file, or it
    cannot be read, and StoreCorruptError where the file is too large, malformed, or differs from its digest.
    """
    try:
        size = path.stat().st_size
        lines = (
            [] if size > _MOST_BYTES else [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        )
    except FileNotFoundError:
        fix = "name a file that is there, or build it with build_partition"
        raise SettingError("there is no such file", where=_SETTING, fix=fix) from None
    except OSError as error:
        raise SettingError(f"it cannot be read ({type(error).__name__})", where=_SETTING) from None
    except (ValueError, RecursionError):
        raise StoreCorruptError("it is not JSON lines", where=path.name) from None
    if size > _MOST_BYTES:
        raise StoreCorruptError("it is too large for a partition", where=path.name)
    if not lines or not all(isinstance(line, dict) for line in lines) or lines[0].get("schema") != SCHEMA:
        raise StoreCorruptError(f"it is not a partition of schema {SCHEMA}", where=path.name)
    header, *rest = lines
    try:
        groups = tuple(_group(line) for line in rest)
        partition = EntityPartition(groups, int(header["minimum"]), str(header["encoder"]), int(header["seed"]))
    except (KeyError, TypeError, ValueError) as error:
        raise StoreCorruptError(f"it breaks a rule of partitions ({type(error).__name__})", where=path.name) from None
    if header.get("digest") != partition.digest:
        raise StoreCorruptError("it differs from its digest", where=path.name, fix="fetch the federation's file again")
    return partition


def _group(line: dict[str, object]) -> Group:
    kind, members = line["type"], line["members"]
    if not isinstance(kind, str) or not isinstance(members, list) or not all(isinstance(one, str) for one in members):
        raise TypeError
    return Group(kind, tuple(members))


def build_partition(entities: Iterable[tuple[str, str]], encoder: Encoder, c: int, seed: int = 0) -> EntityPartition:
    """Partition public (type, name) pairs into balanced groups of at least c names of like meaning; raises SettingError
    where c is less than two, or a type has fewer than c names.

    Parameters
    ----------
    entities
        Public names only: what is listed here is no secret.
    encoder
        Gives the meaning of a name.
    c
        Least number of names in a group (FD-RAG eq. 16).
    seed
        Seed of the splitting directions.
    """
    if c < 2:
        raise SettingError("it must be 2 or more", where="candidates")
    by_type: dict[str, dict[str, str]] = {}
    for kind, name in entities:
        normal = normal_name(name)
        if normal:
            by_type.setdefault(kind, {}).setdefault(normal, " ".join(name.split()))
    groups: list[Group] = []
    rng = np.random.default_rng(seed)
    for kind, names in sorted(by_type.items()):
        if len(names) < c:
            raise SettingError(
                f"type {kind} has {len(names)} names, a group needs {c}",
                where="partition",
                fix="add names or drop the type",
            )
        spelt = [names[normal] for normal in sorted(names)]
        vectors = encoder.encode(spelt)
        rows = np.arange(len(spelt))
        groups += [Group(kind, tuple(spelt[i] for i in part)) for part in _split(vectors, rows, len(spelt) // c, rng)]
    return EntityPartition(tuple(groups), c, encoder.id, seed)


def _split(
    vectors: NDArray[np.float32], rows: NDArray[np.intp], parts: int, rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    """Halve rows along their principal direction until there are `parts` sets whose sizes differ by one at most."""
    if parts == 1:
        return [np.sort(rows)]
    left = parts // 2
    order = rows[np.argsort(_principal(vectors[rows], rng), kind="stable")]
    # `parts` sets of sizes base or base + 1: the left half takes its share of the larger ones.
    base, extra = divmod(len(rows), parts)
    cut = left * base + min(left, extra)
    return [*_split(vectors, order[:cut], left, rng), *_split(vectors, order[cut:], parts - left, rng)]


def _principal(rows: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float64]:
    """Project rows on their first principal direction by power iteration."""
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    direction = rng.standard_normal(centred.shape[1])
    for _ in range(20):
        direction = centred.T @ (centred @ direction)
        direction /= float(np.linalg.norm(direction)) or 1.0
    projected: NDArray[np.float64] = centred @ direction
    return projected
