"""How much labelled personal data is hidden, by type and case?

Three sets of invented texts with labels, as presidio-research publishes them. *plain* is Presidio as it comes and
*analyser* the project's, over the same spaCy pipeline; *type masking* is what the default export filter does to a text
in its own, lower and upper case. A labelled span is hidden when no letter or digit of it is left. Precision is the
share of masked letters and digits that are labelled, whatever their type. Rules were written with the templates of even
number at hand, so those of odd number are counted apart.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
from pandas import DataFrame

from fedrag_flwr.evaluation.bootstrap import share_interval
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.privacy.analyser import FURTHER_TYPES, PERSONAL_TYPES, PersonalDataAnalyser, stay_offline
from fedrag_flwr.privacy.masks import TypeMasking
from fedrag_flwr.privacy.normalise import clean
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.replacement import PLACEHOLDER
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.text.pipeline import Pipeline
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import Row
from simulations.corpora.sentences import json_lines

FILES = ("presidio_generated_small", "presidio_generated_large", "presidio_synth_v2")
ROWS = 10_000  # texts of each set, at most
SORTS = {  # one name for what the sets call by several
    **dict.fromkeys(("STREET_ADDRESS", "ZIP_CODE"), "ADDRESS"),
    "GPE": "LOCATION",
    "PREFIX": "TITLE",
    "DOMAIN_NAME": "URL",
    "US_DRIVER_LICENSE": "ID",
    "US_SSN": "SSN",
    "EMAIL_ADDRESS": "EMAIL",
    "PHONE_NUMBER": "PHONE",
    "IBAN_CODE": "IBAN",
    "IP_ADDRESS": "IP",
}
STRUCTURED = ("CREDIT_CARD", "PHONE", "EMAIL", "SSN", "IBAN", "IP", "ID")
CASES: dict[str, Callable[[str], str]] = {"original": str, "lower": str.lower, "upper": str.upper}
Found = tuple[int, int, str]
Finder = Callable[[str], list[Found]]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text, its labelled spans as (start, end, sort), and the number of the template that it was made from."""

    text: str
    spans: tuple[Found, ...]
    template: int


def read(path: Path, rows: int) -> Iterator[Labelled]:
    """The first rows of a file that are clean as they are; a span whose place does not hold its value is left out."""
    for row in islice(json_lines(path), rows):
        text: str = row["full_text"]
        spans = ((span["start_position"], span["end_position"], span) for span in row["spans"])
        found = [
            (start, end, SORTS.get(span["entity_type"], span["entity_type"]))
            for start, end, span in spans
            if text[start:end] == span["entity_value"]
        ]
        if clean(text) == text:
            yield Labelled(text, tuple(found), row["template_id"])


def run(bench: Bench) -> None:
    """Measure finders and type masking on the labelled sets."""
    models = load_models(bench.settings.models, fedrag_home(bench.settings.home))
    kept = bench.rows("rows", models.pipeline.id)
    finders = {"plain": plain(models.pipeline), "analyser": analyser(models.pipeline)}
    finders |= {f"type masking, {case}": masked(models.pipeline, change) for case, change in CASES.items()}
    taken = bench.sized(ROWS, 3)
    told: list[Row] = []
    for file in FILES:
        texts = list(read(bench.data() / f"{file}.jsonl.gz", taken))
        for name, find in finders.items():
            change = CASES.get(name.removeprefix("type masking, "), str)
            told.append(kept.row(f"{file} {taken} {name}", measure, file, name, texts, find, change))
            bench.tell(f"{file}: {name}")
    bench.table("recall", recall(told), "Hidden spans by set.")
    bench.table("types", by_type(told), "Hidden spans by type, all sets.")


def plain(pipeline: Pipeline) -> Finder:
    """Presidio as it comes, over the same spaCy pipeline."""
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    stay_offline()
    engine = SpacyNlpEngine([{"lang_code": "en", "model_name": pipeline.id}])
    engine.nlp = {"en": pipeline.language}  # type: ignore[assignment, unused-ignore]
    presidio = AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
    return lambda text: [
        (result.start, result.end, SORTS.get(result.entity_type, result.entity_type))
        for result in sorted(presidio.analyze(text, "en"), key=lambda result: result.score)
    ]


