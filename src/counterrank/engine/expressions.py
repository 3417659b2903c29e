"""The statistics of a log as Ibis expressions: DuckDB, Spark or a warehouse runs them as they are.

Equal rows are gathered first, as one with `rows`, how many there were; everything is counted from the gathered rows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
from numpy.typing import NDArray

from counterrank.engine.calendar import day_number
from counterrank.errors import InputError
from counterrank.limits import LARGEST
from counterrank.log.keys import SEPARATOR
from counterrank.log.problems import RowProblem
from counterrank.statistics.histogram import NUDGE

# what the rows of an impression have in common
PAGE = ("query", "reward", "day", "propensity", "impressions", "cluster", "segment")
NUMBERS = ("reward", "propensity", "item_propensity", "impressions", "position", "click")
LISTS = ("items", "clicks", "item_propensities")


def typed(table: ir.Table, name: str) -> ir.Table:
    """Our columns (list or long form) as text ids, float numbers and whole days; anything else is an error.

    `timed` says whether the day was told as a time since 1970, `folding` what the reader of a file found wrong.
    """
    t: Any = table
    columns = {c: _typed(t[c], c, f"{name}: {c}") for c in t.columns if c != "problem_"}
    if "day" in columns:
        columns["day"], columns["timed"] = day_number(t.day, f"{name}: day")
    if "problem_" in t.columns:
        columns["folding"] = t.problem_.cast("int64")
    return table.select(**columns)


def _typed(column: Any, name: str, what: str) -> Any:
    kind = column.type()
    if name in LISTS:
        if kind.is_null():
            return column.cast("array<string>" if name == "items" else "array<float64>")
        if not kind.is_array():
            raise InputError(f"{what} must be a list, but came as {kind}")
        if name != "items":
            _check_number(kind.value_type, what, "a list of 0 and 1" if name == "clicks" else "a list of numbers")
            return column.cast("array<float64>")
        if kind.value_type.is_floating():
            return column.map(lambda item: _id_text(item, what))
        _id_text(ibis.null().cast(kind.value_type), what)
        return column.cast("array<string>")
    if name in NUMBERS:
        _check_number(kind, what, "a number")
        return column.cast("float64")
    if name == "day":
        return column
    if name == "impression":
        return _id_text(column, what) if kind.is_floating() else column.cast("string")
    return _id_text(column, what)


def _id_text(column: Any, what: str) -> Any:
    """An id as text: integers as their digits, whole floats as integers; null for what is no id."""
    kind = column.type()
    if kind.is_floating():
        number = column.cast("float64")
        fits = (number.abs() < 2.0**63) & ~number.isnan()
        safe = ibis.ifelse(fits, number, ibis.null().cast("float64"))  # else it cannot be rounded down
        return ibis.ifelse(safe == safe.floor(), safe, ibis.null().cast("float64")).cast("int64").cast("string")
    if kind.is_string():
        return ibis.ifelse(unnamed(column), ibis.null().cast("string"), column)
    whole = kind.is_decimal() and kind.scale == 0
    if not (kind.is_integer() or kind.is_null() or kind.is_uuid() or whole):
        raise InputError(f"{what} must be text or whole numbers, but came as {kind}: store them as text or integers")
    return column.cast("string")


def unnamed(text: Any) -> Any:
    """Whether a text is no id: missing, empty, or with a zero byte."""
    return (text.isnull() | (text == "") | text.re_search(r"\x00")).fill_null(True)


def _check_number(kind: dt.DataType, what: str, expected: str) -> None:
    if not (kind.is_numeric() or kind.is_boolean() or kind.is_null()):
        raise InputError(f"{what} must be {expected}, but came as {kind}")


def fold(table: ir.Table) -> ir.Table:
    """The long form (typed) as the list form, with what is wrong in an impression as `folding`."""
    t: Any = table
    fields = {"position": t.position, "item": t.item}
    fields |= {c: t[c] for c in ("click", "item_propensity") if c in t.columns}
    page = [c for c in PAGE if c in t.columns]
    kinds = {f"{c}_kinds": t[c].nunique() + t[c].isnull().any().cast("int64") for c in page}
    t = t.mutate(alone=ibis.ifelse(t.impression.isnull(), ibis.random(), 0.0))  # a row of no impression is no other's
    g: Any = t.group_by(["impression", "alone"]).agg(
        shown=ibis.struct(fields).collect(),
        length=t.count(),
        places=t.position.nunique(),
        lowest=t.position.min(),
        highest=t.position.max(),
        whole=(t.position == t.position.floor()).all(),
        **{c: t[c].arbitrary() for c in page},
        **{c: t[c].max() for c in ("timed", "folding") if c in t.columns},
        **kinds,
    )
    in_order = (g.places == g.length) & (g.lowest == 1) & (g.highest == g.length) & g.whole
    differs = ibis.or_(*(g[name] > 1 for name in kinds))
    lists = {"items": g.shown.sort().map(lambda one: one.item)}
    if "click" in fields:
        lists["clicks"] = g.shown.sort().map(lambda one: one.click)
    if "item_propensity" in fields:
        lists["item_propensities"] = g.shown.sort().map(lambda one: one.item_propensity)
    found = [(g["folding"] > 0, g["folding"])] if "folding" in t.columns else []
    folding = ibis.cases(
        *found,
        (g.impression.isnull(), int(RowProblem.IMPRESSION)),
        (differs, int(RowProblem.DIFFERS)),
        (~in_order.fill_null(False), int(RowProblem.POSITIONS)),
        else_=0,
    )
    page += ["timed"] if "timed" in t.columns else []
    return g.select(**{c: g[c] for c in page}, **lists, folding=folding)


def gathered(table: ir.Table, needed: Collection[str], repeat: bool, repair: bool = False) -> ir.Table:
    """Equal rows as one (where they may repeat), each with its first problem (0: none).

    Good rows are equal if they are in the columns `needed`; they lose the others. Bad rows keep all. With `repair` an
    item that is repeated keeps its first place only; `repaired` says where.
    """
    others = [c for c in table.columns if c not in (*needed, "folding", "timed")]
    if others:  # every row has to be looked at before it can be gathered
        table = table.mutate(problem=_problem(table, repair))
        good = table["problem"] == 0
        table = table.mutate(**{c: ibis.ifelse(good, ibis.null().cast(table[c].type()), table[c]) for c in others})
    if repeat:
        table = table.group_by(list(table.columns)).agg(rows=table.count().cast("int64"))
    else:
        table = table.mutate(rows=ibis.literal(1, "int64"))
    table = table if others else table.mutate(problem=_problem(table, repair))
    return _repaired(table) if repair else table


def _repaired(table: ir.Table) -> ir.Table:
    t: Any = table
    repeats = (t.problem == 0) & (t["items"].unique().length() < t["items"].length())
    first = t["items"].filter(lambda item, k: t["items"].index(item) == k)
    columns = {"items": ibis.ifelse(repeats, first, t["items"]), "repaired": repeats}
    if "clicks" in t.columns:
        clicked = t.clicks.map(lambda _, k: t.clicks.filter(lambda _, j: t["items"][j] == t["items"][k]).maxs())
        kept = clicked.filter(lambda _, k: t["items"].index(t["items"][k]) == k)
        columns["clicks"] = ibis.ifelse(repeats, kept, t.clicks)
    if "item_propensities" in t.columns:
        kept = t.item_propensities.filter(lambda _, k: t["items"].index(t["items"][k]) == k)
        columns["item_propensities"] = ibis.ifelse(repeats, kept, t.item_propensities)
    return table.mutate(**columns)


def by_problem(kept: ir.Table) -> ir.Table:
    """How many rows have each problem (0: none), and in how many the day was a time and an item was repeated."""
    t: Any = kept
    flags = {c: ibis.ifelse(t[c], t.rows, 0).sum().cast("int64") for c in ("timed", "repaired") if c in t.columns}
    return kept.group_by("problem").agg(rows=t.rows.sum().cast("int64"), **flags)


def _problem(table: ir.Table, repair: bool) -> Any:
    t: Any = table
    has = set(table.columns)
    bad: list[tuple[Any, RowProblem]] = [
        (t["query"].isnull(), RowProblem.QUERY),
        (t["items"].isnull() | (t["items"].length() == 0), RowProblem.ITEMS),
        (t["items"].filter(unnamed).length() > 0, RowProblem.ITEM),
    ]
    if not repair:
        bad.append((t["items"].unique().length() < t["items"].length(), RowProblem.REPEATED))
    if "clicks" in has:
        wrong = t.clicks.filter(lambda click: click.isnull() | ~click.isin([0.0, 1.0]))
        bad.append((t.clicks.isnull(), RowProblem.CLICKS))
        bad.append((t.clicks.length() != t["items"].length(), RowProblem.LENGTH))
        bad.append((wrong.length() > 0, RowProblem.CLICK))
    if "reward" in has:
        bad.append((~_finite(t.reward), RowProblem.REWARD))
        bad.append((t.reward.abs() > LARGEST, RowProblem.LARGE))
    if "propensity" in has:
        bad.append((~((t.propensity > 0) & (t.propensity <= 1) & _finite(t.propensity)), RowProblem.PROPENSITY))
    if "item_propensities" in has:
        own = t.item_propensities
        outside = own.filter(lambda p: (~((p > 0) & (p <= 1) & ~p.isnan())).fill_null(True))
        bad.append((own.isnull() | (own.length() != t["items"].length()), RowProblem.ITEM_PROPENSITIES))
        bad.append((outside.length() > 0, RowProblem.ITEM_PROPENSITY))
    if "impressions" in has:
        m = t.impressions
        bad.append((~(_finite(m) & (m >= 1) & (m < 2**53) & (m == m.floor())), RowProblem.IMPRESSIONS))
    if "day" in has:
        bad.append((t.day.isnull(), RowProblem.DAY))
    if "cluster" in has:
        bad.append((unnamed(t.cluster), RowProblem.CLUSTER))
    if "segment" in has:
        bad.append((unnamed(t.segment) | t.segment.contains(SEPARATOR), RowProblem.SEGMENT))
    first = ibis.cases(*((where.fill_null(True), int(what)) for where, what in bad), else_=0)
    return ibis.ifelse(t.folding > 0, t.folding, first).cast("int64") if "folding" in has else first.cast("int64")


def _finite(number: Any) -> Any:
    """Neither null, NaN nor infinite: only then is it 0 when multiplied by 0.

    `isnan` would not do: DuckDB answers it from a Parquet file's statistics, which leave NaN out.
    """
    return (number.notnull() & (number * 0.0 == 0.0)).fill_null(False)


def good(kept: ir.Table, columns: Collection[str]) -> ir.Table:
    """The rows without problems, with these columns: `n` impressions each, of a list of `length` items."""
    t: Any = kept.filter(kept["problem"] == 0)
    n = t.rows * t.impressions.cast("int64") if "impressions" in t.columns else t.rows
    chosen = {c: t[c] for c in ("row", "query", *columns) if c in t.columns}
    if "segment" in t.columns:  # what a query is told apart by
        chosen["query"] = t["query"].concat(SEPARATOR, t.segment)
    return t.select(**chosen, n=n, length=t["items"].length().cast("int64"))


def cut(rows: ir.Table, top: int | None) -> ir.Table:
    """Lists down to position `top`; `length` is then the cut one."""
    if top is None:
        return rows
    lists = {c: rows[c][:top] for c in LISTS if c in rows.columns}
    return rows.mutate(**lists, length=ibis.least(rows["length"], ibis.literal(top, "int64")))


def totals(rows: ir.Table, top: int | None, asked: ir.Table | None = None) -> ir.Table:
    """One row: impressions, rows, the longest list, the longest down to `top`, the least and largest reward.

    Given the queries that were `asked` for, the same of their rows alone too, as `asked_…`.
    """
    t: Any = rows
    where = {"": None}
    if asked is not None:
        known = asked.select(asked=asked["query"])
        t = rows.left_join(known, rows["query"] == known["asked"])
        where["asked_"] = t.asked.notnull()
    depth = ibis.least(t.length, ibis.literal(top, "int64")) if top is not None else t.length
    found: dict[str, Any] = {}
    for name, only in where.items():
        found |= {f"{name}n": t.n.sum(where=only).cast("int64"), f"{name}rows": t.count(where=only)}
        found |= {f"{name}longest": t.length.max(where=only), f"{name}depth": depth.max(where=only)}
        if "reward" in rows.columns:
            found |= {f"{name}least": t.reward.min(where=only), f"{name}largest": t.reward.max(where=only)}
    return t.aggregate(**found)


def valued(rows: ir.Table, theta: NDArray[Any], origin: float) -> ir.Table:
    """Cut rows with the `value` of each: its reward from the origin, or the weighted sum of its clicks."""
    t: Any = rows
    if "reward" in rows.columns:
        return rows.mutate(value=t.reward - origin)
    weights: Any = ibis.array([float(w) for w in theta])
    worth = t.clicks if (theta == 1).all() else t.clicks.map(lambda click, k: click * weights[k])
    return rows.mutate(value=worth.sums())


def _sums(t: Any) -> dict[str, Any]:
    return {
        "impressions": t.n.sum().cast("int64"),
        "reward": (t.n * t.value).sum(),
        "reward2": (t.n * t.value * t.value).sum(),
    }


def per_query(rows: ir.Table) -> ir.Table:
    """Impressions, Σ value, Σ value² and the longest cut list of each query, from valued rows."""
    return rows.group_by("query").agg(**_sums(rows), length=rows["length"].max())


def per_day(rows: ir.Table, most: int) -> ir.Table:
    """Impressions, Σ value and Σ value² of each day, from valued rows; of `most` days at most."""
    return rows.group_by("day").agg(**_sums(rows)).limit(most)


def exploded(rows: ir.Table, *also: str) -> ir.Table:
    """A row per shown item: position (from 0), item and click (0 where there are none), and columns named `also`."""
    t: Any = rows
    lists = [c for c in LISTS if c in rows.columns]
    u: Any = t.select("row", "query", "n", "length", *also, *lists, position=ibis.range(0, t.length).unnest())
    click = u.clicks[u.position] if "clicks" in lists else ibis.literal(0.0)
    own = {"chance": u.item_propensities[u.position]} if "item_propensities" in lists else {}
    return u.select("row", "query", "n", "length", *also, "position", item=u["items"][u.position], click=click, **own)


def per_pair(rows: ir.Table) -> ir.Table:
    """Shown and clicked by (query, item, position)."""
    t: Any = exploded(rows)
    sums = {"shown": t.n.sum().cast("int64"), "clicked": (t.n * t.click.cast("int64")).sum().cast("int64")}
    return t.group_by(["query", "item", "position"]).agg(**sums)


def item_chances(rows: ir.Table) -> ir.Table:
    """Σ 1/p, Σ click/p and the least p by (query, item, position), p being the chance of an impression's own item."""
    t: Any = exploded(rows)
    sums = {"inverse": (t.n / t.chance).sum(), "clicked": (t.n * t.click / t.chance).sum(), "least": t.chance.min()}
    return t.group_by(["query", "item", "position"]).agg(**sums)


