"""What the graph adds to finding evidence at home: each level of retrieval, and all together (DGRAG table 3, -KG).

    python simulations/bench_graph_retrieval.py --set openstax --documents 25 [--units 4] [--out docs/benchmarks]

Every dev question is asked at the device that holds its document. Reported are the questions of which a sentence of
that document is among the units, those of which the units hold the answer's words together (of the questions whose
answer stands in the document at all), and milliseconds a question. No model is asked.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from fedrag_flwr.knowledge_graph.retrieval import LEVELS, Level, RetrievalSettings
from fedrag_flwr.text.segment import document_of
from fedrag_flwr.text.support import evidence_texts, is_supported
from simulations.fixtures.summary_world import texts_of, world
from simulations.reporting.folders import out_folder

VARIANTS: dict[str, frozenset[Level]] = {
    "chunks alone (-KG)": frozenset({"chunk"}),
    "entities": frozenset({"entity"}),
    "relations": frozenset({"relation"}),
    "entities and relations": frozenset({"entity", "relation"}),
    "all": LEVELS,
}


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("openstax", "medquad"), default="openstax")
    parser.add_argument("--documents", type=int, default=0)
    parser.add_argument("--units", type=int, default=4)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    arguments = parser.parse_args()
    made = world(arguments.set, arguments.documents, arguments.data)
    found: dict[str, list[bool]] = {name: [] for name in VARIANTS}
    held: dict[str, list[bool]] = {name: [] for name in VARIANTS}
    seconds: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for name in made.devices:
        asked = [one for one in made.domains.questions if one.split == "dev" and one.domain == name]
        vectors = made.models.encoder.encode(texts_of(asked))
        texts = {document.id: document.text for document in made.domains.documents[name]}
        with made.device(name) as device:
            for variant, levels in VARIANTS.items():
                retriever = device.graph.retriever().with_settings(RetrievalSettings(levels=levels))
                for one, vector in zip(asked, vectors, strict=True):
                    start = time.perf_counter()
                    units = retriever.retrieve(vector, arguments.units)
                    seconds[variant].append(time.perf_counter() - start)
                    found[variant].append(any(document_of(unit.id) == one.document for unit in units))
                    if is_supported(one.answer, [texts[one.document]]):
                        held[variant].append(is_supported(one.answer, evidence_texts(units)))
        print(name, flush=True)
    lines = ["| levels | its document % | the answer % | ms a question |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {100 * np.mean(found[name]):.1f} | {100 * np.mean(held[name]):.1f} "
        f"| {1e3 * np.mean(seconds[name]):.1f} |"
        for name in VARIANTS
    ]
    lines += ["", f"{len(found['all'])} questions, of {len(held['all'])} the answer stands in the document.", ""]
    (arguments.out / f"graph_retrieval_{arguments.set}.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