def analyser(pipeline: Pipeline) -> Finder:
    """The project's, for all types."""
    found = PersonalDataAnalyser(pipeline, (*PERSONAL_TYPES, *FURTHER_TYPES))
    return lambda text: [(span.start, span.end, span.type) for span in found.find(text)]


def masked(pipeline: Pipeline, change: Callable[[str], str]) -> Finder:
    """Type masking of each text alone, as if it were all that a device has."""

    def find(text: str) -> list[Found]:
        shown = change(text)
        [bundle] = TypeMasking(pipeline).operate([Bundle((shown,))])
        return places(shown, bundle.prose[0])

    return find


def places(text: str, masked_text: str) -> list[Found]:
    """Where a text was masked, by what is left of it."""
    literals = PLACEHOLDER.split(masked_text)
    match = re.fullmatch("(.+?)".join(f"({re.escape(literal)})" for literal in literals), text, re.DOTALL)
    if match is None:
        raise ValueError("the masked text is not the text with parts replaced")
    kinds = [found.strip("[]") for found in PLACEHOLDER.findall(masked_text)]
    return [(*match.span(2 * number + 2), kind) for number, kind in enumerate(kinds)]


def measure(file: str, name: str, texts: Sequence[Labelled], find: Finder, change: Callable[[str], str]) -> Row:
    """Spans and hidden spans by sort, of all templates and of those of odd number; masked and right characters."""
    counts: Counter[str] = Counter()
    for labelled in texts:
        text = change(labelled.text)
        if len(text) != len(labelled.text) or clean(text) != text:
            continue  # a few letters become two in upper case: the labels would point elsewhere
        telling = np.array([char.isalnum() for char in text], dtype=np.bool_)
        masked, marked = np.zeros(len(text), dtype=np.bool_), np.zeros(len(text), dtype=np.bool_)
        for start, end, _ in find(labelled.text):
            masked[start:end] = True
        parts = ("all", "odd") if labelled.template % 2 else ("all",)
        for start, end, sort in labelled.spans:
            marked[start:end] = True
            hidden = bool((masked | ~telling)[start:end].all())
            for part in parts:
                counts.update({f"{part} spans {sort}": 1, f"{part} hidden {sort}": int(hidden)})
        for part in parts:
            counts[f"{part} masked"] += int((masked & telling).sum())
            counts[f"{part} right"] += int((masked & telling & marked).sum())
    return {"data": file, "system": name, **counts}


def _shares(rows: Iterable[Row], part: str, sorts: Iterable[str] | None = None) -> tuple[int, int]:
    """Hidden spans and spans of some sorts; of all without any."""
    hidden = spans = 0
    for row in rows:
        for key, count in row.items():
            sort = key.removeprefix(f"{part} spans ")
            if sort != key and (sorts is None or sort in sorts):
                hidden, spans = hidden + int(row[f"{part} hidden {sort}"]), spans + int(count)
    return hidden, spans


def recall(rows: Sequence[Row]) -> DataFrame:
    """One line for each set, system and part: recall of all sorts, of persons and of structured identifiers."""
    lines = []
    for row in rows:
        for part, said in (("all", "all"), ("odd", "held-out templates")):
            hidden, spans = _shares([row], part)
            low, high = share_interval(hidden, spans)
            persons, structured = (_shares([row], part, sorts) for sorts in (("PERSON",), STRUCTURED))
            line = {"data": row["data"], "system": row["system"], "templates": said, "spans": spans}
            line["recall"] = f"{hidden / max(1, spans):.3f} [{low:.3f}, {high:.3f}]"
            precision = row.get(f"{part} right", 0), row.get(f"{part} masked", 0)
            for name, (one, of) in {"persons": persons, "structured": structured, "precision": precision}.items():
                line[name] = round(one / max(1, of), 3)
            lines.append(line)
    return pd.DataFrame(lines)


def by_type(rows: Sequence[Row]) -> DataFrame:
    """Recall by type over all sets together, a column for each system."""
    lines = []
    for sort in sorted({key.split()[-1] for row in rows for key in row if key.startswith("all spans ")}):
        line: dict[str, object] = {"type": sort}
        for system in dict.fromkeys(str(row["system"]) for row in rows):
            hidden, spans = _shares([row for row in rows if row["system"] == system], "all", (sort,))
            line |= {"spans": spans, system: round(hidden / max(1, spans), 3)}
        lines.append(line)
    return pd.DataFrame(lines).sort_values("spans", ascending=False)
