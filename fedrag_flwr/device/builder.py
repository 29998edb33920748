"""Building a device's memory: what changed is read and learnt, and what that concerns is filtered anew."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from fedrag_flwr.errors import SourceError
from fedrag_flwr.hypergraph.base import Learning, LearningSettings, Units
from fedrag_flwr.hypergraph.learn import learn
from fedrag_flwr.hypergraph.update import update
from fedrag_flwr.memory.generate.candidates import Candidate, Candidates, Kept, memory_id, memory_of
from fedrag_flwr.memory.generate.generation import Generated, Prepared, generate, prepare
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Change, NewDocument, Rejected
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.processes import peak_rss_mb
from fedrag_flwr.records import NO_MEMORY, NOT_ENGLISH, BuildReport, Cost, Document, MemoryItem, Passage, Progress
from fedrag_flwr.settings import Settings
from fedrag_flwr.sources.base import Reading
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.language import ENGLISH, language_of
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.segment import document_of, under_title


def kept_of(
    store: MemoryStore,
    device: str,
    sentences: Units,
    gone: Collection[str],
    again: Collection[str],
    *,
    stale: bool,
) -> Kept:
    """Read what a device holds that stays.

    Parameters
    ----------
    store
        As it is before the change.
    device
        The device's name.
    sentences
        The store's, with their vectors.
    gone
        Ids of documents of which the store's units are no more.
    again
        Ids of documents that the store holds and whose memories are still to be made.
    stale
        Whether documents came or went before without memories having been filtered by it.
    """
    by_model = store.written_by_model()
    items = [item for item in store.items(device) if item.id not in by_model]
    made = _candidates(items, kept=True) + _candidates(store.rejected(), kept=False)

    def goes(candidate: Candidate) -> bool:
        return any(document_of(unit) in gone for unit in candidate.support)

    return Kept(
        passages=[p for p in store.passages() if p.document_id not in gone and p.document_id not in again],
        candidates=made.where(lambda candidate: not goes(candidate)),
        gone=sentences.vectors[[row for row, unit in enumerate(sentences.ids) if document_of(unit) in gone]],
        gone_questions=[candidate.question for candidate in made.where(goes).items],
        stale=stale,
    )


def _candidates(made: Sequence[MemoryItem | Rejected], *, kept: bool) -> Candidates:
    if not made:
        return Candidates()
    return Candidates(
        tuple(Candidate(one.question, one.answer, one.kind, one.answer_type, one.support) for one in made),
        np.stack([one.embedding for one in made]),
        np.full(len(made), kept),
    )


MADE_WITH = "made-with"  # meta key: the settings that the memories were made with
OTHER_LANGUAGES = "other-languages"  # meta key: documents of which no memory is made, as they are not in English
MADE_OTHERWISE = "made-otherwise"  # meta key: documents that could not be read when those settings changed
GROUPINGS = {  # by the setting `hypergraph.grouping`; those but the first are for comparison
    "learned": LearningSettings(),
    "k-means": LearningSettings(candidates=1, steps=0),
    "random": LearningSettings(grouping="random"),
}
RELEARN_SHARE = 0.5  # with more of the units new than this, the hypergraph is learnt afresh


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """What a build makes and with which settings; `made_with` stands for all on which memories depend."""

    memories: bool
    learning: LearningSettings
    seed: int
    made_with: str

    @classmethod
    def of(cls, settings: Settings, memories: bool) -> BuildPlan:
        """The plan that a run's settings ask for."""
        learning = GROUPINGS[settings.hypergraph.grouping]
        told = json.dumps([asdict(learning), settings.seed], sort_keys=True)
        digest = hashlib.sha256(told.encode()).hexdigest()[:16]
        return cls(memories, learning, settings.seed, digest)


