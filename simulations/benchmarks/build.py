"""What does it cost to build a device's memory, and to follow a changed document, beside a plain vector index?

Documents are paragraphs pooled from the multi-hop files, one file each. Seconds are the processor's; models are warm,
and nothing is replayed from the generation cache. `--generators` asks instead what a device's service holds in memory.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from pandas import DataFrame

from fedrag_flwr import wire
from fedrag_flwr.demo import CORPUS, QUESTIONS
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.evaluation.gold import read_gold
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.models import Encoder, resolve
from fedrag_flwr.processes import peak_rss_mb
from fedrag_flwr.records import BuildReport, BuildRequest, Document
from fedrag_flwr.settings import Plain, Settings, fedrag_home
from fedrag_flwr.wire_bytes import to_bytes
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.bench.measure import memory_mb
from simulations.bench.plan import named
from simulations.corpora.sentences import pooled_documents
from simulations.fixtures.service_process import service_process

WARMING = Document("warming", "Ossel", "The Ossel is a river that rises on Mount Cairl. It is 410 kilometres long.", "")
GENERATORS = ("smollm2-135m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")
CHUNK = 130  # words of a plain index's passage
ANSWERS = 20
_DEVICE = "missions"
_MIB = 2**20


def run(
    bench: Bench,
    documents: Annotated[int, typer.Option(help="Documents of the device.")] = 1_000,
    changed: Annotated[str, typer.Option(help="How many change before each further build.")] = "1,1,1,10,100",
    generators: Annotated[str, typer.Option(help="Measure a service's memory with these models instead.")] = "",
) -> None:
    """Build, build again, change documents and build; by stage, beside a plain index of the same texts."""
    if generators:
        chosen = named(generators, GENERATORS, "generator")
        kept = bench.rows("memory", *chosen)
        bench.table("memory", pd.DataFrame([kept.row(name, service_memory, name) for name in chosen]), "MiB")
        return
    count = bench.sized(documents, 8)
    steps = [int(number) for number in bench.sized(changed, "1").split(",")]
    found = pooled_documents(bench.data(), max(20, count // 8))
    if len(found) < count + sum(steps):
        found = pooled_documents(bench.data())
    settings = Settings.from_config({"models.generation-cache": False, **bench.changes})
    models = load_models(settings.models, fedrag_home())
    with tempfile.TemporaryDirectory() as folder:
        builds, stages, types = measure(found, count, steps, settings, models, Path(folder))
    bench.table("build", builds)
    bench.table("stages", stages, "The first build by stage.")
    bench.table("types", types, "Its memories by type of question.")


def measure(
    documents: Sequence[Document], count: int, changes: Sequence[int], settings: Settings, models: Models, root: Path
) -> tuple[DataFrame, DataFrame, DataFrame]:
    """Time every build; give the first one's stages and memories by type, too.

    `documents` are `count` of the device, and after them those whose texts replace theirs: so many before each further
    build as `changes` says, no document twice. `root` is an empty directory.
    """
    folder, warming = root / "documents", root / "warming"
    _write(warming, "warming", WARMING)
    _build(warming, root / "warm", settings, models)  # models load on first use
    for place, document in enumerate(documents[:count]):
        _write(folder, f"{place:05d}", document)
    plain = plain_index(documents[:count], models.encoder)
    full, report, stages, types = _build(folder, root / "store", settings, models)
    rows = [
        {"build": "plain vector index", "CPU s": plain},
        {"build": "from nothing", "CPU s": full, "memories": report.items, "peak MB": round(peak_rss_mb())},
        {"build": "nothing changed", "CPU s": _build(folder, root / "store", settings, models)[0]},
    ]
    touched = [f"{place * count // sum(changes):05d}" for place in range(sum(changes))]
    for start, stop in pairwise(accumulate(changes, initial=0)):
        for name, document in zip(touched[start:stop], documents[count + start : count + stop], strict=True):
            _write(folder, name, document)
        rows.append({"build": f"{stop - start} changed", "CPU s": _build(folder, root / "store", settings, models)[0]})
    builds = pd.DataFrame(rows)
    builds["share of the first, %"] = (100 * builds["CPU s"] / full).round(2)
    builds["CPU s"] = builds["CPU s"].round(2)
    table = pd.DataFrame({"stage": list(stages), "CPU s": np.round(list(stages.values()), 2)})
    return builds, table, pd.DataFrame(types.most_common(), columns=["type", "memories"])


def plain_index(documents: Sequence[Document], encoder: Encoder) -> float:
    """CPU seconds to cut texts into passages of 130 words, encode them and add them to a flat FAISS index."""
    import faiss

    before = time.process_time()
    words = [document.text.split() for document in documents]
    passages = [" ".join(said[at : at + CHUNK]) for said in words for at in range(0, len(said), CHUNK)]
    index = faiss.IndexFlatIP(encoder.dimension)
    index.add(encoder.encode(passages))
    return time.process_time() - before


def _write(folder: Path, name: str, document: Document) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text(f"# {document.title}\n\n{document.text}\n", encoding="utf-8")


def _build(
    folder: Path, store: Path, settings: Settings, models: Models
) -> tuple[float, BuildReport, Mapping[str, float], Counter[str]]:
    """Build, and give the processor's seconds in all and by stage, and memories by type of question."""
    stages: defaultdict[str, float] = defaultdict(float)
    last, stage = time.process_time(), "start"

    def progress(phase: str, done: int, total: int) -> None:
        nonlocal last, stage
        now = time.process_time()
        stages[stage] += now - last
        last, stage = now, phase if done < total else "between stages"

    with EdgeDevice("bench", folder, store, settings, models) as device:
        start = time.process_time()
        report = device.build(progress=progress)
        seconds = time.process_time() - start
        types = Counter(item.kind for item in device.store.items())
    progress("end", 1, 1)
    return seconds, report, stages, types


# --- a service's memory -------------------------------------------------------------------------


def service_memory(generator: str) -> Row:
    """Resident memory of one service over one of the demo's devices: started, built, and after 20 answers, in MiB."""
    with tempfile.TemporaryDirectory(prefix="fedrag-memory-") as place:
        home, gold = Path(place), read_gold(QUESTIONS)
        settings: dict[str, Plain] = {"memory.delta": 1.0}  # so that the model answers
        own, slow = str(resolve(generator)), 3_600.0  # on a busy machine a question takes minutes
        with service_process(_DEVICE, home, CORPUS / _DEVICE, settings, generator=own, ask_seconds=slow) as service:
            process = service.process.pid
            with service.client() as client:
                started = round(memory_mb(process=process))
                request = to_bytes(wire.encode(BuildRequest(memories=True, graph=True), run="1"))
                client.message("train.build", "1", Settings().flat(), request)
                built = round(memory_mb(process=process))
                asked = islice((one for one in gold if one.split == "train"), ANSWERS)
                calls = sum(int(str(client.ask(one.text)["llm_calls"])) for one in asked)
                told = {
                    "started": started,
                    "built": built,
                    "answered": round(memory_mb(process=process)),
                    "model calls": calls,
                }
    return {"generator": generator, "weights": round(resolve(generator).stat().st_size / _MIB), **told}
