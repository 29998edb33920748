"""Numerics over sparse rows: projection onto the simplex, products, lists of entries by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError

if TYPE_CHECKING:
    from scipy.sparse import csr_array  # type: ignore[import-untyped, unused-ignore]


def project_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Project every row on the probability simplex.

    Sorts each row and finds the threshold that its positive part is shifted by: O(n k log k) for n rows of k entries.

    Parameters
    ----------
    values
        Finite numbers of shape (n, k).

    Returns
    -------
    NDArray[np.float64]
        Shape (n, k); rows are non-negative and sum to 1.

    Raises
    ------
    SettingError
        If `values` is not a matrix of finite numbers, or its rows have no entry.
    """
    if values.ndim != 2 or (values.size and not np.isfinite(values).all()):
        raise SettingError("rows to project must be a matrix of finite numbers", where="hypergraph.simplex")
    if len(values) and not values.shape[1]:
        raise SettingError("every row to project needs an entry", where="hypergraph.simplex")
    if not values.size:
        return np.zeros(values.shape)
    values = values - values.max(axis=1, keepdims=True)  # the projection is invariant to shifts; this keeps it exact
    descending = -np.sort(-values, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    ranks = np.arange(1, values.shape[1] + 1)
    support = (descending * ranks > excess).sum(axis=1)
    shift = excess[np.arange(len(values)), support - 1] / support
    projected: NDArray[np.float64] = np.maximum(values - shift[:, None], 0.0)
    projected /= projected.sum(axis=1, keepdims=True)
    return projected


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Vectors = NDArray[np.floating]  # products are taken in the vectors' own precision, sums of them in double

_CHUNK = 512  # gathered rows that stay in a core's cache


def row_products(left: Vectors, right: Vectors, first: Indices, second: Indices) -> Floats:
    """Compute ``left[first[i]] . right[second[i]]`` for each i, a chunk at a time.

    As long as `first` counts rows up from 0 in runs of one length, as candidates are laid out, it takes half the time.
    """
    products = np.empty(len(first))
    width = max(1, int(np.searchsorted(first, 1)))
    laid_out = np.append(first == np.arange(len(first)) // width, False)
    done = int(laid_out.argmin()) // width * width
    step = max(1, _CHUNK // 2 // width) * width
    for start in range(0, done, step):
        stop = min(start + step, done)
        rows, chosen = left[start // width : stop // width], second[start:stop].reshape(-1, width)
        products[start:stop] = np.matmul(right[chosen], rows[:, :, None]).reshape(-1)
    for start in range(done, len(first), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        products[chunk] = np.einsum("ed,ed->e", left[first[chunk]], right[second[chunk]])
    return products


def weighted_sums(weights: Floats, rows: Indices, groups: Indices, count: int, vectors: Vectors) -> Vectors:
    """Sum ``weights[i] * vectors[rows[i]]`` over each group: shape (count, dimension) for ascending `groups`."""
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped, unused-ignore]

    bounds = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=count))])
    summing = csr_matrix((weights.astype(vectors.dtype), rows, bounds), shape=(count, len(vectors)))
    return np.asarray(summing @ vectors)


Rows = NDArray[np.int64]
Number = TypeVar("Number", bound=np.generic)
_FEW = 0.2  # share of the rows up to which they are gathered instead of all being multiplied