@dataclass(frozen=True, slots=True)
class _Difference:
    """How the documents differ from the store's."""

    added: tuple[Document, ...]
    changed: tuple[Document, ...]
    removed: tuple[str, ...]
    unremembered: tuple[str, ...]  # in the store, but without memories yet
    stale: bool  # documents came or went without memories having been filtered by it
    otherwise: frozenset[str]  # documents that stay as other settings made them, as they cannot be read now

    @property
    def empty(self) -> bool:
        return not (self.added or self.changed or self.removed or self.unremembered or self.stale)

    @property
    def gone(self) -> frozenset[str]:
        """The documents of which the store's units are no more."""
        return frozenset((*self.removed, *(document.id for document in self.changed)))


def difference(reading: Reading, store: MemoryStore, plan: BuildPlan) -> _Difference:
    """Compare documents with a store by their digests; one that is there, but cannot be read now, is not removed;
    raises SourceError where a document is gone, and what cannot be read now may be it.

    All have changed where memories are asked for and the store's were made with other settings; those that cannot be
    read now will have when they can.
    """
    known = store.digests()
    anew = plan.memories and store.meta(MADE_WITH) not in (None, plan.made_with)
    present = {document.id: document for document in reading.documents}
    unread = {failure.document_id for failure in reading.failures}
    otherwise = frozenset((store.meta(MADE_OTHERWISE) or "").split("\n")) & known.keys()
    if anew:
        otherwise |= unread & known.keys()
    stale = present.keys() if anew else otherwise if plan.memories else frozenset()
    changed = {i for i, document in present.items() if i in known and (i in stale or known[i] != document.digest)}
    waiting = set(store.documents_without_memories()) if plan.memories else set()
    removed = known.keys() - present.keys() - unread
    nameless = [one for one in reading.failures if one.guessed and one.document_id not in known]
    if removed and nameless:
        first = nameless[0]
        raise SourceError(
            f"{first.reason}: what was not read may be one of {len(removed)} documents that are not there now",
            where=first.name,
            fix="mend that, or take it out if its document is meant to go",
        )
    return _Difference(
        added=tuple(document for i, document in present.items() if i not in known),
        changed=tuple(present[i] for i in sorted(changed)),
        removed=tuple(sorted(removed)),
        unremembered=tuple(sorted((waiting & present.keys()) - changed)),
        stale=plan.memories and not store.judged(),
        otherwise=otherwise - present.keys(),
    )


def _made_with(plan: BuildPlan, changed: _Difference) -> dict[str, str]:
    return {MADE_WITH: plan.made_with, MADE_OTHERWISE: "\n".join(sorted(changed.otherwise))}


@dataclass(frozen=True, slots=True)
class _Read:
    """A document with the vectors of its units, and as generation takes it."""

    new: NewDocument
    prepared: Prepared