def trimmed(rows: ir.Table, floors: ir.Table, rounding: float) -> ir.Table:
    """The same with a `floor` under p by (query, item, position), and how many impressions stand on it."""
    t: Any = exploded(rows).inner_join(floors, ["query", "item", "position"])
    part = t.n / ibis.greatest(t.chance, t.floor)
    under = ibis.ifelse(t.chance * rounding < t.floor, t.n, 0)
    sums = {"inverse": part.sum(), "clicked": (part * t.click).sum(), "under": under.sum().cast("float64")}
    return t.group_by(["query", "item", "position"]).agg(**sums)


def read_down(rows: ir.Table) -> ir.Table:
    """Rows with the positions of their `first` and `last` click; with no click, `length` and -1."""
    t: Any = rows
    return rows.mutate(
        first=t.clicks.map(lambda click, k: ibis.ifelse(click == 1.0, k, 1 << 30)).mins().cast("int64"),
        last=t.clicks.map(lambda click, k: ibis.ifelse(click == 1.0, k, -1)).maxs().cast("int64"),
    )


def looks_per_pair(rows: ir.Table) -> ir.Table:
    """By (query, item): shown down to the first click, that click, shown down to the last click, that click."""
    t: Any = exploded(read_down(rows), "first", "last")
    counted = {
        "to_first": t.position <= t["first"],
        "first": t.position == t["first"],
        "to_last": (t.position <= t["last"]) | (t["last"] < 0),
        "last": t.position == t["last"],
    }
    sums = {name: ibis.ifelse(where, t.n, 0).sum().cast("int64") for name, where in counted.items()}
    return t.group_by(["query", "item"]).agg(**sums)


