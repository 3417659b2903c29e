"""The second engine: the statistics as Ibis expressions, run where the log lives."""

from __future__ import annotations

import contextlib
import uuid
import weakref
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar

import duckdb
import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.engine import expressions as x
from counterrank.engine.arrow import beginnings, numbers, tallied, text
from counterrank.engine.plan import Coefficients, Moments, Pass, Plan, WantedRankings
from counterrank.errors import InputError, NoneFound
from counterrank.ids import Codes, Ids, is_text
from counterrank.log import Log
from counterrank.log.files import TEXT_TYPES, Part, Wanted, connect_apart
from counterrank.log.long_form import LongPart
from counterrank.log.originals import shown
from counterrank.log.parts import BATCH_ROWS, told
from counterrank.log.problems import RowProblem, bad_row
from counterrank.log.quarantine import quarantine
from counterrank.log.read import IbisPart
from counterrank.log.reading import Reading, Tally
from counterrank.log.spelled import spelled_list
from counterrank.records import dataclass
from counterrank.statistics.cells import Cells
from counterrank.statistics.cluster_terms import ClusterSizes, ClusterTerms
from counterrank.statistics.counts import Counts
from counterrank.statistics.days import MOST_DAYS, DaySums
from counterrank.statistics.hashing import content_keys
from counterrank.statistics.histogram import Histogram, Spreads
from counterrank.statistics.item_chances import UNDER, ItemChances, Trimmed
from counterrank.statistics.looks import LookCounts
from counterrank.statistics.order import id_order, in_order, row_order
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.patterns import Patterns
from counterrank.statistics.query_terms import QueryUnits
from counterrank.statistics.rankings import Rankings
from counterrank.statistics.sample import NO_DAY, Sample, first_pairs

Vector = NDArray[np.float64]
_LISTS = ("items", "clicks", "item_propensities")
_LONG = {"items": "item", "clicks": "click", "item_propensities": "item_propensity"}
FETCHED = 1 << 20  # distinct rows up to which all rankings are fetched where nobody asked for them by name


def temporary_name() -> str:
    """A name for a temporary table or view that no one else uses."""
    return f"counterrank_{uuid.uuid4().hex}"


@dataclass
class Relational:
    """Counts on an Ibis backend. A backend with ways of its own overrides the four small methods."""

    backend: Any
    name: str = "ibis"
    gathers: ClassVar[bool] = True  # equal rows are counted as one, where that costs no more than it saves

    def count(self, log: Log, plan: Plan) -> Pass:
        try:
            return self.counted(log, plan)
        except (duckdb.Error, pa.ArrowException) as error:
            if (slower := log.by_row()) is not None:
                return self.count(slower, plan)
            raise InputError(f"{log.name}: {self.name} cannot read it ({told(error)})") from None

    def counted(self, log: Log, plan: Plan) -> Pass:
        return RelationalPass(log, plan, self)

    def scan(self, part: Part, wanted: Wanted) -> ir.Table:
        """The rows of a part, its columns under our names."""
        if isinstance(part, IbisPart):
            table = part.expression
            return table.select(**{ours: table[theirs] for ours, theirs in wanted.items()})
        view = temporary_name()
        relation = part.relation(wanted, self.backend.con)
        mended = {} if part.textual else _mended(part.types(wanted))
        if mended:
            columns = ", ".join(f"{sql} AS {column}" for column, sql in mended.items())
            relation = f"SELECT * REPLACE ({columns}) FROM ({relation})"  # noqa: S608
        self.backend.con.execute(f"CREATE TEMP VIEW {view} AS {relation}")
        return self.backend.table(view)

    def keep(self, table: ir.Table) -> ir.Table:
        """The same rows, computed once, each with a `row` number of its own."""
        return self.backend.create_table(temporary_name(), table.mutate(row=ibis.row_number()), temp=True)

    def drop(self, table: ir.Table) -> None:
        """Give the room of a kept table back."""
        with contextlib.suppress(Exception):  # the connection may be gone, and its temporary tables with it
            self.backend.raw_sql(f"DROP TABLE {table.get_name()}")

    def upload(self, table: pa.Table) -> ir.Table:
        return ibis.memtable(table)

    def fetch(self, table: ir.Table) -> pa.Table:
        return self.backend.to_pyarrow(table)


