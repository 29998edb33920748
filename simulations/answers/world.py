"""A set on its device: the folder of documents and the store that is made of it, kept for the next time."""

from __future__ import annotations

import hashlib

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.records import Progress, silent
from fedrag_flwr.settings import Settings, fedrag_home
from simulations.answers.sets import EVERYTHING, AnswerSet


def open_world(
    asked: AnswerSet, settings: Settings, progress: Progress = silent, *, memories: bool = True
) -> EdgeDevice:
    """Open the device that holds all documents of a set, with its memories built or without them.

    Stores lie below ``<home>/answers``, one for each content and each way of building it.
    """
    whole = asked.together()
    documents = whole.documents[EVERYTHING]
    told = "".join(f"{one.id}={one.digest};" for one in documents)
    built = f"{settings.hypergraph}{settings.memory.tokens_per_kilotoken}{settings.models.encoder}"
    root = (
        fedrag_home(settings.home)
        / "answers"
        / f"{asked.name}-{hashlib.sha256((told + built).encode()).hexdigest()[:8]}"
    )
    whole.write(root / "documents")
    models = load_models(settings.models, fedrag_home(settings.home))
    device = EdgeDevice(EVERYTHING, root / "documents" / EVERYTHING, root / "store", settings, models)
    try:
        device.build(memories=memories, progress=progress)
    except BaseException:
        device.close()
        raise
    return device
