"""li2018, section 6: figures 1 to 5 on real logs, and on a simulated one whose responses change.

The paper's Yandex data (27 days, 167 million queries) is not at hand. `clara2` has days, but few pages per query and
day; `yandex-sample` has many pages of 20 queries but no time, so that each page gets one of ten folds at random in
place of a day: there nothing can change from one fold to the next. The simulated log has position-based users and a
logging policy that reorders its results each day, as in section 6.5; its twin has the same world with nothing changing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.backtesting.backtest import CLIPS, backtest
from counterrank.backtesting.days import Days, sums
from counterrank.backtesting.result import Backtest
from counterrank.engine import open_engine
from counterrank.lab import figures, need
from counterrank.lab.li2018_findings import AT, WEIGHTED, findings, gaps
from counterrank.lab.result import PaperTable, Reproduction
from counterrank.log import Log, read_log
from counterrank.log.foreign import FORMATS
from counterrank.log.reading import Reading
from counterrank.records import dataclass
from counterrank.simulate import make_world, simulate
from counterrank.words import number

SEED = 2018
FOLDS = 10
DAYS = 27
FREQUENT = 100  # most frequent queries: figures 2, 4 and 5
TAIL = 1000  # figure 3: the queries from there down to this rank
QUICK_CLIPS = (5.0, 10.0, 100.0, 1000.0, np.inf)


@dataclass(frozen=True)
class Experiment:
    """One figure on one log."""

    key: str  # also the picture's name
    figure: str
    log: str
    title: str
    result: Backtest


def reproduce(data: Path | None, out: Path | None = None, quick: bool = False) -> Reproduction:
    """Figures 1 to 5 as numbers and, where `out` is given and Altair is installed, as pictures."""
    clara2, yandex, notes = _real(data)
    changing, still = _simulated(quick)
    clips = QUICK_CLIPS if quick else CLIPS
    many = 200 if quick else 1000

    def run(
        key: str, figure: str, log: Log, name: str, which: str, queries: int | slice | list[str] | None
    ) -> Experiment:
        result = backtest(log, queries=queries, clips=clips, replicates=many, seed=SEED)
        return Experiment(key, figure, name, f"{name}: {which}", result)

    counted = {"clara2": _days(clara2), "yandex-sample": _days(yandex), "changing": _days(changing)}
    by_log = {name: days for name, (days, _) in counted.items()}
    one, other = _varied_query(by_log["clara2"]), _varied_query(by_log["yandex-sample"])
    experiments = [
        run("figure1-clara2", "1", clara2, "clara2", f"query {one}", [one]),
        run("figure1-yandex-sample", "1", yandex, "yandex-sample", f"query {other}", [other]),
        run("figure2-clara2", "2", clara2, "clara2", f"its {FREQUENT} most frequent queries", FREQUENT),
        run("figure2-yandex-sample", "2", yandex, "yandex-sample", "its 20 queries, random folds as days", None),
        run("figure2-changing", "2", changing, "changing", "simulated, each day reorders its results", None),
        run("figure2-still", "2", still, "still", "simulated, the same world with nothing changing", None),
        run("figure3-clara2", "3", clara2, "clara2", f"its next {TAIL - FREQUENT} queries", slice(FREQUENT, TAIL)),
    ]
    series = {name: _changing_query(by_log[name]) for name in ("clara2", "changing")}
    pictures: list[str] = []
    if out is not None and not figures.drawable():
        notes.append(figures.WITHOUT)
    elif out is not None:
        pictures = _draw(experiments, series, out)
    return Reproduction(
        paper="li2018",
        tables=_tables(experiments) + _comparison({e.log: e.result for e in experiments if e.figure == "2"}, series),
        findings=findings({e.key: e.result for e in experiments}),
        numbers={**{e.key: e.result.to_dict() for e in experiments}, "figure5": series},
        pictures=pictures,
        notes=notes,
        reading=counted["clara2"][1] + counted["yandex-sample"][1],
    )


def _real(data: Path | None) -> tuple[Log, Log, list[str]]:
    clara2, train, test = need(
        data, "clara2/search-log.tsv.gz", "yandex-sample/trainSample.gz", "yandex-sample/testSample.gz"
    )
    log = read_log(clara2, format="yandex")
    pages = FORMATS["yandex"]([train, test], time_unit=None)
    fold = np.random.default_rng(SEED).integers(0, FOLDS, pages.table.num_rows)
    folded = pages.table.append_column("day", pa.array(fold))
    notes = [f"clara2: {note}" for note in log.notes] + [f"yandex-sample: {note}" for note in pages.notes]
    return log, read_log(folded), notes


def _simulated(quick: bool) -> tuple[Log, Log]:
    """100 queries alike in frequency, 27 days; with drift each day ranks by other scores, users stay as they are."""
    world = make_world(queries=100, items=20, k=10, users="pbm", seed=SEED, zipf=0.0, temperature=0.5)
    size = DAYS * 100 * (10 if quick else 40)
    tables = [simulate(world, size, np.random.default_rng(SEED), days=DAYS, drift=drift) for drift in (2.0, 0.0)]
    changing, still = (read_log(table) for table in tables)
    return changing, still


def _days(log: Log) -> tuple[Days, Reading]:
    log.need_days()
    run = open_engine("duckdb").count(log, Days.plan())
    return Days.of(run.counts), run.reading


def _rare(days: Days) -> NDArray[np.bool_]:
    """Queries that are not among the most frequent."""
    return np.asarray(days.per_query < np.sort(days.per_query)[-min(FREQUENT, len(days.names))])


def _varied_query(days: Days) -> str:
    """Figure 1: of the 100 most frequent queries, the one with the most distinct lists (the paper's has 63).

    Where all pages show one list, every estimator gives the log's mean, so the most frequent query may show nothing.
    """
    chosen = np.lexsort((days.per_query, np.where(_rare(days), 0, days.distinct_lists)))[-1]
    return str(days.names[int(chosen)].as_py())


def _changing_query(days: Days) -> list[dict[str, float]]:
    """Figure 5: of the 100 most frequent queries, the one whose clicks at position 1 change most from day to day.

    By the variance between its days beyond what the variance within them gives: (Σ n(x̄ − x)² − (days − 1)·s²)/Σn.
    """
    size = len(days.names)
    clicks = days.by_position(days.clicked)
    mean = clicks[:, 0] / days.impressions
    rate = sums(days.query, clicks[:, 0], size) / days.per_query
    between = sums(days.query, days.impressions * (mean - rate[days.query]) ** 2, size)
    within = sums(days.query, days.impressions * mean * (1 - mean), size)
    number_of_days = np.bincount(days.query, minlength=size)
    variance = within / np.maximum(days.per_query - number_of_days, 1)
    excess = (between - (number_of_days - 1) * variance) / days.per_query
    chosen = int(np.argmax(np.where(_rare(days) | (days.per_query <= number_of_days), -np.inf, excess)))
    cells = np.flatnonzero(days.query == chosen)
    cells = cells[np.argsort(days.day[cells])]
    first = days.day[cells].min() - 1
    return [
        {
            "day": float(days.day[c] - first),
            "impressions": float(days.impressions[c]),
            "first": float(clicks[c, 0] / days.impressions[c]),
            "all": float(clicks[c].sum() / days.impressions[c]),
        }
        for c in cells
    ]


def _tables(experiments: list[Experiment]) -> list[PaperTable]:
    out = []
    for e in experiments:
        result = e.result
        rows = []
        for name in dict.fromkeys(row.estimator for row in result.rows):
            cells = [_cell(result, problem, name) for problem in result.problems]
            rows.append([name, *cells])
        rows.append(["floor", *(number(result.noise_floor[p], 3) for p in result.problems)])
        figure = "figures 2 and 4" if e.figure == "2" else f"figure {e.figure}"
        size = f"{result.query_days:,} query-days"
        title = f"{figure}, {e.title}, {size}:\nRMSE at M = {AT:g} (and lowest, at M)"
        out.append(PaperTable(title, ["estimator", *result.problems], rows))
    return out


def _cell(result: Backtest, problem: str, name: str) -> str:
    best = next(row for row in result.best_rows(problem) if row.estimator == name)
    if name == "rctr":
        return number(best.rmse, 3)
    limit = "∞" if best.clip is None else f"{best.clip:g}"
    return f"{number(result.rmse(problem, name, AT), 3)} ({number(best.rmse, 3)} at {limit})"


def _comparison(results: dict[str, Backtest], series: dict[str, list[dict[str, float]]]) -> list[PaperTable]:
    tables = []
    for other in ("list", "rctr"):
        found = list(gaps(results, other))
        rows = [["paper, 100 most frequent", *(f"{paper:+.2%}" for _, paper, _ in found)]]
        rows += [[name, *(str(differences[i]) for _, _, differences in found)] for i, name in enumerate(results)]
        title = f"ip against {other}: the least gain at any M ≥ {AT:g}"
        tables.append(PaperTable(title, ["log", *(problem for problem, _, _ in found)], rows))
    moved: list[list[str]] = []
    for name, points in series.items():
        size = np.array([p["impressions"] for p in points])
        cells: list[Any] = [name, str(len(points)), f"{size.sum():,.0f}"]
        for key in ("first", "all"):
            values = np.array([p[key] for p in points])
            cells.append(f"{values.min():.2f} … {np.average(values, weights=size):.2f} … {values.max():.2f}")
        moved.append(cells)
    header = ["log", "days", "impressions", "clicks at position 1", "at all positions"]
    title = "figure 5, the query whose clicks at position 1 change most over days: least … mean … most"
    return [*tables, PaperTable(title, header, moved)]


def _draw(experiments: list[Experiment], series: dict[str, list[dict[str, float]]], out: Path) -> list[str]:
    paths = []
    for e in experiments:
        paths += figures.error_curves(e.result, WEIGHTED, f"Figure {e.figure}. {e.title}", out, e.key)
        if e.figure == "2":
            title = f"Figure 4. {e.title}: all positions"
            paths += figures.error_curves(e.result, ["all"], title, out, e.key.replace("figure2", "figure4"))
    title = "Figure 5. A query whose clicks at position 1 change over days"
    return paths + figures.day_curves(series, title, out, "figure5")