@dataclass(frozen=True, eq=False)
class Builder:
    """Brings one store up to date with what a source holds, in one transaction. `parsed` is told each document as it is
    parsed for memories, so that nobody parses it again.
    """

    device: str  # the device's name
    store: MemoryStore
    encoder: Encoder
    pipeline: Pipeline
    parsed: Callable[[Document, Sequence[ParsedPassage]], None] | None = None

    def build(self, reading: Reading, plan: BuildPlan, progress: Progress) -> BuildReport:
        """Read what is new, learn the hypergraph, make memories, and write all of it at once. Where memories are asked
        for, every report names all documents in the store that have none.
        """
        start = time.perf_counter()
        changed = difference(reading, self.store, plan)
        if changed.empty:
            return self._report(reading, changed, plan, _Made(), Cost(seconds=time.perf_counter() - start))
        read = list(self._read((*changed.added, *changed.changed), plan, progress))
        empty = tuple(one.new.document.id for one in read if not one.new.passages)
        fresh = [one for one in read if one.new.passages]
        changed = replace(changed, added=tuple(d for d in changed.added if d.id not in empty))
        if changed.empty:
            return self._report(reading, changed, plan, _Made(empty=empty), Cost(seconds=time.perf_counter() - start))
        known = self.store.digests()
        made = self._remember(changed, fresh, plan, progress) if plan.memories else _Made()
        progress("store", 0, 1)
        self.store.apply(
            Change(
                removed=(*changed.removed, *(i for i in empty if i in known)),
                documents=tuple(one.new for one in fresh),
                hyperedges=made.learning.hyperedges if made.learning else None,
                items=made.items,
                remembered=made.remembered,
                held=made.held,
                withdrawn=made.withdrawn,
                judged=plan.memories,
                meta=_made_with(plan, changed) | self._languages(changed, made) if plan.memories else {},
            )
        )
        progress("store", 1, 1)
        cost = Cost(seconds=time.perf_counter() - start)
        return self._report(reading, changed, plan, replace(made, empty=empty), cost)

    # --- steps ----------------------------------------------------------------------------------

    def _read(self, documents: Sequence[Document], plan: BuildPlan, progress: Progress) -> Iterable[_Read]:
        for document, prepared in zip(documents, self._prepared(documents, plan, progress), strict=True):
            passages = prepared.passages
            paragraphs = self.encoder.encode([under_title(p.title, p.text) for p in passages])
            sentences = self.encoder.encode([under_title(p.title, s.text) for p in passages for s in p.sentences])
            yield _Read(NewDocument(document, passages, paragraphs, sentences), prepared)

    def _prepared(self, documents: Sequence[Document], plan: BuildPlan, progress: Progress) -> Iterable[Prepared]:
        """Parse documents one after another, and let the templates read each before the next."""
        total = len(documents)
        progress("read", 0, total)
        for done, parsed in enumerate(self.pipeline.parse(documents), start=1):
            if plan.memories and self.parsed is not None:
                self.parsed(documents[done - 1], parsed)
            if plan.memories and language_of(documents[done - 1].text) == ENGLISH:  # the templates are for no other
                progress("generate", done - 1, total)
                prepared = prepare(parsed)
                progress("generate", done, total)
            else:
                prepared = Prepared(tuple(part.passage for part in parsed), english=not plan.memories)
            progress("read", done, total)
            yield prepared

    def _remember(self, changed: _Difference, fresh: Sequence[_Read], plan: BuildPlan, progress: Progress) -> _Made:
        again = [self.store.document(document_id) for document_id in changed.unremembered]
        prepared = [read.prepared for read in fresh]
        if again:  # else the progress of reading would begin anew
            prepared += self._prepared(again, plan, progress)
        held = self.store.units("sentence")
        paragraphs = _with_fresh(self.store.units("paragraph"), fresh, changed.gone)
        sentences = _with_fresh(held, fresh, changed.gone)
        progress("learn", 0, 1)
        learning = self._learn((paragraphs, sentences), [one for read in prepared for one in read.passages], plan)
        progress("learn", 1, 1)
        kept = kept_of(self.store, self.device, held, changed.gone, changed.unremembered, stale=changed.stale)
        generated = generate(self.encoder, prepared, sentences, progress, kept)
        progress("anchor", 0, 1)
        items = self._items(generated)
        progress("anchor", 1, 1)
        return _Made(
            learning,
            generated,
            items,
            remembered=tuple(passage.document_id for read in prepared for passage in read.passages[:1]),
            foreign=tuple(read.passages[0].document_id for read in prepared if read.passages and not read.english),
            held=tuple(self._rejected(generated)),
            withdrawn=tuple(memory_id(self.device, candidate) for candidate in generated.withdrawn),
        )

    def _learn(self, units: Sequence[Units], new: Iterable[Passage], plan: BuildPlan) -> Learning:
        added = {unit_id for passage in new for unit_id in (passage.id, *(one.id for one in passage.sentences))}
        rng = np.random.default_rng(plan.seed)
        previous = self.store.hyperedges()
        if (
            not previous
            or plan.learning.grouping == "random"
            or len(added) > RELEARN_SHARE * sum(len(group.ids) for group in units)
        ):
            return learn(units, plan.learning, rng)
        return update(previous, units, sorted(added), plan.learning, rng)

    def _items(self, generated: Generated) -> tuple[MemoryItem, ...]:
        analyses = self.pipeline.questions([candidate.question for candidate in generated.memories])
        made = zip(generated.memories, generated.vectors, analyses, strict=True)
        items = (memory_of(self.device, *one) for one in made)
        return tuple({item.id: item for item in items}.values())

    def _rejected(self, generated: Generated) -> Iterable[Rejected]:
        for candidate, vector in zip(generated.held.items, generated.held.vectors, strict=True):
            said = (candidate.question, candidate.answer, candidate.kind, candidate.answer_type, candidate.support)
            yield Rejected(memory_id(self.device, candidate), *said, embedding=vector)

    def _barren(self) -> Iterable[str]:
        """The documents on which no memory rests, with the reason where it is known."""
        foreign = other_languages(self.store)
        return (f"{one}: {NOT_ENGLISH if one in foreign else NO_MEMORY}" for one in self.store.barren_documents())

    def _languages(self, changed: _Difference, made: _Made) -> dict[str, str]:
        """Which documents are not in English now: those that were and stay, and of the new ones those that are not."""
        foreign = other_languages(self.store) - changed.gone | frozenset(made.foreign)
        return {OTHER_LANGUAGES: "\n".join(sorted(foreign - {""}))}

    def _report(self, reading: Reading, changed: _Difference, plan: BuildPlan, made: _Made, cost: Cost) -> BuildReport:
        counts = self.store.counts()
        skips = Counter(one.reason for one in reading.skipped)
        failed = [
            # whoever hides the name takes what stands before the last colon for it
            *(f"{failure.name}: {failure.reason.replace(': ', ' ')}" for failure in reading.failures),
            *(f"{document}: no sentence" for document in made.empty),
            *(self._barren() if plan.memories else ()),
        ]
        return BuildReport(
            device=self.device,
            version=self.store.version,
            documents=counts.documents,
            added=len(changed.added),
            changed=len(changed.changed),
            removed=len(changed.removed),
            passages=counts.passages,
            sentences=counts.sentences,
            hyperedges=counts.hyperedges,
            orphans=made.learning.orphans if made.learning else 0,
            items=counts.items,
            corpus_tokens=made.generated.corpus_tokens,
            failed=tuple(failed),
            rejects=tuple(f"{reason}={count}" for reason, count in sorted(made.generated.rejected.items())),
            cost=cost,
            peak_rss_mb=peak_rss_mb(),
            state=self.store.state(),
            files=reading.files,
            skip_counts=tuple(f"{reason}={count}" for reason, count in sorted(skips.items())),
            skipped=tuple(f"{one.name}: {one.reason}" for one in reading.skipped),
        )