def _mended(types: Mapping[str, pa.DataType]) -> dict[str, str]:
    """The SQL of columns that Ibis has no type for: lists spelled as text, nanoseconds with a zone."""
    lists = {c: spelled_list(c, TEXT_TYPES[c], careful=True) for c in _LISTS if c in types and is_text(types[c])}
    day = types.get("day")
    zoned = day is not None and pa.types.is_timestamp(day) and day.unit == "ns" and day.tz is not None
    return lists | ({"day": "make_timestamp_ns(epoch_ns(day))"} if zoned else {})


def in_list_form(log: Log, needed: Sequence[str], engine: Relational) -> ir.Table:
    """The log's rows in list form, with the columns that tell which are good, ids as text."""
    columns = log.to_read(needed)
    tables = []
    for part, found in zip(log.parts, log.found, strict=True):
        chosen = {c: found[c] for c in columns}
        if isinstance(part, LongPart):
            names = ["impression", "position", *(_LONG.get(c, c) for c in chosen)]
            tables += [
                x.typed(engine.scan(inner, {c: wanted[c] for c in names}), inner.name)
                for inner, wanted in zip(part.parts, part.wanted, strict=True)
            ]
        else:
            tables.append(x.typed(engine.scan(part, chosen), part.name))
    for column in {c for t in tables for c in t.columns}:  # what only some files have to say
        nothing = ibis.literal(0, "int64") if column == "folding" else ibis.literal(False)
        tables = [t if column in t.columns else t.mutate(**{column: nothing}) for t in tables]
    table = ibis.union(*(t.select(sorted(t.columns)) for t in tables)) if len(tables) > 1 else tables[0]
    return x.fold(table) if isinstance(log.parts[0], LongPart) else table


@dataclass
class OwnBackend:
    """`engine="ibis"`: an Ibis table is counted by its own database, anything else by DuckDB through Ibis."""

    name: str = "ibis"

    def count(self, log: Log, plan: Plan) -> Pass:
        if log.table is not None:
            return Relational(log.table.get_backend()).count(log, plan)
        return Relational(ibis.duckdb.from_connection(connect_apart())).count(log, plan)