class RowLists:
    """A sparse matrix in scipy's compressed rows, written behind each other in the order in which they came.

    A row that is replaced gets a new slot behind the others; the entries of its old slot become zeros. When more than a
    quarter of the entries are dead, all is written anew, so that over many changes each costs in proportion to what it
    writes. Entries and slots number below 2**31.
    """

    def __init__(self) -> None:
        self._slot_of = np.zeros(0, dtype=np.int64)  # of each row, from 1; slot 0 is empty, that of rows never written
        self._owners = np.zeros(1, dtype=np.int64)  # the row of each slot
        self._bounds = np.zeros(2, dtype=np.int32)
        self._columns = np.zeros(0, dtype=np.int32)
        self._values = np.zeros(0)
        self._slots, self._used, self._dead = 1, 0, 0
        self._rows = 1  # up to the last that was written; slot 0 counts as one of row 0, with no entry
        self._viewed: csr_array | None = None

    def lengths(self, rows: Rows) -> Rows:
        """How many entries rows have; rows that were never written have none."""
        slots = self._slots_of(rows)
        return np.asarray(self._bounds[slots + 1] - self._bounds[slots], dtype=np.int64)

    def entries(self, rows: Rows) -> tuple[Rows, Rows, Floats]:
        """The entries of rows, one row after the other: places in `rows`, columns, and values."""
        lengths = self.lengths(rows)
        owners = np.repeat(np.arange(len(rows)), lengths)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        at = np.repeat(self._bounds[self._slots_of(rows)], lengths) + within
        return owners, self._columns[at].astype(np.int64), self._values[at]

    def push(self, weights: Floats, size: int) -> Floats:
        """The product of a vector of rows with the matrix: the sum of the weighted rows, shape (size,).

        Takes time in proportion to the entries of the rows that weigh something, or to all entries where those are
        many, and to the lengths of both vectors. Rows beyond the vector are not asked for, those not written are empty.
        """
        heavy = weights != 0.0
        if np.count_nonzero(heavy) < _FEW * len(weights):
            rows = np.flatnonzero(heavy)
            return self.push_rows(rows, weights[rows], size)
        if len(weights) < self._rows:
            weights = np.concatenate([weights, np.zeros(self._rows - len(weights))])
        return np.asarray(self._view(size).T @ weights[self._owners[: self._slots]], dtype=np.float64)

    def push_rows(self, rows: Rows, weights: Floats, size: int) -> Floats:
        """The sum of some rows, each times its weight, shape (size,)."""
        return np.asarray(self._view(size)[self._slots_of(rows)].T @ weights, dtype=np.float64)

    def pull(self, rows: Rows, vector: Floats) -> Floats:
        """The products of rows with a vector of all columns, shape (n,)."""
        whole, slots = self._view(len(vector)), self._slots_of(rows)
        products = whole[slots] @ vector if len(rows) < _FEW * self._slots else (whole @ vector)[slots]
        return np.asarray(products, dtype=np.float64)

    def write(self, rows: Rows, owners: Rows, columns: Rows, values: Floats) -> None:
        """Replace distinct rows by entries.

        Parameters
        ----------
        rows
            Which ones, shape (n,).
        owners, columns, values
            Entries, shape (m,), each in ``rows[owners]``.
        """
        if not len(rows):
            return
        order = np.argsort(owners, kind="stable")
        self._bury(rows)
        first, end, slots = self._used, self._used + len(order), self._slots + len(rows)
        self._columns, self._values = with_room(self._columns, end), with_room(self._values, end)
        self._columns[first:end], self._values[first:end] = columns[order], values[order]
        self._owners, self._bounds = with_room(self._owners, slots), with_room(self._bounds, slots + 1)
        self._owners[self._slots : slots] = rows
        lengths = np.bincount(owners, minlength=len(rows))
        self._bounds[self._slots + 1 : slots + 1] = first + np.cumsum(lengths)
        self._rows = max(self._rows, int(rows.max()) + 1)
        self._slot_of = with_room(self._slot_of, self._rows)
        self._slot_of[rows] = np.arange(self._slots, slots)
        self._slots, self._used, self._viewed = slots, end, None
        if self._dead > self._used // 4:
            self._compact()

    def exchange(self, rows: Rows, gone: Rows, owners: Rows, columns: Rows, values: Floats) -> None:
        """Take the entries in some columns out of distinct rows, and put others in; arguments as for `write`."""
        before, held, worth = self.entries(rows)
        kept = ~np.isin(held, gone)
        self.write(
            rows,
            np.concatenate([before[kept], owners]),
            np.concatenate([held[kept], columns]),
            np.concatenate([worth[kept], values]),
        )

    def matrix(self, shape: tuple[int, int]) -> csr_array:
        """The matrix as scipy's, rows in order, with entries at one place summed."""
        from scipy.sparse import coo_array

        owners, columns, values = self.entries(np.arange(shape[0]))
        return coo_array((values, (owners, columns)), shape=shape).tocsr()

    @property
    def used(self) -> int:
        """Entries ever written since all was written anew, dead ones included."""
        return self._used

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, room to grow included."""
        arrays = (self._slot_of, self._owners, self._bounds, self._columns, self._values)
        return sum(array.nbytes for array in arrays)

    def _slots_of(self, rows: Rows) -> Rows:
        if not len(rows) or rows.max() < len(self._slot_of):
            return np.asarray(self._slot_of[rows], dtype=np.int64)
        inside = rows < len(self._slot_of)
        found = np.zeros(len(rows), dtype=np.int64)
        found[inside] = self._slot_of[rows[inside]]
        return found

    def _bury(self, rows: Rows) -> None:
        lengths = self.lengths(rows)
        held = np.flatnonzero(lengths)
        for slot in self._slots_of(rows[held]).tolist():
            self._values[self._bounds[slot] : self._bounds[slot + 1]] = 0.0
        self._dead += int(lengths.sum())

    def _view(self, size: int) -> csr_array:
        """The slots as the rows of a scipy matrix over the same memory."""
        from scipy.sparse import csr_array

        if self._viewed is None or self._viewed.shape[1] != size:
            arrays = (self._values[: self._used], self._columns[: self._used], self._bounds[: self._slots + 1])
            self._viewed = csr_array(arrays, shape=(self._slots, size))
        return self._viewed

    def _compact(self) -> None:
        rows = np.flatnonzero(self._slot_of)
        owners, columns, values = self.entries(rows)
        RowLists.__init__(self)
        self.write(rows, owners, columns, values)


def with_room(array: NDArray[Number], size: int) -> NDArray[Number]:
    """An array of at least so many entries, grown by half where it is too short; new entries are 0."""
    if size <= len(array):
        return array
    grown = np.zeros(max(size, len(array) + len(array) // 2), dtype=array.dtype)
    grown[: len(array)] = array
    return grown
