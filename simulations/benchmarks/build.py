"""What does it cost to build a device's memory, and to follow a changed document, beside a plain vector index?

Documents are paragraphs pooled from the multi-hop files, one file each. Seconds are the processor's; models are warm,
and nothing is replayed from the generation cache.
"""

import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from pandas import DataFrame

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.processes import peak_rss_mb
from fedrag_flwr.records import BuildReport, Document
from fedrag_flwr.settings import Settings, fedrag_home
from simulations.bench.frame import Bench
from simulations.corpora.sentences import pooled_documents

DOCUMENTS = 1_000  # of the device
CHANGED = (1, 1, 1, 10, 100)  # documents before each further build
CHUNK = 130  # words of a plain index's passage
WARMING = Document("warming", "Ossel", "The Ossel is a river that rises on Mount Cairl. It is 410 kilometres long.", "")


def run(bench: Bench) -> None:
    """Build, build again, change documents and build; by stage, beside a plain index of the same texts."""
    count = bench.sized(DOCUMENTS, 8)
    steps = bench.sized(CHANGED, CHANGED[:1])
    found = pooled_documents(bench.data(), max(20, count // 8))
    if len(found) < count + sum(steps):
        found = pooled_documents(bench.data())
    settings = Settings.from_config({"models.generation-cache": False, **bench.changes})
    models = load_models(settings.models, fedrag_home(settings.home))
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