class RelationalPass:
    """One log, gathered and counted by a backend; `moments` weighs the gathered rows."""

    def __init__(self, log: Log, plan: Plan, engine: Relational) -> None:
        if plan.metric not in log.columns:
            raise InputError(f"{log.name}: the log has no column {plan.metric!r}")
        self.log, self.plan, self.engine = log, plan, engine
        counted = ["items", plan.metric]
        counted += (["propensity"] if plan.by_propensity else []) + (["day"] if plan.days or plan.by_day else [])
        counted += ["cluster"] if plan.clusters else []
        counted += ["item_propensities"] if plan.by_item else []
        needed = {"query", *counted, "impressions", "segment"}
        needed |= {"day", "reward"} if plan.overview else set()
        repeat = plan.metric == "clicks" and engine.gathers
        self.kept = engine.keep(x.gathered(in_list_form(log, sorted(needed), engine), needed, repeat, log.repair))
        weakref.finalize(self, engine.drop, self.kept)
        self.reading = self._read()
        rows = x.good(self.kept, counted)
        asked = None if plan.queries is None else engine.upload(pa.table({"query": plan.queries.unique()}))
        whole, self.totals = self._totals(rows, asked)
        every = self.totals["rows"] == whole["rows"]  # then nobody needs to look for those asked for
        covered = rows if asked is None or every else rows.semi_join(asked, "query")
        if self.totals["n"] is None:
            raise NoneFound(f"{log.name}: the log has none of the queries asked for: are their ids the same?")
        self.rows = x.cut(covered, plan.top)
        self.counts = self._count(rows if plan.whole_log else covered, whole)

    @property
    def clusters(self) -> ClusterSizes | None:
        if not self.plan.clusters:
            return None
        found = self.engine.fetch(x.cluster_sizes(self.rows))
        sizes, often = numbers(found["size"], np.float64), numbers(found["clusters"], np.float64)
        order = np.argsort(sizes)
        return ClusterSizes(sizes[order], often[order])

    def _totals(self, rows: ir.Table, asked: ir.Table | None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Totals of all rows, and of those of the queries that were asked for."""
        [found] = self.engine.fetch(x.totals(rows, self.plan.top, asked)).to_pylist()
        own = {name.removeprefix("asked_"): value for name, value in found.items() if name.startswith("asked_")}
        return found, own or found

    def _read(self) -> Reading:
        """How many rows are good, and what becomes of the others: an error that shows one, or a file that takes all."""
        log = self.log
        rows_by = {
            RowProblem(row.pop("problem")): row for row in self.engine.fetch(x.by_problem(self.kept)).to_pylist()
        }
        tally = Tally(**rows_by.pop(RowProblem.NONE, {}))
        found = {problem: row["rows"] for problem, row in rows_by.items()}
        for problem, rows in found.items():
            tally.add(log.name, problem, rows)
        if found and log.known is None and log.table is None:
            return self._looked_up(tally)
        bad = self.kept.filter(self.kept["problem"] > 0)
        if found and log.stops:
            [row] = self.engine.fetch(bad.limit(1)).to_pylist()
            raise bad_row(log.name, RowProblem(row["problem"]), shown(_content(row)))
        if log.writes and log.bad_rows is not None:
            with quarantine(log.bad_rows, log.joins) as aside:
                for batch in self.engine.fetch(bad).to_batches(max_chunksize=BATCH_ROWS) if found else ():
                    for row in batch.to_pylist():
                        aside.write(log.name, None, RowProblem(row["problem"]), _content(row), row["rows"])
        if self.plan.overview:
            self._overview(tally)
        return log.read_as(tally)

    def _looked_up(self, tally: Tally) -> Reading:
        """What our own reader says of a log with bad rows: a database does not know where in a file a row stands."""
        reader = self.log.rows([], self.plan.overview)
        for _ in reader:
            pass
        return self.log.again(reader.reading).read_as(tally)

    def _overview(self, tally: Tally) -> None:
        """What a check wants to know of the good rows."""
        good = self.kept.filter(self.kept["problem"] == 0)
        if "day" in good.columns:
            tally.days = set(self.engine.fetch(good.select("day").distinct())["day"].to_pylist())
        if "reward" in good.columns:
            n = good["rows"] * good["impressions"] if "impressions" in good.columns else good["rows"]
            sums = self.engine.fetch(good.aggregate(reward=(good["reward"] * n).sum(), n=n.sum())).to_pylist()[0]
            tally.reward = [float(sums["reward"] or 0.0), float(sums["n"] or 0.0)]

    def _count(self, paired: ir.Table, whole: dict[str, Any]) -> Counts:
        fetch, plan, kinds = self.engine.fetch, self.plan, self.log.kinds()
        depth = int(self.totals["depth"])
        least, largest = (self.totals.get(name) for name in ("least", "largest"))
        origin = float(least or 0.0)  # rewards are counted from here
        valued = x.valued(self.rows, plan.weights(depth), origin)
        queries = fetch(x.per_query(valued))
        queries = queries.take(pa.array(id_order(text(queries["query"]))))
        query_ids = Ids(text(queries["query"]), kinds.native_queries)
        found = fetch(x.per_pair(paired if plan.all_items else x.cut(paired, plan.top)))
        item_ids = in_order(Ids(text(pc.unique(found["item"])), kinds.native_items))[0]
        of_query, of_item = query_ids.codes(text(found["query"])), item_ids.codes(text(found["item"]))
        asked_for = of_query >= 0
        lengths = numbers(queries["length"], np.int64)
        pairs = Pairs.build(query_ids, item_ids, of_query[asked_for], of_item[asked_for], lengths, depth)
        tally = tallied(found, pairs.find(of_query, of_item), len(pairs), depth)
        whole_log = None
        if plan.whole_log:
            names = in_order(Ids(text(pc.unique(found["query"]))))[0]
            codes = (names.codes(text(found["query"])) << 32) | of_item
            distinct, rows = np.unique(codes, return_inverse=True)
            whole_log = tallied(found, rows, len(distinct), int(whole["depth"]))
        rankings, pages = self._rankings(valued, pairs)
        return Counts(
            pairs=pairs,
            impressions=numbers(queries["impressions"], np.int64),
            reward=numbers(queries["reward"], np.float64),
            reward2=numbers(queries["reward2"], np.float64),
            cells=tally.cells,
            shown=tally.shown,
            clicked=tally.clicked,
            rankings=rankings,
            log_impressions=int(whole["n"]),
            longest=int(self.totals["longest"]),
            origin=origin,
            whole=whole_log,
            pages=pages,
            extremes=(float(least), float(largest)) if least is not None and largest is not None else None,
            looks=self._looks(pairs) if plan.looks else None,
            patterns=self._patterns(pairs) if plan.patterns else None,
            days=self._days(valued),
            item_chances=ItemChances(
                *self._by_cell(x.item_chances(self.rows), pairs, tally.cells, ("inverse", "clicked", "least"))
            )
            if plan.by_item
            else None,
        )

    def _by_cell(self, table: ir.Table, pairs: Pairs, cells: Cells, names: Sequence[str]) -> list[Vector]:
        """Columns of a table by (query, item, position), of each cell."""
        found = self.engine.fetch(table)
        rows = pairs.find(pairs.query_ids.codes(text(found["query"])), pairs.item_ids.codes(text(found["item"])))
        at, out = cells.find(rows, numbers(found["position"], np.int64)), []
        for name in names:
            values = np.zeros(len(cells))
            values[at] = numbers(found[name], np.float64)
            out.append(values)
        return out

    def trimmed(self, pairs: Pairs, cells: Cells, floor: Vector) -> Trimmed:
        table = self._cells_table() | {"floor": floor[self._cells_in(pairs, cells)]}
        found = x.trimmed(self.rows, self.engine.upload(pa.table(table)), UNDER)
        return Trimmed(*self._by_cell(found, pairs, cells, ("inverse", "clicked", "under")))

    def _cells_table(self) -> dict[str, Any]:
        """Query, item and position of each cell that was counted."""
        own, mine = self.counts.pairs, self.counts.cells.rows
        return {
            "query": own.query_ids.texts.take(pa.array(own.queries[mine])),
            "item": own.item_ids.texts.take(pa.array(own.items[mine])),
            "position": self.counts.cells.positions,
        }

    def _cells_in(self, pairs: Pairs, cells: Cells) -> Codes:
        """Which of these cells each that was counted is."""
        mine = self.counts.cells
        return cells.find(pairs.rows_of(self.counts.pairs)[mine.rows], mine.positions)

    def _looks(self, pairs: Pairs) -> LookCounts:
        found = self.engine.fetch(x.looks_per_pair(self.rows))
        rows = pairs.find(pairs.query_ids.codes(text(found["query"])), pairs.item_ids.codes(text(found["item"])))
        table = np.zeros((len(pairs), 4), dtype=np.int64)
        table[rows] = np.stack([numbers(found[c], np.int64) for c in ("to_first", "first", "to_last", "last")], axis=1)
        found = self.engine.fetch(x.last_clicks(self.rows))
        last_at = np.zeros((len(pairs.query_ids), pairs.positions), dtype=np.int64)
        queries = pairs.query_ids.codes(text(found["query"]))
        last_at[queries, numbers(found["position"], np.int64)] = numbers(found["n"], np.int64)
        return LookCounts(table, last_at)

    def _patterns(self, pairs: Pairs) -> Patterns:
        found = self.engine.fetch(x.per_pattern(self.rows, self.plan.by_day, self.plan.by_cluster)).combine_chunks()
        queries, rows = _ranked(found, pairs)
        coded = np.full(rows.shape, -1, dtype=np.int32)
        clicks = numbers(found["clicks"].combine_chunks().flatten(), np.int32)
        coded[rows >= 0] = 2 * rows[rows >= 0] + clicks
        days = numbers(found["day"], np.int64) if self.plan.by_day else None
        clusters = content_keys(text(found["cluster"])) if self.plan.by_cluster else None
        return Patterns(queries, coded, numbers(found["impressions"], np.int64), days, clusters).merged()

    def sample(self, pairs: Pairs) -> Sample:
        own = self.counts.pairs
        per_row = self.counts.log_impressions / max(self.reading.rows, 1)
        chosen = np.flatnonzero(first_pairs(own, self.counts.shown_first, per_row))
        first = {
            "query": own.query_ids.texts.take(pa.array(own.queries[chosen])),
            "first": own.item_ids.texts.take(pa.array(own.items[chosen])),
        }
        found = self.engine.fetch(x.per_sampled(self.rows, self.engine.upload(pa.table(first)))).combine_chunks()
        queries, rows = _ranked(found, pairs)
        coded = np.full(rows.shape, -1, dtype=np.int32)
        coded[rows >= 0] = 2 * rows[rows >= 0] + numbers(found["clicks"].combine_chunks().flatten(), np.int32)
        days = np.full(len(queries), NO_DAY)
        if "day" in found.column_names and self.counts.days is not None:
            days = numbers(pc.fill_null(found["day"], NO_DAY), np.int64)
        part = queries, coded, numbers(found["impressions"], np.int64), days
        return Sample.gathered([part], pairs.positions, self.counts.total)

    def _days(self, valued: ir.Table) -> DaySums | None:
        if not self.plan.days or "day" not in valued.columns:
            return None
        found = self.engine.fetch(x.per_day(valued, MOST_DAYS + 1))
        if not 0 < len(found) <= MOST_DAYS:
            return None
        names = {"day": np.int64, "impressions": np.int64, "reward": np.float64, "reward2": np.float64}
        return DaySums.gathered(*(numbers(found[name], kind) for name, kind in names.items()))

    def _all_rankings(self) -> bool:
        """Whether every ranking is fetched, and not only those that the target can show."""
        pages = self.plan.pages
        return self.plan.rankings == "all" or pages == "all" or (pages == "fit" and self.totals["rows"] <= FETCHED)

    def _rankings(self, valued: ir.Table, pairs: Pairs) -> tuple[Rankings | None, Rankings | None]:
        """The rankings that are wanted, and all impressions where they are: these grouped by their value, too."""
        plan, pages = self.plan, None
        if self._all_rankings() and plan.rankings != "all":
            found = self._fetched(x.per_ranking(valued, plan.by_propensity, by_value=True), pairs)
            pages = found.taken(row_order(found.queries, found.rows)[0])
        if plan.rankings == "none":
            return None, pages
        if isinstance(plan.rankings, WantedRankings):
            valued = valued.semi_join(
                self.engine.upload(beginnings(plan.rankings, pairs.positions)), ["query", "items"]
            )
        rankings = self._fetched(x.per_ranking(valued, plan.by_propensity), pairs).merged()
        return rankings, rankings if plan.rankings == "all" else pages

    def _fetched(self, groups: ir.Table, pairs: Pairs) -> Rankings:
        found = self.engine.fetch(groups).combine_chunks()
        queries, rows = _ranked(found, pairs)
        return Rankings(
            queries=queries,
            rows=rows,
            impressions=numbers(found["impressions"], np.float64),
            reward=numbers(found["reward"], np.float64),
            reward2=numbers(found["reward2"], np.float64),
            propensity=numbers(found["propensity"], np.float64) if self.plan.by_propensity else None,
        )

    def adopt(self, counts: Counts) -> None:
        """What the database counted goes by its own pairs."""

    def moments(self, coefficients: Coefficients) -> Moments:
        pairs, own = coefficients.pairs, self.counts.pairs
        at, positions = self._cells_in(pairs, coefficients.cells), self.counts.cells.positions
        table: dict[str, Vector] = {}
        estimators = range(len(coefficients.scale))
        weights, offsets = coefficients.whole()
        for e in estimators:
            weight = weights[e][at]
            table |= {f"weight{e}": weight, f"scaled{e}": weight * coefficients.scale[e][positions]}
            table[f"offset{e}"] = offsets[e][at]
        for j, each in enumerate(coefficients.own):
            weight = each.weight[at]
            table |= {f"own_weight{j}": weight, f"own_scaled{j}": weight * coefficients.scale[each.of][positions]}
            table |= {f"own_offset{j}": each.offset[at], f"own_floor{j}": each.floor[at]}
        columns, known_as = _told_once(table)
        uploaded = self.engine.upload(pa.table(self._cells_table() | columns))
        weighed = x.weighed(self.rows, uploaded, known_as, estimators, [each.of for each in coefficients.own])
        weighed = self.engine.keep(weighed)  # it is read several times
        found = self.engine.fetch(x.moments(weighed, estimators, coefficients.cross))
        out = np.zeros((len(own.query_ids), len(estimators), 4))
        cross = np.zeros((len(estimators), len(estimators)))
        codes = own.query_ids.codes(text(found["query"]))
        for e in estimators:
            for other in range(e) if coefficients.cross else ():
                cross[e, other] = cross[other, e] = numbers(found[f"cross{e}_{other}"], np.float64).sum()
            for i, name in enumerate(("r", "r2", "w", "w2")):
                out[codes, e, i] = numbers(found[f"{name}_{e}"], np.float64)
            cross[e, e] = out[:, e, 1].sum()
        constants = {"query": own.query_ids.texts} | {
            f"constant{e}": coefficients.constant[e][pairs.query_ids.codes(own.query_ids.texts)] for e in estimators
        }
        known = self.engine.upload(pa.table(constants))
        found = self.engine.fetch(x.spread(weighed, known, estimators))
        clusters = self._cluster_terms(weighed, known, estimators) if self.plan.clusters else None
        by_query = self._query_units(weighed, coefficients.by_query) if coefficients.by_query else {}
        self.engine.drop(weighed)
        of, bucket = numbers(found["of"], np.int64), numbers(found["bucket"], np.int64)
        n, total = numbers(found["n"], np.float64), numbers(found["total"], np.float64)
        every = [Histogram.filled(bucket[of == i], n[of == i], total[of == i]) for i in range(3 * len(estimators))]
        spreads = [Spreads(*every[3 * e : 3 * e + 3]) for e in estimators]
        return Moments(out, cross, spreads, clusters, by_query)

    def _cluster_terms(self, weighed: ir.Table, known: ir.Table, estimators: Sequence[int]) -> list[ClusterTerms]:
        found = self.engine.fetch(x.by_cluster(weighed, known, estimators))
        n = numbers(found["n"], np.float64)
        nowhere, out = np.zeros(len(n), dtype=np.int64), []
        for e in estimators:
            psi, term = (numbers(found[f"{name}{e}"], np.float64) for name in ("influence", "term"))
            out.append(ClusterTerms(float(psi @ psi), QueryUnits.of(nowhere, term, None, n)))
        return out

    def _query_units(self, weighed: ir.Table, estimators: Sequence[int]) -> dict[int, QueryUnits]:
        found = self.engine.fetch(x.by_query(weighed, estimators))
        of, query = numbers(found["of"], np.int64), self.counts.pairs.query_ids.codes(text(found["query"]))
        size, bucket = numbers(found["size"], np.float64), numbers(found["bucket"], np.int64)
        n, total = numbers(found["n"], np.float64), numbers(found["total"], np.float64)
        columns = query, size, bucket, n, total
        return {e: QueryUnits.gathered(*(each[of == i] for each in columns)) for i, e in enumerate(estimators)}


def _told_once(table: Mapping[str, Vector]) -> tuple[dict[str, Vector], dict[str, str | float]]:
    """The columns that differ, and for each name the column that has its numbers, or its number where all are one.

    Estimators share many of their coefficients, and what is sent to every worker should be small.
    """
    columns: dict[str, Vector] = {}
    known_as: dict[str, str | float] = {}
    seen: dict[bytes, str] = {}
    for name, values in table.items():
        if len(values) and (values == values[0]).all():
            known_as[name] = float(values[0])
            continue
        known_as[name] = seen.setdefault(blake2b(values.tobytes()).digest(), name)
        columns |= {name: values} if known_as[name] == name else {}
    return columns, known_as


def _ranked(found: pa.Table, pairs: Pairs) -> tuple[Codes, Codes]:
    """The query of each row, and its items as rows of `pairs`, -1 beyond the end."""
    queries = pairs.query_ids.codes(text(found["query"]))
    lists = found["items"].combine_chunks()
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    rows = np.full((len(found), pairs.positions), -1, dtype=np.int64)
    inside = np.arange(pairs.positions) < lengths[:, None]
    rows[inside] = pairs.find(np.repeat(queries, lengths), pairs.item_ids.codes(text(lists.flatten())))
    return queries, rows


def _content(row: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in row.items() if k not in ("problem", "row", "rows", "folding", "timed", "repaired")}
