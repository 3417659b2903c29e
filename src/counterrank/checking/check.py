"""`check`: what is in a log, what is wrong in it, and how much it can answer."""

from __future__ import annotations

from dataclasses import replace
from sys import float_info
from typing import Any

import numpy as np

from counterrank.checking.page_level import page_level
from counterrank.engine import Engine, Metric, Plan, open_engine
from counterrank.log import Log, Reading, read_log
from counterrank.records import dataclass
from counterrank.result.answer import Answer
from counterrank.setting.options import check_top, position_weights
from counterrank.statistics.counts import Counts
from counterrank.words import counted

ENOUGH = 100  # impressions of a query that begin to tell something of it
SHOWN = 20  # positions of the table for people
SEEN = 30  # impressions of a pair at a position that begin to tell its click rate


@dataclass(frozen=True, repr=False, kw_only=True)
class Check(Answer):
    """A log in numbers and words; prints and renders as a table."""

    listed = "by_position"
    facts: dict[str, Any]
    positions: list[dict[str, Any]]
    pages: list[dict[str, Any]]
    problems: list[dict[str, Any]]
    answers: list[str]
    notes: list[str]
    reading: Reading

    @property
    def clean(self) -> bool:
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.reading.to_dict(),
            **self.facts,
            "by_position": self.positions,
            "page_level": self.pages,
            "problems": self.problems,
            "answers": self.answers,
            "notes": self.notes,
        }

    def summary(self) -> str:
        nouns = {"impression": None, "query": "queries", "item": None, "ranking": None, "position": None, "day": None}
        counts = [(self.facts[many or f"{one}s"], one, many) for one, many in nouns.items()]
        return ", ".join(counted(*each) for each in counts if each[0] is not None)

    def means(self) -> list[str]:
        """What an impression got."""
        clicks, reward = self.facts["mean_clicks"], self.facts["mean_reward"]
        said = [] if clicks is None else [f"{counted(self.facts['clicks'], 'click')}, {clicks:.4g} an impression"]
        return said if reward is None else [*said, f"mean reward {reward:.4g}"]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The first positions."""
        return ["position", "impressions", "click rate", "pages to here"], [
            [
                str(p["position"]),
                f"{p['impressions']:,}",
                "–" if p["click_rate"] is None else f"{p['click_rate']:.4f}",
                "–" if page["supported_pairs"] is None else f"{page['supported_pairs']:.1%}",
            ]
            for p, page in zip(self.positions[:SHOWN], self.pages, strict=False)
        ]

    def remarks(self) -> list[str]:
        wrong = [f"{p['count']:,} × {p['problem']} ({p['where']})" for p in self.problems]
        return [*self.means(), *wrong, *self.said()]

    def said(self) -> list[str]:
        """What the log can answer, and what was read."""
        return [*self.answers, *self.notes, self.reading.line()]


def check(log: Any, *, top: int | None = None, engine: str | Engine = "duckdb", cluster: str | None = None) -> Check:
    """What is in a log, what is wrong in it (with row numbers) and how much it can answer.

    `cluster` names the column of impressions that are not independent.

    >>> check({"query": ["q", "q"], "items": [["a", "b"], ["b", "a"]], "clicks": [[1, 0], [0, 1]]}).facts["rankings"]
    2
    """
    log = read_log(log, cluster=cluster)
    check_top(top)
    metric: Metric = "clicks" if "clicks" in log.columns else "reward"
    plan = Plan(
        metric=metric,
        weights=position_weights("clicks"),
        top=top,
        rankings="all",
        clusters="cluster" in log.columns,
        overview=True,
        by_item="item_propensities" in log.columns,
    )
    run = open_engine(engine).count(replace(log, tolerant=True), plan)
    counts, reading = run.counts, run.reading
    rankings, repeated = _rankings(counts)
    facts: dict[str, Any] = {
        "impressions": counts.total,
        "queries": len(counts.impressions),
        "items": len(np.unique(counts.pairs.items)),
        "positions": counts.pairs.positions,
        "clicks": int(counts.clicked.sum()) if metric == "clicks" else None,
        "mean_clicks": float(counts.clicked.sum() / counts.total) if metric == "clicks" else None,
        "mean_reward": reading.mean_reward if "reward" in log.columns else None,
        "days": reading.days,
        "has_propensity": "propensity" in log.columns,
        "has_item_propensities": counts.item_chances is not None,
        "least_item_propensity": float(counts.item_chances.least.min()) if counts.item_chances is not None else None,
        "clusters": run.clusters.number if run.clusters is not None else None,
        "largest_cluster": int(run.clusters.sizes[-1]) if run.clusters is not None else None,
        "rankings": int(rankings.sum()),
        "rankings_per_query": float(np.average(rankings, weights=counts.impressions)),
        "bad_rows": reading.rejected,
        **_overlap(counts, rankings, repeated),
    }
    pages, said = page_level(counts, rankings)
    return Check(
        facts=facts,
        positions=_by_position(counts, metric),
        pages=pages,
        problems=[wrong.to_dict() for wrong in reading.wrong],
        answers=_answers(facts, log, said),
        notes=[*reading.notes, *([run.clusters.told()] if run.clusters is not None else [])],
        reading=reading,
    )


def _rankings(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rankings per query, and impressions of rankings that were shown more than once."""
    size = len(counts.impressions)
    distinct, repeated = np.zeros(size), np.zeros(size)
    assert counts.rankings is not None  # noqa: S101
    for chunk in counts.rankings.chunks():
        distinct += np.bincount(chunk.queries, minlength=size)
        repeated += np.bincount(chunk.queries, np.where(chunk.impressions > 1, chunk.impressions, 0.0), size)
    return distinct, repeated