def last_clicks(rows: ir.Table) -> ir.Table:
    """Last clicks by (query, position)."""
    t: Any = read_down(rows)
    t = t.select("query", "n", position=t["last"])
    return t.filter(t.position >= 0).group_by(["query", "position"]).agg(n=t.n.sum().cast("int64"))


def per_pattern(rows: ir.Table, by_day: bool, by_cluster: bool = False) -> ir.Table:
    """Impressions by (query, cut ranking, clicks), and by day or cluster."""
    keys = ["query", "items", "clicks", *(["day"] if by_day else []), *(["cluster"] if by_cluster else [])]
    return rows.group_by(keys).agg(impressions=rows["n"].sum().cast("int64"))


def per_sampled(rows: ir.Table, first: ir.Table) -> ir.Table:
    """Impressions by (query, cut ranking, clicks, day) of the rows whose (query, first item) is one of `first`."""
    t: Any = rows.mutate(first=rows["items"][0])
    t = t.semi_join(first, ["query", "first"])
    return per_pattern(t, by_day="day" in rows.columns)


def per_ranking(rows: ir.Table, by_propensity: bool, by_value: bool = False) -> ir.Table:
    """Sums by (query, cut ranking, propensity and value where asked for)."""
    keys = ["query", "items", *(["propensity"] if by_propensity else []), *(["value"] if by_value else [])]
    return rows.group_by(keys).agg(**_sums(rows))


