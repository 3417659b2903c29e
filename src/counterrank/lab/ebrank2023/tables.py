"""Table 3 and the figures as tables."""

from __future__ import annotations

import math

from counterrank.lab.ebrank2023.paper import ROWS, Printed
from counterrank.lab.ebrank2023.runs import Study
from counterrank.lab.result import PaperTable
from counterrank.simulate.sessions import Simulation
from counterrank.simulate.sessions.result import Measured, RankerRow

SURE = 0.05


def tables(study: Study) -> list[PaperTable]:
    return [table3(study), ablation(study), arrivals(study)]


def table3(study: Study) -> PaperTable:
    """All rows; * and † where a row is above all others of its setting, or of all, by Fisher's test."""
    header = [
        "setting", "method", "exploration", "cold", "warm", "cumulative", "mean", "last fifth", "paper: cold", "warm ",
        "cumulative ",
    ]  # fmt: skip
    rows = []
    for printed in ROWS:
        row = study.table.row(printed.ranker, printed.behaviour)
        cells = [
            f"{_said(getattr(row, metric), 1 if metric == 'cumulative' else 3)}{marks(study.table, printed, metric)}"
            for metric in ("cold", "warm", "cumulative", "mean")
        ]
        theirs = [_plain(printed.cold, 3), _plain(printed.warm, 3), _plain(printed.cumulative, 1)]
        rows.append([printed.setting, printed.name, f"{row.exploration:g}", *cells, _said(row.last_fifth, 3), *theirs])
    title = f"Table 3 on {study.name}, {study.table.sessions:,} sessions, {study.table.trials} trials; paper: MQ2007"
    return PaperTable(title, header, rows)


def marks(found: Simulation, printed: Printed, metric: str) -> str:
    """* above all others of the setting, † above all others, bounds aside: p < 0.05 each."""
    mine = found.row(printed.ranker, printed.behaviour)
    if printed.setting == "bounds":
        return ""
    others = [each for each in ROWS if each is not printed and each.setting != "bounds"]
    same = [each for each in others if each.setting == printed.setting]

    def above(some: list[Printed]) -> bool:
        return bool(some) and all(beats(found, mine, found.row(each.ranker, each.behaviour), metric) for each in some)

    return ("*" if above(same) else "") + ("†" if above(others) else "")


def beats(found: Simulation, one: RankerRow, other: RankerRow, metric: str) -> bool:
    difference, p = compared(found, one, other, metric)
    return difference > 0 and p < SURE


def compared(found: Simulation, one: RankerRow, other: RankerRow, metric: str) -> tuple[float, float]:
    """One less the other, and Fisher's p."""
    for test in found.tests:
        if test.metric == metric and {test.a, test.b} == {one.label, other.label}:
            return (test.difference if test.a == one.label else -test.difference), test.p
    return 0.0, 1.0


def ablation(study: Study) -> PaperTable:
    rows = []
    for name, found in study.ablation.items():
        row = found.rankers[-1]  # with a limit on new items the second
        digits = {"cold": 3, "warm": 3, "cumulative": 1, "mean": 4, "last_fifth": 3}
        numbers = [_said(getattr(row, metric), count) for metric, count in digits.items()]
        unsure = "–" if row.uncertainty.mean is None else f"{row.uncertainty.mean:.3f}"
        rows.append([name, f"{row.exploration:g}", *numbers, f"{row.new_places.mean:.1%}", unsure])
    header = ["variant", "exploration", "cold", "warm", "cumulative", "mean", "last fifth", "new items", "U(q)"]
    return PaperTable(f"Figure 5 on {study.name}: EBRank with parts taken away or changed", header, rows)


def arrivals(study: Study) -> PaperTable:
    rates = list(study.arrivals)
    first = study.arrivals[rates[0]]
    rows = [
        [row.label, *(_said(study.arrivals[rate].row(row.ranker).cumulative, 1) for rate in rates)]
        for row in first.rankers
    ]
    header = ["cumulative NDCG", *(f"arrival {rate:g}" for rate in rates)]
    return PaperTable(f"Figure 4 on {study.name}: how fast documents arrive", header, rows)


def _said(measured: Measured, digits: int) -> str:
    if measured.mean is None:
        return "–"
    return f"{measured.mean:.{digits}f}" + (f" ± {measured.sd:.{digits}f}" if measured.sd is not None else "")


def _plain(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"