def _overlap(counts: Counts, rankings: np.ndarray, repeated: np.ndarray) -> dict[str, Any]:
    """How much the log explores: shares of impressions unless said otherwise."""
    n, pairs = counts.impressions, counts.pairs
    items = np.bincount(pairs.queries, np.diff(counts.cells.starts) > 0, len(n))
    cells = np.bincount(counts.cell_queries, minlength=len(n))
    well = np.bincount(counts.cell_queries, counts.shown >= SEEN, len(n))
    possible = items * pairs.lengths
    return {
        "items_per_query": float(np.average(items, weights=n)),
        "queries_with_enough": float((n >= ENOUGH).mean()),
        "impressions_in_queries_with_enough": float(n[n >= ENOUGH].sum() / n.sum()),
        "impressions_where_rankings_vary": float(n[rankings > 1].sum() / n.sum()),
        "impressions_of_repeated_rankings": float(repeated.sum() / n.sum()),
        "pairs_seen": float(np.average(cells / possible, weights=n)),
        "pairs_seen_well": float(np.average(well / possible, weights=n)),
    }


def _by_position(counts: Counts, metric: str) -> list[dict[str, Any]]:
    shown, clicked = (counts.cells.by_position(each) for each in (counts.shown, counts.clicked))
    return [
        {
            "position": k + 1,
            "impressions": int(shown[k]),
            "click_rate": float(clicked[k] / shown[k]) if metric == "clicks" and shown[k] else None,
        }
        for k in range(counts.pairs.positions)
    ]


def _answers(facts: dict[str, Any], log: Log, pages: list[str]) -> list[str]:
    """What the log can tell, in words."""
    said = []
    vary = facts["impressions_where_rankings_vary"]
    if vary == 0:
        said.append("every query has one ranking only: the log cannot tell any other ranking's value")
    else:
        said.append(
            f"{vary:.1%} of the impressions are of queries whose ranking varied: only there can others be judged"
        )
    again = facts["impressions_of_repeated_rankings"]
    said.append(
        f"whole rankings (list, wlist): {again:.1%} of the impressions show a ranking that was shown more than once"
    )
    if "clicks" in log.columns:
        said.append(
            f"items at positions (ip, wip): of all items × positions of a query, {facts['pairs_seen']:.1%} were shown "
            f"and {facts['pairs_seen_well']:.1%} at least {SEEN} times"
        )
        said.append(f"items (item, pbm): {facts['items_per_query']:.1f} items were shown per query")
    said += pages
    said.append(
        f"{facts['queries_with_enough']:.1%} of the queries have {ENOUGH} impressions or more; "
        f"they hold {facts['impressions_in_queries_with_enough']:.1%} of the impressions"
    )
    days = facts["days"]
    if days is None:
        said.append("no day column: backtest cannot tell which estimator to trust on this log")
    elif days < 2:
        said.append("one day only: backtest needs two or more")
    return said + _propensities(facts)


def _propensities(facts: dict[str, Any]) -> list[str]:
    """What the log tells of the policy that made it."""
    least = facts["least_item_propensity"]
    if least is None:
        said = "no propensity column: the logging policy is estimated by shares in the log"
        return [] if facts["has_propensity"] else [said]
    weight = min(1 / least, float_info.max)
    said = (
        "item_propensities: ip and wip weigh each impression by its own chances, so that the logging policy may have "
        f"changed from page to page; the least is {least:.3g}, where a click weighs up to {weight:,.4g}"
    )
    lists = "no propensity column: whole rankings (list, wlist) are weighed by shares in the log"
    return [said, *([] if facts["has_propensity"] else [lists])]
