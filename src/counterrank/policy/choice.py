"""Several policies, of which one acts for each query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.errors import InputError, unknown
from counterrank.ids import Codes, Ids
from counterrank.policy._coded import Coded
from counterrank.policy.base import Policy
from counterrank.policy.chosen import BoundChoice
from counterrank.policy.stored import Stored, check_part
from counterrank.statistics.pairs import Pairs


class Choice(Policy):
    """For each query the policy that `acts`; for a query that it has no ranking for, the first of `otherwise` that has.

    Assumption: which policy acts depends on the query alone. Queries that none of these has are left without a ranking;
    `notes` counts them, and those whose own policy had none. The gate of genspec2021 (algorithm 1) is such a choice.

    >>> from counterrank.policy.table import Table
    >>> old, new = Table.from_dict({"q": ["a", "b"], "r": ["c"]}), Table.from_dict({"q": ["b", "a"]})
    >>> policy = Choice({"old": old, "new": new}, {"q": "new"}, otherwise=["old"])
    >>> policy.rank("q"), policy.rank("r")
    (['b', 'a'], ['c'])
    """

    kind: ClassVar[str] = "choice"

    def __init__(
        self, parts: Mapping[str, Policy], acts: Mapping[Any, str] | tuple[Any, Any], otherwise: Sequence[str] = ()
    ) -> None:
        self._parts, self._otherwise = dict(parts), list(otherwise)
        given = (list(acts), list(acts.values())) if isinstance(acts, Mapping) else acts
        listed, chosen = Coded.of(given[0], "query"), Coded.of(given[1], "name of a part")
        if len(listed) != len(chosen):
            raise InputError(f"{len(listed)} queries but {len(chosen)} parts came: give one part per query")
        if len(listed.texts) < len(listed):
            twice = int(np.flatnonzero(np.bincount(listed.codes) > 1)[0])
            raise InputError(f"query {listed.texts[twice].as_py()!r} is chosen for more than once: keep one row")
        for name in self._parts:
            check_part(name)
        for name in [*self._otherwise, *chosen.texts.to_pylist()]:
            if name not in self._parts:
                raise unknown("part", name, self._parts)
        self._listed, self._acts = listed.take(np.arange(len(listed))), chosen.take(np.arange(len(listed)))
        self._resolve()

    def _resolve(self) -> None:
        """Find who acts for every query that is known, and for all others (`_rest`, -1 where nobody does)."""
        names = list(self._parts)
        had = {name: part.queries() for name, part in self._parts.items()}
        every = [self._listed, *(had[name] for name in self._otherwise if had[name] is not None)]
        ids = Ids(pa.concat_arrays([each.cast(pa.string()) for each in every]).unique())
        has = np.ones((len(names), len(ids)), dtype=bool)
        for i, name in enumerate(names):
            if had[name] is not None:
                has[i] = pc.is_in(ids.texts, value_set=had[name]).to_numpy(zero_copy_only=False)
        wanted: Codes = np.full(len(ids), -1, dtype=np.int64)
        wanted[ids.codes(self._listed)] = Ids(pa.array(names, pa.string())).codes(self._acts)
        by = np.where((wanted >= 0) & has[wanted, np.arange(len(ids))], wanted, -1)
        for name in self._otherwise:
            by = np.where((by < 0) & has[names.index(name)], names.index(name), by)
        self._ids, self._by = ids, by
        self._rest = next((names.index(name) for name in self._otherwise if had[name] is None), -1)
        moved = (wanted != by) & (wanted >= 0) & (by >= 0)
        self._moved = {name: int((moved & (wanted == i)).sum()) for i, name in enumerate(names)}
        self._silent = int((by < 0).sum())

    @property
    def notes(self) -> list[str]:
        own = [
            f"{count:,} of the queries for which {name} acts have no ranking there: {' or '.join(self._otherwise)} acts"
            for name, count in self._moved.items()
            if count
        ]
        none = [f"{self._silent:,} queries have no ranking: no part that could act for them has one"]
        inner = [note for part in self._parts.values() for note in part.notes]
        return [*self.source_notes, *own, *(none if self._silent else []), *inner]

    def acting(self) -> dict[str, int]:
        """For how many of its queries each part acts."""
        return {name: int((self._by == i).sum()) for i, name in enumerate(self._parts)}

    @property
    def scores_features(self) -> bool:  # type: ignore[override]
        return any(part.scores_features for part in self._parts.values())

    def scoring(self, features: Any) -> Policy:
        return self._with({name: part.scoring(features) for name, part in self._parts.items()})

    def narrowed(self, candidates: Policy) -> Policy:
        return self._with({name: part.narrowed(candidates) for name, part in self._parts.items()})

    def _with(self, parts: Mapping[str, Policy]) -> Policy:
        """The same choice among other policies of the same names."""
        return Choice(parts, (self._listed, self._acts), self._otherwise)

    @property
    def ranks_all(self) -> bool:  # type: ignore[override]
        return any(part.ranks_all for part in self._parts.values())

    def queries(self) -> pa.Array | None:
        return None if self._rest >= 0 else self._ids.texts.filter(pa.array(self._by >= 0))

    def items(self) -> tuple[pa.Array, pa.Array]:
        found = [self._own(i, *part.items()) for i, part in enumerate(self._parts.values())]
        return tuple(pa.concat_arrays(columns) for columns in zip(*found, strict=True))

    def rankings(self) -> tuple[pa.Array, pa.Array] | None:
        found = []
        for i, part in enumerate(self._parts.values()):
            if (self._by == i).any() or self._rest == i:
                listed = part.rankings()
                if listed is None:
                    return None
                found.append(self._own(i, *listed))
        return tuple(pa.concat_arrays(columns) for columns in zip(*found, strict=True)) if found else None

    def _own(self, part: int, queries: pa.Array, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The rows of those queries for which this part acts."""
        mine = pa.array(self._acting(queries) == part)
        return queries.filter(mine), values.filter(mine)

    def _acting(self, queries: pa.Array) -> NDArray[np.int64]:
        """The part that acts for each query, -1 where none does."""
        code = self._ids.codes(queries)
        return np.where(code >= 0, np.append(self._by, -1)[code], self._rest)

    def bind(self, pairs: Pairs) -> BoundChoice:
        return BoundChoice(pairs, self._acting(pairs.query_ids.texts), [part.bind for part in self._parts.values()])

    def stored(self) -> Stored:
        chosen = pa.table({"query": self._listed, "acts": self._acts})
        return Stored.of(
            self.kind,
            settings={"otherwise": self._otherwise},
            tables={"choice.parquet": chosen},
            parts=self._parts,
        )

    @classmethod
    def restored(cls, stored: Stored) -> Choice:
        if "choice.parquet" not in stored.files:
            raise InputError("a choice policy has a file 'choice.parquet', which is not there")
        rows = stored.columns("choice.parquet", {"query": "id", "acts": "text"})
        otherwise = stored.settings.get("otherwise")
        if not isinstance(otherwise, list) or not all(isinstance(name, str) for name in otherwise):
            raise InputError("setting 'otherwise' is not a list of names")
        return cls(stored.parts("choice.parquet"), (rows["query"], rows["acts"]), otherwise)

    def __repr__(self) -> str:
        who = ", ".join(f"{name} {count}" for name, count in self.acting().items())
        return f"{type(self).__name__}({who} queries)"
