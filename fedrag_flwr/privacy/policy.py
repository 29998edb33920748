"""Opens a device's export filter as the settings ask."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from fedrag_flwr.errors import SettingError
from fedrag_flwr.models.base import Encoder, Generator
from fedrag_flwr.privacy.analyser import PERSONAL_TYPES
from fedrag_flwr.privacy.erasure import QueryFocusedErasure
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.identifiers import IDENTIFIER_TYPES
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.privacy.ldp import SENSITIVE_TYPES, LocalDifferentialPrivacy
from fedrag_flwr.privacy.ledger import BUDGET, MEMO, BudgetLedger, SurrogateMemo
from fedrag_flwr.privacy.masking import DEFAULT_MASK_TYPES, TypeMasking
from fedrag_flwr.privacy.model_masking import ModelMasking, ModelSummary
from fedrag_flwr.privacy.operators import Operator
from fedrag_flwr.privacy.outgoing import FILE, OutgoingLedger
from fedrag_flwr.privacy.presidio import PresidioMasking
from fedrag_flwr.privacy.randomised_response import PRESETS, OutOfVocabulary, RandomisedResponse, Randomness
from fedrag_flwr.privacy.vocabulary import EntityPartition, load_partition
from fedrag_flwr.settings import PrivacySettings
from fedrag_flwr.text.base import Pipeline

PrivacyMode = Literal["none", "type-masking", "ldp"]
FURTHER = ("erasure", "presidio", "model-masking", "summary")  # beside the mode's, in the order of their work
_ASKING = frozenset({ModelMasking.name, ModelSummary.name})


def make_export_filter(
    mode: PrivacyMode,
    *,
    encoder: Encoder,
    pipeline: Pipeline,
    opaque: Callable[[str], str],
    device: str,
    mask_types: Sequence[str] = DEFAULT_MASK_TYPES,
    public_names: Iterable[str] = (),
    sensitive_types: Sequence[str] = SENSITIVE_TYPES,
    partition: EntityPartition | None = None,
    folder: Path | None = None,
    names: Path | None = None,
    epsilon: float | None = None,
    preset: str = "paper",
    group_size: int | None = None,
    budget_limit: float | None = None,
    out_of_vocabulary: OutOfVocabulary = "mask",
    epoch: int = 0,
    source: Randomness | None = None,
    share_documents: bool = False,
    further: Sequence[str] = (),
    erasure_keep: float = 0.5,
    generator: Callable[[], Generator] | None = None,
) -> ExportFilter:
    """Build a device's export filter.

    Parameters
    ----------
    mode
        ``"none"`` rewrites no text (ids are still hidden, support is still dropped), ``"type-masking"`` puts types in
        the place of what is sensitive, ``"ldp"`` masks structured identifiers and draws surrogates for entities.
    encoder, pipeline, opaque, device
        As `ExportFilter` takes them.
    mask_types, public_names
        For ``"type-masking"``: what is masked, and which names stay.
    sensitive_types, partition, epoch, out_of_vocabulary, source
        For ``"ldp"``: which entities are perturbed, the public partition, and how.
    folder
        Where it is kept what left, and for ``"ldp"`` surrogates and budgets.
    names
        Where the names that were found private are kept; by default they are forgotten with the export filter.
    epsilon, group_size, preset
        Budget of one draw, and the fewest names that a group of the partition may have; by default the preset's.
    share_documents
        Whether whole documents may leave; only mode ``"none"`` lets them.
    budget_limit
        Most epsilon that an entity may ever spend; by default one draw.
    further, erasure_keep, generator
        Operators beside the mode's, of `FURTHER`; what erasure keeps, and the model that masks or writes summaries.

    Raises
    ------
    SettingError
        If a value is unknown, missing or out of range, or a group is too small.
    StoreError
        If memo, ledger or the list of names cannot be opened.
    """
    if unknown := sorted(set(further) - set(FURTHER)):
        raise SettingError(
            f"unknown operators: {', '.join(unknown)}",
            where="privacy.operators",
            fix=f"choose from {', '.join(FURTHER)}",
        )
    operators: list[Operator] = []
    known = KnownNames(names if mode != "none" or PresidioMasking.name in further else None)
    if "erasure" in further:
        operators.append(QueryFocusedErasure(pipeline, encoder, erasure_keep))
    if "presidio" in further:
        drawn = sensitive_types if mode == "ldp" else ()
        kinds = [kind for kind in PERSONAL_TYPES if kind not in drawn]
        operators.append(PresidioMasking(pipeline, kinds, public_names, known))
    if mode == "type-masking":
        operators.append(TypeMasking(pipeline, mask_types, public_names, known))
    elif mode == "ldp":
        if partition is None or folder is None:
            raise SettingError("mode ldp needs a partition and a folder", where="privacy")
        if preset not in PRESETS:
            raise SettingError(
                f"unknown preset {preset!r}", where="privacy-preset", fix=f"choose from {', '.join(PRESETS)}"
            )
        chosen = PRESETS[preset]
        asked = chosen.candidates if group_size is None else group_size
        if partition.smallest < asked:
            raise SettingError(
                f"the partition has a group of {partition.smallest} names, privacy.group-size asks for {asked}",
                where="privacy.partition",
                fix='name one of larger groups, such as "demo-strong" with 26, or build one with build_partition',
            )
        budget = chosen.epsilon if epsilon is None else epsilon
        response = RandomisedResponse(
            partition,
            budget,
            SurrogateMemo(folder / MEMO),
            ledger=BudgetLedger(folder / BUDGET, budget if budget_limit is None else budget_limit),
            encoder=encoder if out_of_vocabulary == "nearest" else None,
            out_of_vocabulary=out_of_vocabulary,
            epoch=epoch,
            source=source,
        )
        identifiers = [kind for kind in mask_types if kind in IDENTIFIER_TYPES]
        operators.append(TypeMasking(pipeline, identifiers, names=known))
        operators.append(LocalDifferentialPrivacy(pipeline, response, sensitive_types, known))
    elif mode != "none":
        raise SettingError(f"unknown mode {mode!r}", where="privacy", fix="choose none, type-masking or ldp")
    operators += _by_model(further, generator, public_names)
    ledger = OutgoingLedger(None if folder is None else folder / FILE)
    return ExportFilter(operators, encoder, pipeline, opaque, device, known, share_documents, ledger)


def _by_model(
    further: Sequence[str], generator: Callable[[], Generator] | None, public_names: Iterable[str]
) -> list[Operator]:
    """The operators that ask the model; they come after all others, so that it sees only what those have left."""
    if not _ASKING & set(further):
        return []
    if generator is None:
        raise SettingError("masking and summaries by the model need one", where="privacy.operators")
    operators: list[Operator] = [ModelMasking(generator, public_names), ModelSummary(generator)]
    return [operator for operator in operators if operator.name in further]


def open_export_filter(
    settings: PrivacySettings,
    encoder: Encoder,
    pipeline: Pipeline,
    opaque: Callable[[str], str],
    device: str,
    folder: Path,
    names: Path | None = None,
    generator: Callable[[], Generator] | None = None,
) -> ExportFilter:
    """Open the export filter of one device.

    Parameters
    ----------
    settings
        What leaves in which form.
    encoder, pipeline, opaque, device
        As `ExportFilter` takes them.
    folder
        Where surrogates and the budget ledger are kept; it outlives the store, or budgets would start anew.
    names
        The file of the names that were found private; it may go with the store, which finds them again.
    generator
        Gives the model that masks or writes summaries, where the settings ask for that.

    Raises
    ------
    SettingError
        The list of public names or the partition cannot be read, or its groups are too small.
    StoreError
        The partition's file is torn, or surrogates, ledger or names cannot be opened.
    """
    partition = read_partition(settings) if settings.export == "ldp" else None
    return make_export_filter(
        settings.export,
        encoder=encoder,
        pipeline=pipeline,
        opaque=opaque,
        device=device,
        public_names=read_names(settings.public_names),
        partition=partition,
        folder=folder,
        names=names,
        epsilon=settings.epsilon,
        group_size=settings.group_size,
        budget_limit=settings.budget,
        epoch=settings.epoch,
        share_documents=settings.share_documents,
        further=settings.further,
        erasure_keep=settings.erasure_keep,
        generator=generator,
    )


def read_partition(settings: PrivacySettings) -> EntityPartition:
    """Load the public partition that the settings name.

    Raises
    ------
    SettingError
        There is no such file, or it cannot be read.
    StoreCorruptError
        The file is not a whole partition.
    """
    return load_partition(_shipped().get(settings.partition) or Path(settings.partition).expanduser())


def policy_digest(settings: PrivacySettings) -> str:
    """SHA-256 over all that decides what the filter lets pass: the settings, the public names and the partition."""
    partition = read_partition(settings).digest if settings.export == "ldp" else ""
    parts = (
        settings.model_dump_json(exclude={"answers", "lookup"}),
        partition,
        *sorted(read_names(settings.public_names)),
    )
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def read_names(source: str) -> list[str]:
    """Read public names: "demo", a JSON list, a text file with one name a line (``#`` starts a comment), or ""."""
    if not source:
        return []
    path = _demo_names() if source == "demo" else Path(source).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
        names = (
            json.loads(text) if path.suffix == ".json" else [line.split("#")[0].strip() for line in text.splitlines()]
        )
    except (OSError, ValueError):
        raise SettingError(
            "the list of public names cannot be read",
            where="privacy.public-names",
            fix="name a JSON list or a text file with one name a line",
        ) from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SettingError("the file is no list of names", where="privacy.public-names", fix="write a JSON list")
    return [name for name in names if name]


def _shipped() -> dict[str, Path]:
    from fedrag_flwr.demo import PARTITION, PARTITION_STRONG

    return {"demo": PARTITION, "demo-strong": PARTITION_STRONG}


def _demo_names() -> Path:
    from fedrag_flwr.demo import PUBLIC_NAMES

    return PUBLIC_NAMES
