"""What li2018 found, and whether it holds on the logs at hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from counterrank.backtesting.result import Backtest
from counterrank.backtesting.rows import Difference, interval
from counterrank.lab.result import PaperFinding, verdict

AT = 100.0  # the paper's numbers hold for any clip from here on
WEIGHTED = ("K=2", "K=3", "dcg")
STRUCTURED = ("ip", "pbm", "item")
BELOW_LIST = {"K=2": -0.1790, "K=3": -0.4624, "dcg": -0.8196}  # section 6.3: ip, 100 most frequent queries, M ≥ 100
BELOW_RCTR = {"K=2": -0.1318, "K=3": -0.1250, "dcg": -0.1065}


def worst(result: Backtest, problem: str, estimator: str, other: str) -> Difference:
    """The least gain of `estimator` over `other` at any clip M ≥ 100, both clipped alike."""
    clips = {row.clip for row in result.rows if row.estimator == estimator and (row.clip is None or row.clip >= AT)}
    found = [result.difference(problem, estimator, other, clip, clip) for clip in clips]
    return max(found, key=lambda difference: difference.value if difference.value is not None else np.inf)


def gaps(results: dict[str, Backtest], other: str) -> Iterator[tuple[str, float, list[Difference]]]:
    """For each problem: the paper's gain of `ip` over `other`, and the gain on each log."""
    paper = BELOW_LIST if other == "list" else BELOW_RCTR
    for problem in WEIGHTED:
        yield problem, paper[problem], [worst(result, problem, "ip", other) for result in results.values()]


def findings(results: dict[str, Backtest]) -> list[PaperFinding]:
    """The paper's five findings, on every log that can speak to them."""
    logs = {key.removeprefix("figure2-"): r for key, r in results.items() if key.startswith("figure2-")}
    single = {key.removeprefix("figure1-"): r for key, r in results.items() if key.startswith("figure1-")}
    rare = {f"{key.removeprefix('figure3-')}, rarer": r for key, r in results.items() if key.startswith("figure3-")}
    out = [_beats_list(name, result) for name, result in (logs | rare).items()]
    out += [_more_so(name, result) for name, result in logs.items()]
    out += [_clipping(name, result) for name, result in (logs | rare).items()]
    out += [_item_beats_ip(name, result) for name, result in single.items()]
    out += [_beats_mean(name, result) for name, result in (logs | rare).items()]
    if {"changing", "still"} <= set(logs):
        out += _needs_change(logs["changing"], logs["still"])
    return out


def _all(verdicts: list[str]) -> str:
    return "no" if "no" in verdicts else "undecided" if "undecided" in verdicts else "yes"


def _beats_list(name: str, result: Backtest) -> PaperFinding:
    found = {(p, e): worst(result, p, e, "list") for p in WEIGHTED for e in STRUCTURED}
    holds = _all([verdict(d.lower, d.upper) for d in found.values()])
    said = "; ".join(f"{p}: " + ", ".join(f"{e} {found[p, e]}" for e in STRUCTURED) for p in WEIGHTED)
    paper = "ip " + " / ".join(f"{BELOW_LIST[p]:+.1%}" for p in WEIGHTED)
    return PaperFinding("(i) structured estimators beat list, M ≥ 100", name, holds, said, paper)


def _more_so(name: str, result: Backtest) -> PaperFinding:
    """The gain of ip over list grows from K=2 to K=3 to DCG: differences of relative gains, resampled together."""
    claim = "(ii) more so from K=2 to K=3 to DCG (ip, M = 100)"
    gain = {p: result.difference(p, "ip", "list", AT, AT).value or 0.0 for p in WEIGHTED}
    verdicts, said = [], []
    for a, b in pairwise(WEIGHTED):
        step = gain[b] - gain[a]
        bounds: tuple[float | None, float | None] = None, None
        if result.draws is not None:
            bounds = interval(_gain(result, b) - _gain(result, a), result.confidence)
        verdicts.append(verdict(*bounds))
        said.append(f"{a} to {b}: {_points(Difference(step, *bounds))}")
    paper = " → ".join(f"{BELOW_LIST[p]:+.1%}" for p in WEIGHTED)
    return PaperFinding(claim, name, _all(verdicts), "; ".join(said), paper)


def _gain(result: Backtest, problem: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    assert result.draws is not None  # noqa: S101 - asked by the caller
    draws = result.draws[:, result.problems.index(problem)]
    ip, other = (result.columns.index((name, AT)) for name in ("ip", "list"))
    return np.asarray(draws[:, ip] / draws[:, other] - 1)


def _clipping(name: str, result: Backtest) -> PaperFinding:
    found = {p: result.difference(p, "list", "list", 5.0, None) for p in WEIGHTED}
    said = []
    for problem, difference in found.items():
        best = next(row for row in result.best_rows(problem) if row.estimator == "list")
        limit = "∞" if best.clip is None else f"{best.clip:g}"
        least = result.difference(problem, "list", "list", best.clip, None)
        said.append(f"{problem}: {difference}, lowest at {limit}: {least}")
    holds = _all([verdict(d.lower, d.upper) for d in found.values()])
    claim = "(iii) clipping helps list: M = 5 against none"
    return PaperFinding(claim, name, holds, "; ".join(said), "K=2: -4.5%, one query")


def _item_beats_ip(name: str, result: Backtest) -> PaperFinding:
    found = {p: result.difference(p, "item", "ip", AT, AT) for p in WEIGHTED}
    holds = _all([verdict(d.lower, d.upper) for d in found.values()])
    said = _list(found)
    return PaperFinding(
        "(iv) item beats ip on the illustrative query, M = 100", name, holds, said, "in all of figure 1"
    )


def _beats_mean(name: str, result: Backtest) -> PaperFinding:
    found = {p: worst(result, p, "ip", "rctr") for p in (*WEIGHTED, "all")}
    holds = _all([verdict(d.lower, d.upper) for p, d in found.items() if p != "all"])
    said = _list(found)
    paper = " / ".join(f"{BELOW_RCTR[p]:+.1%}" for p in WEIGHTED) + " / minimal"
    return PaperFinding("ip beats rctr, M ≥ 100", name, holds, said, paper)


def _needs_change(changing: Backtest, still: Backtest) -> list[PaperFinding]:
    moved = {p: worst(changing, p, "ip", "rctr") for p in WEIGHTED}
    stayed = {p: worst(still, p, "ip", "rctr") for p in WEIGHTED}
    beaten = _all([verdict(d.lower, d.upper) for d in moved.values()])
    unbeaten = "no" if "yes" in [verdict(d.lower, d.upper) for d in stayed.values()] else "yes"
    why = "" if unbeaten == "yes" else (
        "; small gains: a day's random draw of lists is itself a change, which ip sees and rctr does not"
    )  # fmt: skip
    return [
        PaperFinding(
            "(v) ip beats rctr where responses change, M ≥ 100", "changing", beaten, _list(moved), "section 6.5"
        ),
        PaperFinding("(v) and not where they do not", "still", unbeaten, _list(stayed) + why, "section 6.5"),
    ]


def _list(found: dict[str, Difference]) -> str:
    return "; ".join(f"{problem}: {difference}" for problem, difference in found.items())


def _points(difference: Difference) -> str:
    value, lower, upper = difference.value, difference.lower, difference.upper
    bounds = "" if lower is None or upper is None else f" [{100 * lower:+.1f}, {100 * upper:+.1f}]"
    return f"{100 * (value or 0.0):+.1f} points{bounds}"
