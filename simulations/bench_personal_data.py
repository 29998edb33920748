"""Personal data that is hidden: plain Presidio against Presidio with this project's recognisers, by entity type.

    python simulations/bench_personal_data.py --data FOLDER [--rows 100] [--out docs/benchmarks]

FOLDER holds the three labelled sets (default: $FEDRAG_DATA). Both read with the same spaCy pipeline and look for the
same types. A labelled span is found when no letter or digit of it is left. Precision is the share of the masked letters
and digits that are labelled, whatever their type. Rules were written with rows of templates of even number at hand, so
rows of odd ones are counted apart. Writes ``personal_data.json`` and prints Markdown; counts only, never a text.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields

from fedrag_flwr.evaluation import share_interval
from fedrag_flwr.privacy.analyser import FURTHER_TYPES, PERSONAL_TYPES, PersonalDataAnalyser, stay_offline
from fedrag_flwr.privacy.normalise import clean
from fedrag_flwr.text import SpacyPipeline
from fedrag_flwr.text.base import Pipeline
from simulations.corpora.labelled_texts import Labelled, arguments, read
from simulations.reporting.privacy_table import markdown

FILES = ("presidio_generated_small", "presidio_generated_large", "presidio_synth_v2")
ALL = "all"
SORTS = {  # one name for what the sets call by several
    "STREET_ADDRESS": "ADDRESS",
    "ZIP_CODE": "ADDRESS",
    "GPE": "LOCATION",
    "PREFIX": "TITLE",
    "EMAIL_ADDRESS": "EMAIL",
    "PHONE_NUMBER": "PHONE",
    "IBAN_CODE": "IBAN",
    "US_SSN": "SSN",
    "IP_ADDRESS": "IP",
    "DOMAIN_NAME": "URL",
    "US_DRIVER_LICENSE": "ID",
}
Found = tuple[int, int, str]
Finder = Callable[[str], list[Found]]


@dataclass(slots=True)
class Score:
    """Spans and hidden spans by sort, and masked letters and digits with those that are labelled."""

    spans: Counter[str] = field(default_factory=Counter)
    hidden: Counter[str] = field(default_factory=Counter)
    masked: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def take(self, labelled: Labelled, found: Iterable[Found]) -> None:
        """Count one text."""
        text = labelled.text
        left = [char.isalnum() for char in text]
        marked = [False] * len(text)
        by = [""] * len(text)
        for start, end, sort in found:
            left[start:end] = [False] * (end - start)
            by[start:end] = [sort] * (end - start)
        for start, end, name in labelled.spans:
            sort = SORTS.get(name, name)
            marked[start:end] = [True] * (end - start)
            for counted in (sort, ALL):
                self.spans[counted] += 1
                self.hidden[counted] += not any(left[start:end])
        for char, sort, is_labelled in zip(text, by, marked, strict=True):
            for counted in (sort, ALL) if sort and char.isalnum() else ():
                self.masked[counted] += 1
                self.right[counted] += is_labelled

    @property
    def recall(self) -> float:
        return self.hidden[ALL] / max(1, self.spans[ALL])

    @property
    def precision(self) -> float:
        return self.right[ALL] / max(1, self.masked[ALL])

    @property
    def f2(self) -> float:
        """Recall weighs four times as much as precision."""
        return 5 * self.precision * self.recall / max(1e-9, 4 * self.precision + self.recall)


def plain(pipeline: Pipeline) -> Finder:
    """Presidio as it comes, over the same spaCy pipeline."""
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    stay_offline()
    engine = SpacyNlpEngine([{"lang_code": "en", "model_name": pipeline.id}])
    engine.nlp = {"en": pipeline.language}  # type: ignore[assignment, unused-ignore]
    analyser = AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
    return lambda text: [
        (result.start, result.end, SORTS.get(result.entity_type, result.entity_type))
        for result in sorted(analyser.analyze(text, "en"), key=lambda result: result.score)
    ]


def ours(pipeline: Pipeline) -> Finder:
    """Presidio with this project's recognisers, for all types."""
    analyser = PersonalDataAnalyser(pipeline, (*PERSONAL_TYPES, *FURTHER_TYPES))
    return lambda text: [(span.start, span.end, span.type) for span in analyser.find(text)]


