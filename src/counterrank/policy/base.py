"""What a policy is: a distribution over rankings, per query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.ids import Codes, Ids, as_text
from counterrank.log.files import kind_of
from counterrank.log.write import check_output, write_table
from counterrank.policy._pairs import PairMarginals, cells, draws_for, of_rankings, places
from counterrank.policy.directory import write_directory
from counterrank.policy.stored import Stored
from counterrank.statistics.cells import Cells
from counterrank.statistics.pairs import Pairs, Table

if TYPE_CHECKING:
    from counterrank.policy._index import RankIndex

Id = str | int
_LENGTHS = 4  # for how many lengths `rank` keeps its rankings
BLOCK = 1 << 22  # numbers of a part of all marginals: 32 MB, or one query
_ONE = np.zeros(1, dtype=np.int64)  # the only query of a one-query run


class BoundPolicy(ABC):
    """A policy on the pairs of one run, cut to each query's ranking length: arrays in, arrays out.

    Of a query that the policy does not have, all marginals and probabilities are 0, and there is nothing to sample.
    A kind gives `marginals`, or, where lists are long and a table of all would be large, `part`; and where its
    marginals are mostly 0, or known by a formula, also `at`, `exposure` and `squares`.
    """

    pairs: Pairs

    def marginals(self) -> Table:
        """(P, K): the chance that the pair's item is shown at the position."""
        return self.part(0, len(self.pairs.query_ids))

    def part(self, first: int, last: int) -> Table:
        """The marginals of the pairs of queries first to last, (pairs, K)."""
        if type(self).marginals is BoundPolicy.marginals:
            raise NotImplementedError(f"{type(self).__name__} has neither marginals nor part")
        if "_table" not in self.__dict__:
            self.__dict__["_table"] = self.marginals()
        table: Table = self.__dict__["_table"]
        return table[self.pairs.starts[first] : self.pairs.starts[last]]

    def parts(self) -> Iterator[tuple[slice, Table]]:
        """All marginals, some queries at a time: the rows of their pairs, and the marginals there."""
        for first, last in self.pairs.blocks(BLOCK):
            yield slice(self.pairs.starts[first], self.pairs.starts[last]), self.part(first, last)

    def at(self, rows: Codes, positions: Codes) -> NDArray[np.float64]:
        """(C,): the chance that each of these pairs is shown at the position; rows rise."""
        out = np.zeros(len(rows))
        for first, last in self.pairs.blocks(BLOCK):
            begin, end = self.pairs.starts[first], self.pairs.starts[last]
            here = slice(*np.searchsorted(rows, [begin, end]))
            if here.stop > here.start:
                out[here] = self.part(first, last)[rows[here] - begin, positions[here]]
        return out

    def on(self, cells: Cells) -> NDArray[np.float64]:
        """(C,): the same of the cells of a log."""
        return self.at(cells.rows, cells.positions)

    def exposure(self, looks: NDArray[np.float64]) -> NDArray[np.float64]:
        """(P,): Σₖ looksₖ·P(the pair's item at k)."""
        out = np.zeros(len(self.pairs))
        for mine, table in self.parts():
            out[mine] = table @ looks
        return out

    quick = False  # whether `exposure_of` some queries takes no longer than their share of all

    def exposure_of(self, looks: NDArray[np.float64], first: int, last: int) -> NDArray[np.float64]:
        """The same of the pairs of queries first to last."""
        return np.asarray(self.part(first, last) @ looks)

    def by_position(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(K,): Σ over pairs of values·P(the pair's item at the position); values is (P,)."""
        out = np.zeros(self.pairs.positions)
        for mine, table in self.parts():
            out += values[mine] @ table
        return out

    def by_query(self) -> Table:
        """(Q, K): Σ over the pairs of each query; 1 where its rankings reach down to the position."""
        out = np.zeros((len(self.pairs.query_ids), self.pairs.positions))
        for mine, table in self.parts():
            np.add.at(out, self.pairs.queries[mine], table)
        return out

    def squares(self) -> NDArray[np.float64]:
        """(P,): Σₖ P(the pair's item at k)²."""
        out = np.zeros(len(self.pairs))
        for mine, table in self.parts():
            out[mine] = np.einsum("pk,pk->p", table, table)
        return out

    @abstractmethod
    def probability(self, queries: Codes, rankings: Codes) -> NDArray[np.float64]:
        """(G,): the chance of each ranking. rankings is (G, K) rows of `pairs`, -1 beyond the ranking's end."""

    @abstractmethod
    def sample(self, queries: Codes, rng: np.random.Generator) -> Codes:
        """(G, K): a ranking for each query, as rows of `pairs`, -1 beyond the ranking's end."""

    def support(self) -> tuple[Codes, Codes, NDArray[np.float64]] | None:
        """All its rankings, where they can be listed: queries (G,), rankings (G, K) and probabilities (G,)."""
        return None

    def pair_marginals(self, query: int) -> PairMarginals:
        """The chances of two items at two positions. By drawing rankings, where a kind of policy knows no better."""
        count = draws_for(int(self.pairs.sizes[query]) * places(self.pairs, query))
        drawn = self.sample(np.full(count, query), np.random.default_rng((query, count)))
        matrix = of_rankings(self.pairs, query, drawn, np.full(count, 1 / count))
        return PairMarginals(matrix, ((1.0, cells(self.pairs, query, drawn)),))

    def best(self, queries: Codes) -> Codes:
        """(G, K): the most likely ranking of each query, as rows of `pairs`, -1 beyond the ranking's end."""
        raise InputError(f"{type(self).__name__} cannot name its most likely ranking: sample it instead")


class Policy(ABC):
    """A distribution over rankings for each query it has.

    `queries`, `items` and `bind` serve whole runs. The other methods look at one query at a time; they take ids as
    text or integers and give them as text. A `length` cuts every ranking to its first items. `rows`, or `stored` and
    `restored`, say how it is written and read back: all in formats that are safe to open.
    """

    kind: ClassVar[str] = ""  # its name in POLICIES, and in a policy directory

    @abstractmethod
    def queries(self) -> pa.Array | None:
        """The queries it has rankings for, as text; None where it answers every query."""

    def narrowed(self, candidates: Policy) -> Policy:
        """This policy where it ranks all items, with these candidates in their place."""
        return self

    ranks_all = False  # whether it ranks every item of a query that the run knows, also those it does not name

    def rankings(self) -> tuple[pa.Array, pa.Array] | None:
        """All rankings it can show, uncut, as queries and lists of items; None where they are too many to list."""
        return None

    @abstractmethod
    def items(self) -> tuple[pa.Array, pa.Array]:
        """The (query, item) pairs it names itself, as two text arrays of one length; may be empty."""

    @abstractmethod
    def bind(self, pairs: Pairs) -> BoundPolicy:
        """This policy on the pairs of a run. `pairs` holds every item that the policy names for a query of the run."""

    source_notes: tuple[str, ...] = ()  # on files of a folder that it was to be read from, and that were not read

    @property
    def notes(self) -> list[str]:
        """What to know of it: what was not read, what it lacks, and what stands in for it."""
        return list(self.source_notes)

    scores_features = False  # whether `scoring` makes a difference

    def scoring(self, features: Any) -> Policy:
        """This policy with these features (`log.features.Features`) to score, where it scores any."""
        return self

    def rows(self) -> pa.Table | None:
        """The rows of a plain policy file that says the same; None where there is none."""
        return None

    def stored(self) -> Stored:
        """What a policy directory holds of it: its rows, unless its kind says otherwise."""
        table = self.rows()
        if table is None:
            raise InputError(f"{self!r} cannot be written: its kind does not say how")
        return Stored.of(self.kind, tables={"policy.parquet": table})

    @classmethod
    def restored(cls, stored: Stored) -> Policy:
        """The policy from what `stored` gave; anything else is refused."""
        raise InputError(f"a {stored.kind} policy cannot be read back: its kind does not say how")

    def save(self, path: str | Path) -> Path:
        """Write it as a plain file (.parquet, .csv, .jsonl), where it can be said as one, or as a policy directory.

        `read_policy` reads both. An existing policy directory is replaced as a whole.
        """
        place = Path(path)
        if kind_of(place) is None:
            if place.suffix[1:].isalpha():  # .xlsx, .pkl: a file was meant; policy-1.2 is a fine name of a directory
                check_output(place, "write to")
            write_directory(self.stored(), place)
            return place
        table = self.rows()
        if table is None:
            raise InputError(
                f"{place}: {self!r} cannot be said as a file of rankings or scores: "
                "save it as a directory, under a name without such an ending"
            )
        write_table(table, place)
        return place

    def rank(self, query: Id, length: int | None = None) -> list[str]:
        """The query's most likely ranking; ties go to the items that come first as text.

        The first call ranks all queries; further ones only look the ranking up.
        """
        text = query if type(query) is str else str(query) if type(query) is int else id_text(query)
        index = self.__dict__.setdefault("_ranked", {}).get(length)
        if index is None:
            index = self._index(length)
        found: list[str] | None = index.get(text)
        if found is not None:
            return found
        bound = self._alone(text, length)
        return _names(bound, bound.best(_ONE))

    def _index(self, length: int | None) -> RankIndex:
        """The rankings of all queries, kept for the lengths asked for last."""
        from counterrank.policy._index import RankIndex  # which ranks by means of policies

        kept = self.__dict__["_ranked"]
        if len(kept) >= _LENGTHS:
            kept.pop(next(iter(kept)))
        found = kept[length] = RankIndex.of(self, length)
        return found

    def marginals(self, query: Id, length: int | None = None) -> dict[str, NDArray[np.float64]]:
        """For each item, the chance of each position."""
        bound = self._alone(query, length)
        shown = bound.marginals()
        used = np.flatnonzero(shown.any(axis=0))
        stop = int(used[-1]) + 1 if len(used) else 0
        return dict(zip(bound.pairs.item_ids.texts.to_pylist(), shown[:, :stop], strict=True))

    def probability(self, query: Id, ranking: Sequence[Id], length: int | None = None) -> float:
        """The chance that exactly these items are shown, in this order."""
        bound = self._alone(query, length)
        rows = bound.pairs.item_ids.codes(pa.array([id_text(item) for item in ranking], pa.string()))
        if len(rows) > bound.pairs.positions or (rows < 0).any():
            return 0.0
        padded = np.full((1, bound.pairs.positions), -1, dtype=np.int64)
        padded[0, : len(rows)] = rows
        return float(bound.probability(_ONE, padded)[0])

    def sample(self, query: Id, rng: np.random.Generator, length: int | None = None) -> list[str]:
        """One ranking, drawn at random."""
        bound = self._alone(query, length)
        return _names(bound, bound.sample(_ONE, rng))

    def _alone(self, query: Id, length: int | None) -> BoundPolicy:
        """This policy on one query and the items it names for it, in text order."""
        text = id_text(query)
        if length is not None and length < 1:
            raise InputError(f"length is {length}, but a ranking has at least one item: give 1 or more")
        known = self.queries()
        if known is not None and pc.index(known, pa.scalar(text, known.type)).as_py() < 0:
            raise InputError(f"the policy has no query {text!r}: ask for one of its {len(known)} queries")
        queries, items = self.items()
        names = sorted(set(items.filter(pc.equal(queries, text)).to_pylist()))
        if not names:
            raise InputError(f"{self!r} names no items for query {text!r}: give it candidates, or bind it to a log")
        size = len(names)
        cut = size if length is None else min(length, size)
        ids, codes = Ids(pa.array(names, pa.string())), np.arange(size)
        return self.bind(
            Pairs.build(Ids(pa.array([text])), ids, np.zeros(size, np.int64), codes, np.array([cut]), positions=cut)
        )


def id_text(value: Id) -> str:
    """One id as text: 7 and "7" are the same id."""
    text = as_text(pa.array([value]))[0].as_py()
    if text is None:
        raise InputError(f"an id is missing (it came as {value!r}): ids are text or integers")
    return str(text)


def missing_query(pairs: Pairs, queries: Codes) -> InputError:
    """The error for drawing rankings of queries that the policy does not have."""
    text = pairs.query_ids.texts[int(queries[0])].as_py()
    return InputError(f"the policy has no ranking for query {text!r}: sample only queries that it has")


def _names(bound: BoundPolicy, rankings: Codes) -> list[str]:
    rows = rankings[0][rankings[0] >= 0]
    names: list[str] = bound.pairs.item_ids.texts.take(pa.array(bound.pairs.items[rows])).to_pylist()
    return names
