"""The page of an evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterrank.estimate import ESTIMATORS
from counterrank.pages.backtested import backtested
from counterrank.pages.changes import Gains, changes, gains_of
from counterrank.pages.pictures import lead_of, plot_curve, plot_days, plot_evaluation, plot_weights
from counterrank.pages.shared import again, both_ways, doubted, findings, footer, left_out, tally, tiles, trust
from counterrank.report import Cell, Child, Column, Markup, Section, element, ident, page, paragraph, sentence, table
from counterrank.words import figure_of, level, share_of, spread_of

if TYPE_CHECKING:
    from counterrank.engine import Engine
    from counterrank.judging.evaluation import Evaluation
    from counterrank.result.row import Row
    from counterrank.setting.question import Question


class EvaluationPage:
    """All that the page needs, found once; `render` may be asked for a smaller one."""

    def __init__(
        self, result: Evaluation, command: str | None, question: Question | None, engine: str | Engine
    ) -> None:
        self.result, self.asked, self.command, self.reread = result, result.asked, command, question is not None
        self.lead = lead_of(result)
        self.gains = self._gains()
        self.changes = changes(question, engine, self.gains) if self.gains is not None else {}
        self.backtest = backtested(result, question, engine, self.lead)

    def _gains(self) -> Gains | None:
        if self.lead is None or ESTIMATORS[self.lead].log_mean:
            return None
        per_query = self.result.per_query
        value = per_query[self.lead].to_numpy(zero_copy_only=False).astype(np.float64)
        return gains_of(per_query["query"], per_query["impressions"], value - self.asked.means)

    def render(self, rows: int, longest: int) -> str:
        title = self._title() + doubted(self.result.diagnosis)
        sections = [
            Section("estimates", "Value", "What it is worth", self._estimates()),
            findings(self.result.diagnosis, self.result.said()),
            Section("queries", "Queries", "Queries that gain and lose", self._queries(rows, longest)),
            Section("weights", "Weights", "How much of the log speaks for it", self._weights()),
            Section("backtest", "Backtest", "How right were such estimates before?", self.backtest),
            Section("days", "Days", "Day by day", self._days()),
            Section("positions", "Positions", "By position", self._positions()),
            Section("assumptions", "Assumptions", "What each estimate assumes", self._assumptions()),
            again(self.result, self.result.rows[0].confidence, self.command, self.reread),
        ]
        return page(f"{title} – counterrank", self._header(title), sections, footer())

    def _row(self) -> Row | None:
        return self.result[self.lead] if self.lead is not None else None

    def _title(self) -> str:
        row, mean = self._row(), self.asked.mean
        if row is None or row.value is None:
            return "This log cannot tell what the target is worth"
        if self.asked.target_logged:
            return "The target is the logging policy itself"
        if row.lower is None or row.upper is None:
            return f"The target may be worth {figure_of(row.value)}: how sure that is, the log cannot tell"
        way = "more" if row.value > mean else "less"
        if row.lower <= mean <= row.upper:
            return "No difference to the log’s own ranking can be told"
        if not mean:
            return f"The target is worth {way} than what the log got"
        return f"The target is worth {share_of(abs(row.value / mean - 1))} {way} than what the log got"

    def _header(self, title: str) -> Child:
        result, row, mean = self.result, self._row(), self.asked.mean
        lead: Child = None
        boxes = []
        if row is not None and row.value is not None:
            value, lower, upper = spread_of(row.value, row.lower, row.upper)
            between = f", between {lower} and {upper}" if row.lower is not None else ""
            lead = paragraph(
                f"By {row.estimator} it would have got {value} {self.asked.unit}{between}. The log’s own ranking got "
                f"{figure_of(mean)}.",
                class_="lead",
            )
            size = row.effective_sample_size
            relative = share_of(row.value / mean - 1, sign=True) if mean else "–"
            evidence = f"{size:,.0f}" if size is not None else "–"
            boxes = [
                ("Target", value, f"{self.asked.unit}, by {row.estimator}"),
                ("Log", figure_of(mean), self.asked.unit),
                ("Difference", relative, f"{figure_of(row.value - mean, 3, sign=True)} {self.asked.unit}"),
                ("Evidence", evidence, f"effective of {result.impressions:,} impressions"),
            ]
        return [
            paragraph("Evaluation · ", sentence(self.asked.log, 200), " · ", result.summary(), class_="kicker"),
            element("h1", title),
            lead,
            trust(result.diagnosis),
            tiles(boxes) if boxes else None,
        ]

    def _estimates(self) -> Child:
        rows = [
            [
                Cell(row.estimator),
                Cell(value, row.value),
                Cell(f"{lower} … {upper}" if row.lower is not None else "–", row.lower),
                Cell(f"{row.effective_sample_size:,.0f}" if row.effective_sample_size is not None else "–"),
                Cell(share_of(row.clipped)),
                Cell(share_of(row.unsupported), class_="warn" if row.unsupported > 0.05 else None),
                Cell(row.interval),
            ]
            for row in self.result.rows
            for value, lower, upper in [spread_of(row.value, row.lower, row.upper)]
        ]
        sure = level(self.result.rows[0].confidence, " % interval")
        columns = [
            Column("estimator", False), Column("value"), Column(sure), Column("effective size"), Column("clipped"),
            Column("unsupported"), Column("kind of interval", False),
        ]  # fmt: skip
        caption = (
            "Dots are estimates, lines their intervals; arrows where an interval runs off the picture. The dashed line "
            "is what the log itself got."
        )
        return [plot_evaluation(self.result).figure(caption), table("All estimates", columns, rows)]

    def _queries(self, rows: int, longest: int) -> Child:
        gains = self.gains
        if gains is None:
            return paragraph("No estimate differs from the log’s own mean, so no query gains or loses.")
        said = (
            f"Values are by {self.lead}, against the log’s own mean of the query; the largest are those that add most "
            "to the whole. Single queries are noisy: counterrank compare tells which differences are certain."
        )
        names = ("most logged", "target, most likely")
        largest = both_ways(gains, self.changes, names, longest)
        return [tally(gains, said), *largest, element("h3", "Query by query"), self._table(gains, rows, longest)]

    def _table(self, gains: Gains, rows: int, longest: int) -> Markup:
        chosen = gains.shown(rows // 4)
        means, effect = self.asked.means, gains.effect
        body = [
            [
                Cell(ident(gains.queries[q], longest)),
                Cell(f"{gains.impressions[q]:,}", float(gains.impressions[q])),
                Cell(figure_of(float(means[q])), float(means[q])),
                Cell(figure_of(float(means[q] + gains.gain[q])), float(means[q] + gains.gain[q])),
                Cell(figure_of(float(gains.gain[q]), 3, sign=True), float(gains.gain[q]), _way(gains.gain[q])),
                Cell(figure_of(float(effect[q]), sign=True), float(effect[q])),
            ]
            for q in chosen.tolist()
        ]
        columns = [
            Column("query", False), Column("impressions"), Column("log"), Column("target"), Column("difference"),
            Column("adds to the whole"),
        ]  # fmt: skip
        more = left_out(len(gains.queries) - len(chosen))
        return element("div", table("Gain or loss of each query", columns, body, tools=True), more)

    def _weights(self) -> Child:
        pictures = plot_weights(self.result)
        if not pictures:
            return paragraph("No estimator weighed impressions.")
        words = paragraph(
            "An impression that the target would show more often than the log did weighs more than 1. Long tails to "
            "the right mean that few impressions decide; a tall bar at 0 means that much of the log says nothing of "
            "the target. Both axes are log scales."
        )
        made = []
        for name, picture in pictures:
            tail = self.result.tails[name]
            facts = [f"largest {figure_of(tail.largest, 3)}"] if tail.largest is not None else []
            facts += [f"ten impressions bring {share_of(tail.ten)} of the value"] if tail.ten is not None else []
            made.append(element("div", element("h3", name), picture.figure("; ".join(facts), "small")))
        return [words, element("div", made, class_="grid")]

    def _days(self) -> Child:
        picture = plot_days(self.result)
        if picture is None:
            return paragraph("The log has no two days to compare (column day).")
        return picture.figure(
            "What the log itself got each day. A drift means that its rankings, users or items changed."
        )

    def _positions(self) -> Child:
        picture = plot_curve(self.result)
        if picture is None:
            return paragraph("Clicks by position are not known, or there is one position only.")
        return picture.figure(
            "Click rates fall with the position because people look less, and because better items stand higher. "
            "Examination is the share due to looking, as pbm takes it. Both relative to position 1."
        )

    def _assumptions(self) -> Markup:
        columns = [Column("estimator", False), Column("assumes", False)]
        rows = [[Cell(row.estimator), Cell(ESTIMATORS[row.estimator].assumption)] for row in self.result.rows]
        return table("Assumptions", columns, rows)


def _way(gain: float) -> str | None:
    return "good" if gain > 0 else "bad" if gain < 0 else None