def weighed(
    rows: ir.Table,
    coefficients: ir.Table,
    known_as: Mapping[str, str | float],
    estimators: Sequence[int],
    own: Sequence[int] = (),
) -> ir.Table:
    """A row per impression: its r, term and mean weight by each estimator.

    From cut rows and (query, item, position) → scaled, weight, offset, each in the column that `known_as` names, or a
    number. `own` has the estimator of each further three, with a floor, which are divided by the impression's own
    propensity.
    """
    unit = ["cluster"] if "cluster" in rows.columns else []
    t: Any = exploded(rows, *unit).inner_join(coefficients, ["query", "item", "position"])
    t = t.mutate(**{c: ibis.literal(one, "float64") for c, one in known_as.items() if not isinstance(one, str)})
    known = {name: t[where if isinstance(where, str) else name] for name, where in known_as.items()}
    sums: dict[str, Any] = {}
    for e in estimators:
        found = {name: known[f"{name}{e}"] for name in ("scaled", "weight", "offset")}
        for j in (j for j, of in enumerate(own) if of == e):
            chance = ibis.greatest(t.chance, known[f"own_floor{j}"])
            found = {name: value + known[f"own_{name}{j}"] / chance for name, value in found.items()}
        sums |= {f"term{e}": (t.click * found["scaled"]).sum(), f"offset{e}": found["offset"].sum()}
        sums |= {f"weight{e}": found["weight"].sum()}
    row: Any = t.group_by(["row", "query", "n", "length", *unit]).agg(**sums)
    each: dict[str, Any] = {}
    for e in estimators:
        each |= {f"r{e}": row[f"term{e}"] - row[f"offset{e}"], f"term{e}": row[f"term{e}"]}
        each |= {f"weight{e}": row[f"weight{e}"] / row.length}
    return row.select("query", "n", *unit, **each)


