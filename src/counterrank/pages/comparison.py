"""The page of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterrank.comparing.comparison import Comparison
from counterrank.estimate import ESTIMATORS
from counterrank.pages.changes import Gains, changes, gains_of
from counterrank.pages.pictures import plot_comparison, plot_separate
from counterrank.pages.shared import again, both_ways, doubted, findings, footer, left_out, tally, tiles, trust
from counterrank.report import Cell, Child, Column, Markup, Section, element, ident, page, paragraph, sentence, table
from counterrank.words import figure_of, level, share_of, spread_of

if TYPE_CHECKING:
    from counterrank.engine import Engine
    from counterrank.setting.question import Question

TITLES = {"target": "The target is better", "baseline": "The baseline is better", "undecided": "Not decided yet"}
WAYS = {"target": "good", "baseline": "bad", "undecided": None}


class ComparisonPage:
    """All that the page needs, found once; `render` may be asked for a smaller one."""

    def __init__(
        self, result: Comparison, command: str | None, question: Question | None, engine: str | Engine
    ) -> None:
        self.result, self.asked, self.command, self.reread = result, result.asked, command, question is not None
        per_query = result.per_query
        gain = per_query["difference"].to_numpy(zero_copy_only=False).astype(np.float64)
        self.gains: Gains = gains_of(per_query["query"], per_query["impressions"], gain)
        self.changes = changes(question, engine, self.gains)

    def render(self, rows: int, longest: int) -> str:
        result = self.result
        sections = [
            Section("difference", "Difference", "By how much", self._difference()),
            findings(result.diagnosis, [*result.warnings, *result.notes, result.reading.line()]),
            Section("queries", "Queries", "Queries that gain and lose", self._queries(rows, longest)),
            Section("assumptions", "Assumptions", "What this assumes", self._assumptions()),
            again(result, result.confidence, self.command, self.reread),
        ]
        return page(f"{self._title()} – counterrank", self._header(), sections, footer())

    def _title(self) -> str:
        return TITLES[self.result.verdict] + doubted(self.result.diagnosis)

    def ship(self) -> str:
        """Ship or not, in a sentence."""
        result = self.result
        level = result.diagnosis.verdict if result.diagnosis is not None else None
        if result.verdict == "target":
            if level == "do not trust":
                return "Do not ship on this evidence: the bound says yes, but the log cannot be trusted to tell."
            if level == "caution":
                return "Ship with care: the bound says yes; look at the doubts below first."
            return "Ship it." if level is not None else "The bound says: ship it."
        if result.verdict == "baseline":
            return "Do not ship it."
        return f"Do not ship on this evidence: {result.undecided_because()}."

    def _proof(self) -> str:
        """By how much at least, where that is decided: the headline has said who wins."""
        _, _, much = self.result.answer().partition(": ")
        return "" if self.result.verdict == "undecided" else f" {much[0].upper()}{much[1:]}"

    def _header(self) -> Child:
        result = self.result
        base = result.separate["baseline"].value
        relative = share_of(result.difference / base, sign=True) if result.difference is not None and base else ""
        needed = result.impressions_needed
        between = f"{figure_of(result.lower, 3)} … {figure_of(result.upper, 3)}"
        boxes = [
            ("Difference", figure_of(result.difference, 3, sign=True), self.asked.unit),
            ("Relative", relative or "–", "to the baseline"),
            (level(result.confidence, " % bound"), between if result.lower is not None else "–", "on the difference"),
            ("Still needed", f"{needed:,}" if needed is not None else "–", "impressions until it is decided"),
        ]
        return [
            paragraph("Comparison · ", sentence(self.asked.log, 200), " · ", result.summary(), class_="kicker"),
            element("h1", self._title()),
            paragraph(element("strong", self.ship()), self._proof(), class_="lead"),
            trust(result.diagnosis),
            tiles(boxes),
        ]

    def _difference(self) -> Child:
        result = self.result
        columns = [Column("policy", False), Column("value"), Column("lower"), Column("upper"), Column("unsupported")]
        rows = [
            [
                Cell(name),
                *map(Cell, spread_of(bound.value, bound.lower, bound.upper)),
                Cell(share_of(result.unsupported[name]) if name in result.unsupported else ""),
            ]
            for name, bound in result.bounds().items()
        ]
        return [
            plot_comparison(result).figure(
                "The bound is on the difference itself. Where it leaves 0 out, the comparison is decided."
            ),
            plot_separate(result).figure(
                "For contrast: each policy with a bound of its own, which decides much later."
            ),
            table("Both policies and their difference", columns, rows),
        ]

    def _queries(self, rows: int, longest: int) -> Child:
        gains, result = self.gains, self.result
        names = ("baseline" if not self.asked.baseline_logged else "most logged", "target")
        said = result.by_query.words() if result.by_query is not None else None
        parts: list[Child] = [paragraph(said[0].upper(), said[1:], ".") if said else tally(gains, "")]
        parts += both_ways(gains, self.changes, names, longest)
        return [*parts, element("h3", "Query by query"), self._table(rows, longest)]

    def _table(self, rows: int, longest: int) -> Markup:
        gains, per_query = self.gains, self.result.per_query
        chosen = gains.shown(rows // 4)
        extra = {
            name: per_query[name].to_pylist()
            for name in ("lower", "upper", "verdict")
            if name in per_query.column_names
        }
        body = []
        for q in chosen.tolist():
            row = [
                Cell(ident(gains.queries[q], longest)),
                Cell(f"{gains.impressions[q]:,}", float(gains.impressions[q])),
                Cell(figure_of(float(gains.gain[q]), 3, sign=True), float(gains.gain[q])),
            ]
            if extra:
                low, high, verdict = (extra[name][q] for name in ("lower", "upper", "verdict"))
                row += [
                    Cell(figure_of(low, 3), low),
                    Cell(figure_of(high, 3), high),
                    Cell(verdict, class_=WAYS[verdict]),
                ]
            body.append(row)
        columns = [Column("query", False), Column("impressions"), Column("difference")]
        columns += [Column("lower"), Column("upper"), Column("wins", False)] if extra else []
        more = left_out(len(gains.queries) - len(chosen))
        return element("div", table("Difference of each query", columns, body, tools=True), more)

    def _assumptions(self) -> Child:
        name = self.result.estimator
        if name in ESTIMATORS:
            words = f"{name} assumes: {ESTIMATORS[name].assumption}."
        else:
            words = "A click is the examination of the position times the attraction of the item (genspec2021)."
        return paragraph(words, f" Kind of bound: {self.result.interval}.")
