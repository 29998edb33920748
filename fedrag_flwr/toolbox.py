"""The models of one process, as the settings name them; devices that live in the same process share them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.models import load_encoder, load_generator
from fedrag_flwr.models.base import Encoder, Generator
from fedrag_flwr.records import Progress, silent
from fedrag_flwr.settings import ModelSettings
from fedrag_flwr.text.base import Pipeline
from fedrag_flwr.text.pipeline import SpacyPipeline


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Encoder, text pipeline and generator; `generator` is a function, so that who needs none never loads one."""

    encoder: Encoder
    pipeline: Pipeline
    generator: Callable[[], Generator]


def load_toolbox(models: ModelSettings, home: Path, progress: Progress = silent) -> Toolbox:
    """Give the models that settings name; each is loaded when it is first used.

    Parameters
    ----------
    models
        The settings.
    home
        Where the generation cache lives.
    progress
        Told of downloads.
    """

    def generator() -> Generator:
        return load_generator(
            models.generator,
            context_tokens=models.context_tokens,
            threads=models.threads,
            gpu_layers=models.gpu_layers,
            cache_path=str(home / "generations.sqlite") if models.generation_cache else "",
            progress=progress,
        )

    return Toolbox(load_encoder(models.encoder, threads=models.threads), SpacyPipeline(models.pipeline), generator)
