"""Opens a device's export filter as the settings ask."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from fedrag_flwr.demo import PARTITION, PARTITION_STRONG, PUBLIC_NAMES
from fedrag_flwr.errors import SettingError
from fedrag_flwr.models.base import Encoder, Generator
from fedrag_flwr.privacy.analyser import PERSONAL_TYPES, PersonalDataAnalyser
from fedrag_flwr.privacy.erasure import QueryFocusedErasure
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.identifiers import IDENTIFIER_TYPES
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.privacy.ldp import SENSITIVE_TYPES, LocalDifferentialPrivacy
from fedrag_flwr.privacy.ledger import BUDGET, MEMO, BudgetLedger, SurrogateMemo
from fedrag_flwr.privacy.masks import DEFAULT_MASK_TYPES, TypeMasking
from fedrag_flwr.privacy.model_summary import ModelSummary
from fedrag_flwr.privacy.operators import Operator
from fedrag_flwr.privacy.other_languages import EnglishAlone
from fedrag_flwr.privacy.outgoing import FILE, OutgoingLedger
from fedrag_flwr.privacy.randomised_response import RandomisedResponse
from fedrag_flwr.privacy.vocabulary import EntityPartition, load_partition
from fedrag_flwr.settings import PrivacySettings
from fedrag_flwr.text.pipeline import Pipeline

FURTHER = ("erasure", "presidio", "summary")  # operators beside the mode's, in the order of their work
_SHIPPED = {"demo": PARTITION, "demo-strong": PARTITION_STRONG}


def open_export_filter(
    settings: PrivacySettings,
    encoder: Encoder,
    pipeline: Pipeline,
    opaque: Callable[[str], str],
    device: str,
    folder: Path | None,
    names: Path | None = None,
    generator: Callable[[], Generator] | None = None,
    *,
    mask_types: Sequence[str] = DEFAULT_MASK_TYPES,
    partition: EntityPartition | None = None,
    source: random.Random | None = None,
) -> ExportFilter:
    """Open the export filter of one device; raises SettingError where the list of public names or the partition cannot
    be read, its groups are too small, or an operator is unknown or lacks what it needs, and StoreError where the
    partition's file is torn, or surrogates, ledger or names cannot be opened.

    Parameters
    ----------
    settings
        What leaves in which form.
    encoder, pipeline, opaque, device
        As `ExportFilter` takes them.
    folder
        Where surrogates, the budget and what left are kept; it outlives the store, or budgets would start anew. None
        keeps no counts; surrogates need one.
    names
        The file of the names that were found private; it may go with the store, which finds them again.
    generator
        Gives the model that writes summaries, where the settings ask for that.
    mask_types
        Types that type masking hides.
    partition, source
        Groups of names, and where draws among them come from, in place of the settings' file and the operating system:
        for experiments that must repeat.
    """
    further, mode = settings.further, settings.export
    if unknown := sorted(set(further) - set(FURTHER)):
        raise SettingError(
            f"unknown operators: {', '.join(unknown)}",
            where="privacy.operators",
            fix=f"choose from {', '.join(FURTHER)}",
        )
    response = None
    if mode == "ldp":
        response = _response(settings, read_partition(settings) if partition is None else partition, folder, source)
        mask_types = [kind for kind in mask_types if kind in IDENTIFIER_TYPES]
    elif mode == "none":
        mask_types = ()
    public = read_names(settings.public_names)
    drawn: Sequence[str] = ()
    if response is not None:
        public, drawn = [], SENSITIVE_TYPES  # a public name in clear would tell that it is no surrogate
    personal = [kind for kind in PERSONAL_TYPES if kind not in drawn] if "presidio" in further else []
    known = KnownNames(names if mode != "none" or personal else None)
    operators: list[Operator] = []
    if settings.keeps_other_languages:
        operators.append(EnglishAlone())
    if "erasure" in further:
        operators.append(QueryFocusedErasure(pipeline, encoder))
    if mask_types or personal:
        analyser = PersonalDataAnalyser(pipeline, personal) if personal else None
        operators.append(TypeMasking(pipeline, [*mask_types, *personal], public, known, analyser))
    if response is not None:
        operators.append(LocalDifferentialPrivacy(pipeline, response, names=known))
    if "summary" in further:  # last: the model sees only what the others have left
        if generator is None:
            raise SettingError("summaries by the model need one", where="privacy.operators")
        operators.append(ModelSummary(generator))
    ledger = OutgoingLedger(None if folder is None else folder / FILE)
    return ExportFilter(operators, encoder, pipeline, opaque, device, known, settings.share_documents, ledger)


def _response(
    settings: PrivacySettings, partition: EntityPartition, folder: Path | None, source: random.Random | None
) -> RandomisedResponse:
    if folder is None:
        raise SettingError("surrogates need a folder in which they are kept", where="privacy")
    if partition.smallest < settings.group_size:
        raise SettingError(
            f"the partition has a group of {partition.smallest} names, privacy.group-size asks for "
            f"{settings.group_size}",
            where="privacy.partition",
            fix='name one of larger groups, such as "demo-strong" with 26, or build one with build_partition',
        )
    memo, ledger = SurrogateMemo(folder / MEMO), BudgetLedger(folder / BUDGET, settings.budget)
    return RandomisedResponse(partition, settings.epsilon, memo, ledger=ledger, epoch=settings.epoch, source=source)


def read_partition(settings: PrivacySettings) -> EntityPartition:
    """Load the public partition that the settings name; raises SettingError where there is no such file, or it cannot
    be read, and StoreCorruptError where the file is not a whole partition.
    """
    return load_partition(_SHIPPED.get(settings.partition) or Path(settings.partition).expanduser())


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
    path = PUBLIC_NAMES if source == "demo" else Path(source).expanduser()
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