def moments(weighed: ir.Table, estimators: Sequence[int], cross: bool) -> ir.Table:
    """Σr, Σr², Σw̄, Σw̄² per query and estimator, and with `cross` Σ r·r' of two."""
    row: Any = weighed
    out: dict[str, Any] = {}
    for e in estimators:
        r, w = row[f"r{e}"], row[f"weight{e}"]
        out |= {f"r_{e}": (row.n * r).sum(), f"r2_{e}": (row.n * r * r).sum()}
        out |= {f"w_{e}": (row.n * w).sum(), f"w2_{e}": (row.n * w * w).sum()}
        others = [other for other in estimators if other < e] if cross else []
        out |= {f"cross{e}_{other}": (row.n * r * row[f"r{other}"]).sum() for other in others}
    return row.group_by("query").agg(**out)


def spread(weighed: ir.Table, constants: ir.Table, estimators: Sequence[int]) -> ir.Table:
    """Counts and sums by bucket: of = 3·e for the influences of estimator e, + 1 its terms, + 2 its mean weights."""
    row: Any = weighed.inner_join(constants, ["query"])
    values = [
        each for e in estimators for each in (row[f"r{e}"] + row[f"constant{e}"], row[f"term{e}"], row[f"weight{e}"])
    ]
    each = _stacked(row.select(n=row.n, values=_floats(values)), len(values), "n")
    return each.group_by(["of", "bucket"]).agg(n=each.n.sum(), total=(each.n * each.value).sum())


