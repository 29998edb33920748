"""One change of a store, within the caller's transaction."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import StoreError
from fedrag_flwr.hypergraph.base import content_id as hyperedge_id
from fedrag_flwr.memory.store import item_rows, queries
from fedrag_flwr.memory.store.change import Change, NewDocument, check_place, check_units, check_vectors, missing
from fedrag_flwr.memory.store.queries import LISTED
from fedrag_flwr.memory.store.schema import MENDED, checksum, pack_facts, pack_names, pack_vector, unpack_vectors
from fedrag_flwr.records import Hyperedge, MemoryItem, Passage, Sentence

LONGEST_JUMP = 2**18  # on the wire a version has 40 bits: some eight million changes of a store


def jump() -> int:
    """By how much the next version is higher than the last: a number that nobody can tell beforehand.

    A store that is put back from a backup counts on from an older version. By steps of one it would come to numbers
    that others know for what it held before. So versions jump, and only one that this very store gave counts as known.
    """
    return 1 + secrets.randbelow(LONGEST_JUMP)


class Writer:
    """Writes one change; every row that it adds carries the version that the store will have.

    With `passes_on` what others share goes on from here, so that it is told, too, where they withdraw it.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        device: str,
        dimension: int,
        *,
        passes_on: bool = False,
    ) -> None:
        self._connection = connection
        self._device = device
        self._dimension = dimension
        self._passes_on = passes_on
        self._version_before = queries.version(connection)
        self._version = self._version_before + jump()
        self._rows_before = connection.total_changes
        self.removed = 0  # memories of other origins that went or were replaced

    def apply(self, change: Change) -> int:
        """Write a change and give the store's version."""
        regroups = bool(change.removed or change.documents) or change.hyperedges is not None
        edges_before = item_rows.derived_hyperedges(self._connection) if regroups else {}
        gone = self._remove_documents([*change.removed, *(new.document.id for new in change.documents)], change)
        for new in change.documents:
            self._add_document(new)
        self._forget_ids(gone)
        if change.hyperedges is not None:
            self._replace_hyperedges(change.hyperedges)
        self._withdraw_own(change.withdrawn)
        by_model = frozenset(change.by_model)
        for item in change.items:
            self._put_own(item, by_model=item.id in by_model)
        self._put_asked(change.asked)
        for held in change.held:
            item_rows.put_rejected(self._connection, self._dimension, held)
        item_rows.check_apart(self._connection)
        self._mark_judged(change)
        self._mark_remembered(change.remembered)
        if regroups:
            self._touch_regrouped(edges_before)
        return self.settle()

    def retract_foreign(self, ids: Sequence[str]) -> int:
        """Delete memories of other origins, and remember it where they were passed on; give how many there were."""
        listed = (queries.listed(ids),)
        if self._passes_on:
            self._withdraw(f"+own = 0 AND id {LISTED}", listed)
        gone = self._connection.execute(f"DELETE FROM items WHERE +own = 0 AND id {LISTED}", listed).rowcount
        self.removed += gone
        return gone

    def put_foreign(self, item: MemoryItem, there: MemoryItem | None) -> None:
        """Put a memory of another origin in the place of what is there; nothing is written where the two are equal."""
        if there is not None and there.hyperedges == item.hyperedges and same_item(item, there):
            return
        if there is not None:
            self._connection.execute("DELETE FROM items WHERE id = ?", (item.id,))
            self.removed += 1
        self._connection.execute("DELETE FROM retractions WHERE id = ?", (item.id,))
        self.insert_item(item, own=False)

    def recall(self, ids: Sequence[str]) -> None:
        """List own memories as withdrawn, and as changed: who had one forgets it, and gets what it now is."""
        numbers = (
            queries.listed(
                self._numbers(f"SELECT number FROM items WHERE own = 1 AND id {LISTED}", (queries.listed(ids),))
            ),
        )
        self._withdraw(f"number {LISTED}", numbers)
        self._connection.execute(f"UPDATE items SET version = ? WHERE number {LISTED}", (self._version, *numbers))

    def settle(self) -> int:
        """Give the store's version: a higher one than before, or the same where no row differs."""
        if self._connection.total_changes == self._rows_before:
            return self._version_before
        self._connection.execute("UPDATE state SET value = ? WHERE key = 'version'", (str(self._version),))
        return self._version

    # --- documents ---

    def _remove_documents(self, ids: Sequence[str], change: Change) -> list[str]:
        """Take documents out with all that rests on them, and give their ids and those of their units."""
        numbers = [
            number
            for (number,) in self._connection.execute(
                f"SELECT number FROM documents WHERE id {LISTED}", (queries.listed(ids),)
            )
        ]
        if not numbers:
            return []
        gone = (queries.listed(numbers),)
        units = [
            name
            for (name,) in self._connection.execute(f"SELECT id FROM units WHERE document {LISTED}", gone).fetchall()
        ]
        item_rows.drop_rejected_of(self._connection, numbers)
        self._retract(
            "SELECT DISTINCT s.item FROM support s JOIN units u ON u.number = s.unit"
            f" WHERE u.document {LISTED} ORDER BY s.item",
            gone,
        )
        torn = self._numbers(
            f"SELECT DISTINCT m.hyperedge FROM members m JOIN units u ON u.number = m.unit WHERE u.document {LISTED}",
            gone,
        )
        self._connection.execute(f"DELETE FROM documents WHERE number {LISTED}", gone)
        if change.hyperedges is None:
            self._mend_hyperedges(torn)
        return [*ids, *units]

    def _forget_ids(self, ids: Sequence[str]) -> None:
        """Keep no id, which holds a file's name, of a document or unit that is no more."""
        self._connection.execute(
            f"DELETE FROM opaque WHERE id {LISTED} AND id NOT IN (SELECT id FROM units UNION SELECT id FROM documents)",
            (queries.listed(ids),),
        )

    def _retract(self, statement: str, values: tuple[str, ...]) -> None:
        numbers = (queries.listed(self._numbers(statement, values)),)
        self._withdraw(f"number {LISTED}", numbers)
        self._connection.execute(f"DELETE FROM items WHERE number {LISTED}", numbers)

    def _withdraw(self, where: str, values: tuple[str]) -> None:
        self._connection.execute(
            f"INSERT OR REPLACE INTO retractions SELECT id, ?, own FROM items WHERE {where}",
            (self._version, *values),
        )

    def _numbers(self, statement: str, values: tuple[str, ...]) -> list[int]:
        return [number for (number,) in self._connection.execute(statement, values)]

    def _add_document(self, new: NewDocument) -> None:
        document = new.document
        sentences = [sentence for passage in new.passages for sentence in passage.sentences]
        check_vectors(self._dimension, new.paragraph_vectors, len(new.passages), document.id)
        check_vectors(self._dimension, new.sentence_vectors, len(sentences), document.id)
        columns = (document.id, document.title, document.text, document.digest)
        owner = self._insert(
            "INSERT INTO documents (id, title, text, digest, checksum) VALUES (?, ?, ?, ?, ?)",
            (*columns, checksum(*columns)),
        )
        row = 0
        for place, passage in enumerate(new.passages):
            check_place(passage, document.id)
            number = self._add_unit(passage, owner, None, place, new.paragraph_vectors[place])
            for inner, sentence in enumerate(passage.sentences):
                self._add_unit(sentence, owner, number, inner, new.sentence_vectors[row])
                row += 1

    def _add_unit(
        self, unit: Passage | Sentence, owner: int, passage: int | None, place: int, vector: NDArray[np.float32]
    ) -> int:
        grain = "paragraph" if isinstance(unit, Passage) else "sentence"
        title = unit.title if isinstance(unit, Passage) else ""
        texts = (unit.id, title, unit.text, pack_facts(() if isinstance(unit, Passage) else unit.facts))
        return self._insert(
            "INSERT INTO units (id, title, text, facts, granularity, document, passage, place, version, checksum,"
            " vector) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*texts, grain, owner, passage, place, self._version, checksum(*texts), pack_vector(vector)),
        )

    def _insert(self, statement: str, values: tuple[object, ...]) -> int:
        return int(self._connection.execute(statement, values).lastrowid or 0)

    def _mark_remembered(self, ids: Sequence[str]) -> None:
        if not ids:
            return
        known = {
            row[0]
            for row in self._connection.execute(f"SELECT id FROM documents WHERE id {LISTED}", (queries.listed(ids),))
        }
        absent = [document for document in ids if document not in known]
        if absent:
            raise missing("document", absent)
        self._connection.execute(
            f"UPDATE documents SET remembered = 1 WHERE remembered = 0 AND id {LISTED}", (queries.listed(ids),)
        )

    # --- hyperedges ---

    def _mend_hyperedges(self, numbers: Sequence[int]) -> None:
        """Take the units that went out of hyperedges; what others hold under the ids before leads to the new ones.

        It does so while the hyperedge before is away: where all of its units are there again, so may it be.
        """
        self._lead_on(dict(pair for number in numbers for pair in self._mend_hyperedge(number)))

    def _lead_on(self, renamed: Mapping[str, str]) -> None:
        """Let what others hold under ids before lead to those after."""
        self._connection.execute(
            "INSERT OR REPLACE INTO opaque SELECT ? || renamed.key, ?, renamed.value FROM json_each(?) AS renamed"
            " WHERE renamed.key IN (SELECT id FROM opaque)",
            (MENDED, MENDED, json.dumps(renamed)),
        )

    def _mend_hyperedge(self, number: int) -> list[tuple[str, str]]:
        """Make prototype and id of what is left, and give the id before with the new one.

        A hyperedge goes that is empty or holds what another one does.
        """
        [(before, grain)] = self._connection.execute(
            "SELECT id, granularity FROM hyperedges WHERE number = ?", (number,)
        ).fetchall()
        rows = self._connection.execute(
            "SELECT u.id, m.weight, u.vector FROM members m JOIN units u ON u.number = m.unit WHERE m.hyperedge = ?"
            " ORDER BY m.place",
            (number,),
        ).fetchall()
        name = hyperedge_id(grain, [row[0] for row in rows])
        known = self._connection.execute("SELECT number FROM hyperedges WHERE id = ?", (name,)).fetchone()
        if not rows or known is not None:
            self._connection.execute("DELETE FROM hyperedges WHERE number = ?", (number,))
            return [(before, name)] if rows else []
        weights = np.array([row[1] for row in rows], dtype=np.float64)
        vectors = unpack_vectors([row[2] for row in rows], self._dimension).astype(np.float64)
        prototype = (weights @ vectors / weights.sum()).astype(np.float32)
        self._connection.execute(
            "UPDATE hyperedges SET id = ?, prototype = ? WHERE number = ?", (name, pack_vector(prototype), number)
        )
        return [(before, name)]

    def _replace_hyperedges(self, edges: Sequence[Hyperedge]) -> None:
        there = {edge.id: edge for edge in queries.hyperedges(self._connection, self._dimension)}
        wanted = {edge.id for edge in edges}
        changed = [edge for edge in edges if edge.id not in there or not _same_edge(edge, there[edge.id])]
        gone = [edge for edge in there if edge not in wanted] + [edge.id for edge in changed if edge.id in there]
        if gone:
            self._connection.execute(f"DELETE FROM hyperedges WHERE id {LISTED}", (queries.listed(gone),))
        numbers = queries.unit_numbers(self._connection, {unit for edge in changed for unit in edge.members})
        for edge in changed:
            self._add_hyperedge(edge, numbers)
        self._lead_on(_heirs([edge for edge in there.values() if edge.id not in wanted], edges))

    def _add_hyperedge(self, edge: Hyperedge, numbers: dict[str, int]) -> None:
        check_vectors(self._dimension, edge.prototype[np.newaxis, :], 1, edge.id)
        if len(edge.members) != len(edge.weights):
            raise StoreError("a hyperedge has more members than weights, or fewer", where=edge.id)
        check_units(edge.members, numbers, edge.id)
        owner = self._insert(
            "INSERT INTO hyperedges (id, granularity, prototype) VALUES (?, ?, ?)",
            (edge.id, edge.granularity, pack_vector(edge.prototype)),
        )
        self._connection.executemany(
            "INSERT INTO members (hyperedge, place, unit, weight) VALUES (?, ?, ?, ?)",
            [
                (owner, place, numbers[unit], float(weight))
                for place, (unit, weight) in enumerate(zip(edge.members, edge.weights, strict=True))
            ],
        )

    def _touch_regrouped(self, before: dict[int, tuple[str, ...]]) -> None:
        """Give own items whose hyperedges changed the new version: they read differently from now on."""
        after = item_rows.derived_hyperedges(self._connection)
        touched = [number for number in before.keys() | after.keys() if before.get(number) != after.get(number)]
        if touched:
            self._connection.execute(
                f"UPDATE items SET version = ? WHERE version < ? AND number {LISTED}",
                (self._version, self._version, queries.listed(touched)),
            )

    # --- memories ---

    def _put_asked(self, asked: Mapping[str, int]) -> None:
        numbers = queries.unit_numbers(self._connection, asked)
        check_units(asked, numbers, "what the model was asked")
        self._connection.executemany(
            "INSERT OR REPLACE INTO asked (unit, tokens) VALUES (?, ?)",
            [(numbers[unit], tokens) for unit, tokens in asked.items()],
        )

    def _withdraw_own(self, ids: Sequence[str]) -> None:
        which = (queries.listed(ids),)
        self._retract(f"SELECT number FROM items WHERE own = 1 AND id {LISTED}", which)
        item_rows.drop_rejected(self._connection, ids)

    def _mark_judged(self, change: Change) -> None:
        if change.judged:
            self._connection.execute("DELETE FROM state WHERE key = 'stale'")
        elif self._connection.total_changes != self._rows_before and (change.removed or change.documents):
            self._connection.execute("INSERT OR IGNORE INTO state VALUES ('stale', '1')")

    def _put_own(self, item: MemoryItem, *, by_model: bool) -> None:
        check_vectors(self._dimension, item.embedding[np.newaxis, :], 1, item.id)
        if item.origin != self._device:
            raise StoreError("a memory of another origin came as an own one", where=item.id, fix="import it")
        if not item.support:
            raise StoreError("an own memory names no support", where=item.id, fix="give it the ids of its units")
        numbers = queries.unit_numbers(self._connection, item.support)
        check_units(item.support, numbers, item.id)
        there = item_rows.items(self._connection, self._dimension, ids=[item.id])
        if there and there[0].support == item.support and same_item(item, there[0]):
            self._connection.execute(
                "UPDATE items SET by_model = ? WHERE id = ? AND by_model != ?", (int(by_model), item.id, int(by_model))
            )
            return
        self._connection.execute("DELETE FROM items WHERE id = ?", (item.id,))
        self._connection.execute("DELETE FROM retractions WHERE id = ?", (item.id,))
        number = self.insert_item(item, own=True, by_model=by_model)
        self._connection.executemany(
            "INSERT INTO support (item, place, unit) VALUES (?, ?, ?)",
            [(number, place, numbers[unit]) for place, unit in enumerate(item.support)],
        )

    def insert_item(self, item: MemoryItem, *, own: bool, by_model: bool = False) -> int:
        """Insert a memory and give its row number; an own one's hyperedges are derived when it is read."""
        texts = (
            item.id,
            item.question,
            item.answer,
            item.kind,
            item.answer_type,
            pack_names(item.anchors),
            pack_names(() if own else item.hyperedges),
            item.origin,
        )
        return self._insert(
            "INSERT INTO items (id, question, answer, kind, answer_type, anchors, hyperedges, origin, own, by_model,"
            " version, checksum, vector) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*texts, int(own), int(by_model), self._version, checksum(*texts), pack_vector(item.embedding)),
        )


def same_item(one: MemoryItem, other: MemoryItem) -> bool:
    """Compare two memories, but for their hyperedges and support."""
    return (
        (one.id, one.question, one.answer, one.kind, one.answer_type, one.anchors, one.origin)
        == (other.id, other.question, other.answer, other.kind, other.answer_type, other.anchors, other.origin)
    ) and np.array_equal(one.embedding, other.embedding)


def _heirs(gone: Iterable[Hyperedge], edges: Iterable[Hyperedge]) -> dict[str, str]:
    """For hyperedges that went the ids of those that hold most of their members, where any holds one."""
    holding: defaultdict[str, list[str]] = defaultdict(list)
    for edge in sorted(edges, key=lambda edge: edge.id):
        for unit in edge.members:
            holding[unit].append(edge.id)
    shared = {edge.id: Counter(name for unit in edge.members for name in holding[unit]) for edge in gone}
    return {name: counts.most_common(1)[0][0] for name, counts in shared.items() if counts}


def _same_edge(one: Hyperedge, other: Hyperedge) -> bool:
    return (
        one.granularity == other.granularity
        and one.members == other.members
        and one.weights == other.weights
        and np.array_equal(one.prototype, other.prototype)
    )
