"""The policy of a gate: per query the logging policy, a general one or a special one, whichever won with confidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterrank.errors import InputError
from counterrank.ids import as_text
from counterrank.policy.base import Policy
from counterrank.policy.choice import Choice
from counterrank.policy.newer import with_newer
from counterrank.policy.read import of_rows
from counterrank.policy.scorer import LightGBM, Linear
from counterrank.policy.scores import Scores
from counterrank.policy.stored import Stored

ACTS = ("logging", "general", "special", "posterior")
GATE = {
    "query": "id", "segment": "id", "impressions": "count", "clicks": "count", "difference": "number",
    "lower": "number", "upper": "number", "acts": "text", "reason": "text",
}  # fmt: skip
SPECIAL = {"query": "id", "segment": "id", "item": "id", "score": "number"}
_FILES = ("gate.parquet", "special.parquet?", "general.json?", "general.txt?", "general.parquet?", "logging.parquet?")


class GenSpec(Choice):
    """What acts for each query, as a gate decided it: `logging`, `general`, `special` or `posterior`.

    gate: a table of query, maybe segment, impressions, clicks, difference, lower, upper, acts and reason; counts are of
    the part of the log that the gate judged by. special: a table of query, maybe segment, item and score: of each query
    the scores of its special policy, plain or `posterior`. general: a policy, such as a `Linear` or a `LightGBM`, which
    rank queries they have never seen. logging: the logging policy, where it can be written down; `logged`: it is what
    the log shows, and shows nothing that was not memorised. Other items that the general policy names, or the logging
    policy, are newer than the special scores: they stand where these put them. A query that the gate does not know is
    ranked by the general policy if that is active, else by the logging policy, else not at all; a query whose policy
    cannot rank it, likewise. With segments, a special policy belongs to a (query, segment): `segment(name)` gives the
    policy of one; without one no special policy acts. (genspec2021, section 4.)

    >>> gate = {"query": ["q"], "impressions": [9], "clicks": [4], "difference": [0.2], "lower": [0.1], "upper": [0.3]}
    >>> gate |= {"acts": ["special"], "reason": ["it wins"]}
    >>> policy = GenSpec(gate, {"query": ["q"], "item": ["a"], "score": [1.0]})
    >>> policy.rank("q"), policy.acting()["special"]
    (['a'], 1)
    """

    kind: ClassVar[str] = "genspec"

    def __init__(
        self,
        gate: Any,
        special: Any = None,
        *,
        general: Policy | None = None,
        active: bool | None = None,
        logging: Policy | None = None,
        logged: bool = False,
        segment: str | None = None,
    ) -> None:
        self.gate = _table(gate, GATE, "gate")
        self._special = _table(special, SPECIAL, "special policy") if special is not None else None
        self.general, self.logging, self._logged, self._segment = general, logging, logged, segment
        acts = set(self.gate["acts"].unique().to_pylist())
        self._check(acts)
        self.active = general is not None and ("general" in acts if active is None else active)
        chosen, scores = self._of(segment)
        scores, self._newer = self._with_newer(chosen, scores)
        parts = {"logging": logging, "general": general, "special": scores, "posterior": scores}
        held = {name: part for name, part in parts.items() if part is not None}
        there = pc.is_in(chosen["acts"], value_set=pa.array(list(held), pa.string()))
        missing, chosen = chosen.filter(pc.invert(there)), chosen.filter(there)
        otherwise = [name for name in ("general", "logging") if name in held and (self.active or name != "general")]
        super().__init__(held, (chosen["query"], chosen["acts"]), otherwise)
        self._silent += int((self._ids.codes(as_text(missing["query"])) < 0).sum())

    def _with_newer(self, chosen: pa.Table, scores: Scores | None) -> tuple[Scores | None, list[str]]:
        """The special scores with items that are newer, where the general or the logging policy puts them."""
        special = pc.is_in(chosen["acts"], value_set=pa.array(["special", "posterior"]))
        acting = as_text(chosen["query"].filter(special))
        said: list[str] = []
        for name, policy in (("general", self.general), ("logging", None if self._logged else self.logging)):
            if scores is None or policy is None or not len(acting):
                continue
            scores, items, queries = with_newer(scores, acting, policy)
            if items:
                said.append(
                    f"{items:,} items of {queries:,} queries are newer than what was memorised: they stand where the "
                    f"{name} policy puts them"
                )
        return scores, said

    @property
    def notes(self) -> list[str]:
        return [*super().notes, *self._newer]

    def segments(self) -> list[str]:
        """The segments that have special policies of their own."""
        column = "segment" in self.gate.column_names
        return sorted(self.gate["segment"].unique().to_pylist()) if column else []

    def segment(self, name: str | int) -> GenSpec:
        """The policy of one segment: there its special policies act."""
        if str(name) not in self.segments():
            has = ", ".join(self.segments()[:20]) or "none"
            raise InputError(f"the policy has no segment {str(name)!r}: it has {has}")
        return self._again(self.general, self.logging, str(name))

    def _of(self, segment: str | None) -> tuple[pa.Table, Scores | None]:
        """Query and acts of one segment, and the scores of its special policy."""
        gate, special = self.gate, self._special
        if "segment" in gate.column_names:
            gate = gate.filter(_is(gate["segment"], segment))
            special = special.filter(_is(special["segment"], segment)) if special is not None else None
        if special is None or special.num_rows == 0:
            return gate, None
        return gate, Scores(special["query"], special["item"], special["score"])

    def _check(self, acts: set[str]) -> None:
        wrong = acts - set(ACTS)
        if wrong:
            raise InputError(f"the gate says that {next(iter(wrong))!r} acts: expected one of {', '.join(ACTS)}")
        keys = ["query", *(["segment"] if "segment" in self.gate.column_names else [])]
        for column in (*keys, "acts", "impressions", "clicks"):
            if self.gate[column].null_count:
                raise InputError(f"the gate lacks {column} in some row")
        if self.gate.group_by(keys).aggregate([]).num_rows < self.gate.num_rows:
            raise InputError("the gate has a query more than once: keep one row")
        special = self._special
        if special is not None and ("segment" in special.column_names) != ("segment" in keys):
            raise InputError("one of gate and special policy has segments, the other none: give both or neither")
        theirs = self.gate.filter(pc.is_in(self.gate["acts"], value_set=pa.array(["special", "posterior"])))
        mine = theirs.select(keys)
        if special is not None:
            mine = mine.join(special.select(keys), keys=keys, join_type="left anti")
        if mine.num_rows:
            query = mine["query"][0].as_py()
            raise InputError(f"the gate says that special acts for query {query!r}, but special has no items for it")

    def _with(self, parts: Mapping[str, Policy]) -> GenSpec:
        return self._again(parts.get("general"), parts.get("logging"), self._segment)

    def _again(self, general: Policy | None, logging: Policy | None, segment: str | None) -> GenSpec:
        return GenSpec(
            self.gate,
            self._special,
            general=general,
            active=self.active,
            logging=logging,
            logged=self._logged,
            segment=segment,
        )

    def stored(self) -> Stored:
        tables, texts = {"gate.parquet": self.gate}, {}
        if self._special is not None:
            tables["special.parquet"] = self._special
        if isinstance(self.general, Linear):
            texts["general.json"] = self.general.as_json()
        elif isinstance(self.general, LightGBM):
            texts["general.txt"] = self.general.text
        for name, policy in (("general", self.general), ("logging", self.logging)):
            if policy is not None and not isinstance(policy, Linear | LightGBM):
                rows = policy.rows()
                if rows is None:
                    raise InputError(f"the {name} policy {policy!r} cannot be said as rankings or scores: leave it out")
                tables[f"{name}.parquet"] = rows
        features = self.general.features if isinstance(self.general, Linear | LightGBM) else []
        settings = {"general": "active" if self.active else "not active"} if self.general is not None else {}
        if self._logged:
            settings["logging"] = "of the log"
        return Stored.of(self.kind, settings=settings, tables=tables, texts=texts, features=features)

    @classmethod
    def restored(cls, stored: Stored) -> GenSpec:
        stored.only(*_FILES)
        general = [name for name in ("general.json", "general.txt", "general.parquet") if name in stored.files]
        if len(general) > 1:
            raise InputError(f"{' and '.join(general)} are both there, but there is one general policy")
        policy: Policy | None = None
        if general == ["general.json"]:
            policy = Linear.of_json(stored, "general.json")
        elif general == ["general.txt"]:
            policy = LightGBM.of_text(stored, "general.txt")
        elif general:
            policy = of_rows(stored.table("general.parquet"), "general.parquet")
        said = stored.settings.get("general")
        if said not in (None, "active", "not active"):
            raise InputError("setting 'general' is neither 'active' nor 'not active'")
        if stored.settings.get("logging") not in (None, "of the log"):
            raise InputError("setting 'logging' is not 'of the log'")
        special = "special.parquet" in stored.files
        logging = "logging.parquet" in stored.files
        return cls(
            stored.columns("gate.parquet", GATE, optional=["segment"]),
            stored.columns("special.parquet", SPECIAL, optional=["segment"]) if special else None,
            general=policy,
            active=None if said is None else said == "active",
            logging=of_rows(stored.table("logging.parquet"), "logging.parquet") if logging else None,
            logged="logging" in stored.settings,
        )


def _table(given: Any, columns: Mapping[str, str], what: str) -> pa.Table:
    """Rows with these columns, of which segment may lack: ids as text."""
    table = given if isinstance(given, pa.Table) else pa.table(dict(given))
    absent = set(columns) - set(table.column_names) - {"segment"}
    if absent:
        raise InputError(f"the {what} lacks column {min(absent)!r}: expected {', '.join(columns)}")
    kinds = {"number": pa.float64(), "count": pa.int64()}
    held = {
        name: table[name].cast(kinds[kind]) if kind in kinds else as_text(table[name], name)
        for name, kind in columns.items()
        if name in table.column_names
    }
    return pa.table(held)


def _is(column: pa.ChunkedArray, segment: str | None) -> Any:
    if segment is None:
        return pa.array(np.zeros(len(column), dtype=bool))
    return pc.equal(column, segment)