def _floats(values: Sequence[Any]) -> Any:
    return ibis.array([value.cast("float64") for value in values])


def _stacked(rows: ir.Table, size: int, *also: str) -> Any:
    """A row for each of the `size` numbers of `values`: `of`, which it is, its `value` and its `bucket`.

    So all of them are counted in one grouping, where one for each would read the rows as often.
    """
    t: Any = rows.select(*also, "values", of=ibis.range(0, ibis.literal(size, "int64")).unnest())
    t = t.select(*also, "of", value=t["values"][t["of"]])
    return t.mutate(bucket=_bucket(t["value"]))


def by_cluster(weighed: ir.Table, constants: ir.Table, estimators: Sequence[int]) -> ir.Table:
    """A row per cluster: its impressions `n`, and by each estimator the sums of its terms and of its influences."""
    row: Any = weighed.inner_join(constants, ["query"])
    sums: dict[str, Any] = {"n": row.n.sum().cast("int64")}
    for e in estimators:
        sums[f"term{e}"] = (row.n * row[f"term{e}"]).sum()
        sums[f"influence{e}"] = (row.n * (row[f"r{e}"] + row[f"constant{e}"])).sum()
    return row.group_by("cluster").agg(**sums)


def by_query(weighed: ir.Table, estimators: Sequence[int]) -> ir.Table:
    """Units by query, size and bucket of their terms, with their sums: impressions, or clusters within a query."""
    row: Any = weighed
    if "cluster" in weighed.columns:
        sums = {f"term{e}": (row.n * row[f"term{e}"]).sum() for e in estimators}
        row = row.group_by(["query", "cluster"]).agg(size=row.n.sum().cast("int64"), **sums)
        row = row.mutate(n=ibis.literal(1, "int64"))
    else:
        row = row.mutate(size=ibis.literal(1, "int64"))
    values = _floats([row[f"term{e}"] for e in estimators])
    each = _stacked(row.select("query", "size", "n", values=values), len(estimators), "query", "size", "n")
    return each.group_by(["of", "query", "size", "bucket"]).agg(n=each.n.sum(), total=(each.n * each.value).sum())


def cluster_sizes(rows: ir.Table) -> ir.Table:
    """How many clusters have so many impressions."""
    found: Any = rows.group_by("cluster").agg(size=rows["n"].sum().cast("int64"))
    return found.group_by("size").agg(clusters=found.count().cast("int64"))


def _bucket(value: Any) -> Any:
    """As `statistics.histogram.bucket_of`: the sign, the exponent and three bits of the number."""
    size = value.abs()
    safe = (size > 0).ifelse(size, 1.0) * NUDGE
    exponent = safe.log2().floor()
    fraction = safe / (exponent.cast("float64") * math.log(2)).exp()
    eighth = ((fraction - 1.0) * 8.0).floor().clip(0, 7)
    found = (value < 0).ifelse(1 << 14, 0) + (exponent + 1023) * 8 + eighth
    return (size > 0).ifelse(found, 0).cast("int64")
