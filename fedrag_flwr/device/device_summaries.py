"""What a device says to a question of all: its sources' hits, de-identified, from its cache where it has them."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from pydantic import TypeAdapter

from fedrag_flwr.caching import AssociationGraph, CacheKeys, Tier
from fedrag_flwr.caching.fusion import decoded
from fedrag_flwr.device.releases import Releases
from fedrag_flwr.errors import PrivacyError, SourceError
from fedrag_flwr.privacy.known_names import lead_digests
from fedrag_flwr.privacy.released_words import ReleasedWords
from fedrag_flwr.records import AskedQuestion, EvidenceUnit, HitsBatch, HitsRequest, HitSummary
from fedrag_flwr.sources.base import SearchableSource, SourceHit
from fedrag_flwr.text.words import normalise_line

_SUMMARY = TypeAdapter(HitSummary)
_MOST_REMOVED = 64
_MOST_ROUNDS = 8  # a round teaches names, and each may teach more
_MOST_TITLE = 200
_WARMING = "What is here?"  # a search that makes what the next ones need
_UNTELLING = frozenset({"CONCEPT", "CARDINAL", "ORDINAL", "PERCENT", "YEAR", "DATE", "TIME", "QUANTITY", "MONEY"})


class DeviceSummaries:
    """Answers a round's questions with what the device's sources hold on them (HyFedRAG 3.1, stages 1 and 2)."""

    def __init__(self, releases: Releases, source: SearchableSource, folder: Path) -> None:
        self._device = releases.device
        self._source = source
        self._store = releases.store
        self._releases = releases
        self._folder = folder
        self._graph: tuple[int, AssociationGraph, dict[str, str]] | None = None

    def close(self) -> None:
        """Close the cache, if it was opened."""
        for part in ("_tier", "_released"):
            if part in self.__dict__:
                getattr(self, part).close()

    def sweep(self) -> None:
        """Drop summaries of records as they were before, where any are kept; all, where a source cannot be asked."""
        if not (self._folder / "summaries").is_dir():
            return
        try:
            version = self.version()
        except SourceError:
            self.forget()
        else:
            self._tier.purge({self._device: version})

    def forget(self) -> None:
        """Empty the cache."""
        self._tier.clear()

    @cached_property
    def _keys(self) -> CacheKeys:
        return CacheKeys(self._folder)

    @cached_property
    def _tier(self) -> Tier:
        return Tier(self._folder / "summaries", self._releases.settings.caching.bytes)

    @cached_property
    def _released(self) -> ReleasedWords:
        return ReleasedWords(self._folder / "released.sqlite")

    def answer(self, request: HitsRequest) -> HitsBatch:
        """Summaries for all questions of a round, with the version that they are of.

        Where a name that the filter learns on the way may stand in a summary that was made before, all are made anew. A
        record that changes meanwhile does not matter: the next round has another version.

        Raises PrivacyError where this device lets nobody look its records up: a name in a question finds what is
        written of it. SourceError where a source cannot be asked, or tells of ever more names.
        """
        if not self._releases.settings.privacy.lookup:
            raise PrivacyError(
                "this device lets nobody look its records up", where=self._device, fix="its operator may: lookup = true"
            )
        start = time.perf_counter()
        self._releases.inform()
        if not request.questions:  # a round is to come: its first question does not wait for an index
            with suppress(SourceError):  # then the questions say so
                self._source.search(_WARMING, 1)
        for _ in range(_MOST_ROUNDS):
            rules = self._rules()
            version = self._version(*rules)
            self._tier.purge({self._device: version})
            made = [self._summary(question, request, version) for question in request.questions]
            if self._rules() == rules:
                break
        else:
            raise SourceError("names are learnt faster than summaries are made", where="caching", fix="ask again later")
        reused = sum(was_cached for _, was_cached in made)
        seconds = time.perf_counter() - start
        return HitsBatch(self._device, version, tuple(summary for summary, _ in made), reused, seconds)

    def version(self) -> str:
        """What changes with the records, the export filter's rules, and names learnt that what was told may hold."""
        return self._version(*self._rules())

    def _version(self, *rules: str) -> str:
        """Under such rules: hits come from the sources as they are now, related titles from what the store holds."""
        return self._keys.of("version", self._source.version(), self._store.state(), *rules)

    def _rules(self) -> tuple[str, str]:
        """What changes with the export filter's rules, and with names learnt that what was told may hold."""
        return self._releases.generation(), self._released.age(self._releases.export.names.leads())

    def _summary(self, question: AskedQuestion, request: HitsRequest, version: str) -> tuple[HitSummary, bool]:
        asked = normalise_line(question.text)
        key = self._keys.of("summary", asked.casefold(), str(request.records), str(request.related))
        versions = {self._device: version}
        if (cached := decoded(_SUMMARY, self._tier.get(key, versions))) is not None:
            return replace(cached, question_id=question.id), True
        hits = self._source.search(asked, request.records)
        known = self._releases.export.names.leads()
        released = self._releases.export.release_evidence([self._unit(hit) for hit in hits], asked)
        removed = tuple(f"{kind}={count}" for kind, count in Counter(released.removed).most_common(_MOST_REMOVED))
        related = self._related(hits, request.related)
        told = " ".join((*(f"{one.title} {one.text}" for one in released.items), *related))
        self._released.add(lead_digests(told), known)
        summary = HitSummary(question.id, released.items, removed, related)
        self._tier.put(key, _SUMMARY.dump_json(replace(summary, question_id="")), versions)
        return summary, False

    def _unit(self, hit: SourceHit) -> EvidenceUnit:
        score = min(1.0, max(-1.0, hit.score))
        return EvidenceUnit(_record_id(hit.document_id), hit.text, self._device, score, hit.title)

    # --- what may be asked next ---------------------------------------------------------------------

    def _related(self, hits: Sequence[SourceHit], most: int) -> tuple[str, ...]:
        """Titles of records that share entities with the hits, as the export filter lets them leave."""
        if not most or not hits:
            return ()
        graph, titles = self._associations()
        said = {hit.document_id for hit in hits}
        near = [name for hit in hits for name in graph.neighbours(hit.document_id) if name not in said]
        chosen = [name for name in dict.fromkeys(near) if titles.get(name)][:most]
        units = [EvidenceUnit(_record_id(name), titles[name], self._device, 0.0) for name in chosen]
        released = self._releases.export.release_evidence(units).items
        return tuple(
            dict.fromkeys(unit.text[:_MOST_TITLE] for unit in released)
        )  # half a name is none to the export filter

    def _associations(self) -> tuple[AssociationGraph, dict[str, str]]:
        """The association graph over the store's present version, and the records' titles."""
        if self._graph is None or self._graph[0] != self._store.version:
            entities: dict[str, set[str]] = {}
            titles: dict[str, str] = {}
            for passage in self._store.passages():
                own = entities.setdefault(passage.document_id, set())
                own.update(fact.anchor for fact in passage.facts if fact.anchor and fact.type not in _UNTELLING)
                titles.setdefault(passage.document_id, passage.title)
            self._graph = (self._store.version, AssociationGraph.of(entities), titles)
        return self._graph[1], self._graph[2]


def _record_id(document_id: str) -> str:
    """An own id for a record that is no id of the store's own units."""
    return f"record:{hashlib.sha256(document_id.encode()).hexdigest()[:32]}"