def other_languages(store: MemoryStore) -> frozenset[str]:
    """The ids of documents that are not in English, and of which no memory is made."""
    return frozenset((store.meta(OTHER_LANGUAGES) or "").split("\n"))


def _with_fresh(held: Units, fresh: Sequence[_Read], gone: Collection[str]) -> Units:
    """The units that the store will hold: of those it holds the ones that stay, and the new ones."""
    rows = [row for row, unit_id in enumerate(held.ids) if document_of(unit_id) not in gone]
    ids = [held.ids[row] for row in rows]
    vectors = [held.vectors[rows]]
    for read in fresh:
        if held.granularity == "paragraph":
            ids += [passage.id for passage in read.new.passages]
            vectors.append(read.new.paragraph_vectors)
        else:
            ids += [sentence.id for passage in read.new.passages for sentence in passage.sentences]
            vectors.append(read.new.sentence_vectors)
    return Units(held.granularity, tuple(ids), np.concatenate(vectors).astype(np.float32))


@dataclass(frozen=True, slots=True)
class _Made:
    """What a build made besides units."""

    learning: Learning | None = None
    generated: Generated = field(default_factory=Generated)
    items: tuple[MemoryItem, ...] = ()
    remembered: tuple[str, ...] = ()
    held: tuple[Rejected, ...] = ()
    withdrawn: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()  # documents that are not in English
    empty: tuple[str, ...] = ()  # documents without a single sentence