def measure(texts: Sequence[Labelled], find: Finder) -> dict[str, Score]:
    """Score a finder over all texts, and over those of held-out templates."""
    scores = {"all rows": Score(), "held-out templates": Score()}
    for labelled in texts:
        start = time.perf_counter()
        found = find(labelled.text)
        seconds = time.perf_counter() - start
        for name in ("all rows", *(["held-out templates"] if labelled.template % 2 else [])):
            scores[name].take(labelled, found)
            scores[name].seconds += seconds
    return scores


def totals(results: dict[str, dict[str, dict[str, Score]]]) -> list[str]:
    """Recall, precision and F2 of each set, as a Markdown table."""
    rows = []
    for data, systems in results.items():
        for part in ("all rows", "held-out templates"):
            for system, scores in systems.items():
                score = scores[part]
                low, high = share_interval(score.hidden[ALL], score.spans[ALL])
                share = f"{score.recall:.3f} [{low:.3f}, {high:.3f}]"
                numbers = (share, f"{score.precision:.3f}", f"{score.f2:.3f}", f"{score.seconds:.1f}")
                rows.append([data, part, system, str(score.spans[ALL]), *numbers])
    return markdown(("data", "rows", "analyser", "spans", "recall", "precision", "F2", "seconds"), rows)


def by_sort(results: dict[str, dict[str, dict[str, Score]]]) -> list[str]:
    """Recall and precision by entity type over all three sets together, as a Markdown table."""
    names = list(next(iter(results.values())))
    together = {name: Score() for name in names}
    for systems in results.values():
        for name, total in together.items():
            score = systems[name]["all rows"]
            for counts, more in (
                *((total.spans, score.spans), (total.hidden, score.hidden)),
                *((total.masked, score.masked), (total.right, score.right)),
            ):
                counts.update(more)
    first = together[names[0]]
    rows = []
    for sort, count in first.spans.most_common():
        shares = [together[name].hidden[sort] / count for name in names]
        precise = [_share(together[name].right[sort], together[name].masked[sort]) for name in names]
        cells = [cell for share, right in zip(shares, precise, strict=True) for cell in (f"{share:.3f}", right)]
        rows.append([sort, str(count), *cells, f"{100 * (shares[1] - shares[0]):+.1f}"])
    heads = [f"{what}, {name}" for name in names for what in ("recall", "precision")]
    return markdown(("type", "spans", *heads, "points of recall"), rows)


def _share(part: int, of: int) -> str:
    return f"{part / of:.3f}" if of else "-"


def vars_of(score: Score) -> dict[str, object]:
    """A score's counts, to be written."""
    values = {name.name: getattr(score, name.name) for name in fields(score)}
    return {name: dict(value) if isinstance(value, Counter) else round(value, 2) for name, value in values.items()}


def main() -> None:
    """Measure both analysers on the three sets."""
    options = arguments(__doc__, FILES)
    pipeline = SpacyPipeline()
    finders = {"plain": plain(pipeline), "with own recognisers": ours(pipeline)}
    results: dict[str, dict[str, dict[str, Score]]] = {}
    for name in FILES:
        texts = [one for one in read(options.data / f"{name}.jsonl.gz", options.rows) if clean(one.text) == one.text]
        results[name] = {system: measure(texts, find) for system, find in finders.items()}
        print("\n".join(totals({name: results[name]})), flush=True)
    dumped = {
        data: {system: {part: vars_of(score) for part, score in scores.items()} for system, scores in systems.items()}
        for data, systems in results.items()
    }
    (options.out / "personal_data.json").write_text(json.dumps(dumped, indent=1) + "\n", encoding="utf-8")
    print("\n".join([*totals(results), "", *by_sort(results)]))


if __name__ == "__main__":
    main()
