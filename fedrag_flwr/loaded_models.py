"""The models of one process, as the settings name them; devices that live in the same process share them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fedrag_flwr.models.base import Generator, TextEncoder
from fedrag_flwr.models.choose import meant_by_auto
from fedrag_flwr.models.files import configured_path, file_sha256
from fedrag_flwr.models.load import load_encoder, load_endpoint, load_generator
from fedrag_flwr.models.multilingual import multilingual_folder
from fedrag_flwr.models.registry import MULTILINGUAL, REGISTRY
from fedrag_flwr.records import Progress, silent
from fedrag_flwr.settings import AUTO, ModelSettings, is_endpoint
from fedrag_flwr.text.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class Models:
    """Encoder, text pipeline and generator; `generator` is a function, so that who needs none never loads one.

    `generator_id` is the file's name with the start of its SHA-256, known without loading it;
    of a model behind an address its name there, with a hash for the address.
    """

    encoder: TextEncoder
    pipeline: Pipeline
    generator: Callable[[], Generator]
    generator_id: str = ""


def load_models(models: ModelSettings, home: Path, progress: Progress = silent) -> Models:
    """Give the models that settings name, or that fit the machine; each is loaded when it is first used; raises
    ModelError where the generator's address is not one to which passages may go.
    """
    models = resolved(models, progress)
    if is_endpoint(models.generator):
        load_endpoint(models.generator, models.generator_name)  # what is wrong with the address shows at once

    def generator() -> Generator:
        if is_endpoint(models.generator):
            return load_endpoint(models.generator, models.generator_name)
        return load_generator(
            models.generator,
            context_tokens=models.context_tokens,
            threads=models.threads,
            gpu_layers=models.gpu_layers,
            cache_path=str(home / "generations") if models.generation_cache else "",
            progress=progress,
        )

    if models.encoder == MULTILINGUAL:
        multilingual_folder(progress)  # where it is not at hand, its download shows
    encoder = load_encoder(models.encoder, threads=models.threads)
    return Models(encoder, Pipeline(models.pipeline), generator, generator_id(models))


def refuse_unknown(models: ModelSettings) -> None:
    """Raise ModelMissingError where the generator is no name that is known, no address and no path."""
    if models.generator != AUTO and not is_endpoint(models.generator) and models.generator not in REGISTRY:
        configured_path(models.generator)


def resolved(models: ModelSettings, progress: Progress = silent) -> ModelSettings:
    """The settings with the name of the generator that `auto` means on this machine."""
    if models.generator != AUTO:
        return models
    choice = meant_by_auto(
        threads=models.threads, gpu_layers=models.gpu_layers, seconds=models.read_seconds, progress=progress
    )
    return models.model_copy(update={"generator": choice.name})


def generator_id(models: ModelSettings) -> str:
    """`Models.generator_id` of settings that name their generator, without loading anything."""
    if is_endpoint(models.generator):  # it leaves with the device's card, so it names no host
        return f"{models.generator_name}-{hashlib.sha256(models.generator.encode()).hexdigest()[:12]}"
    if models.generator in REGISTRY:
        model = REGISTRY[models.generator]
        file, sha256 = model.file, model.sha256
    else:
        path = Path(models.generator).expanduser()
        if not path.is_file():
            return path.name
        file, sha256 = path.name, file_sha256(path)
    return f"{file}-{sha256[:12]}"
