"""What the paper leaves open: a δ chosen from the log itself, beside the best one in hindsight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from counterrank.lab.cief2024.methods import DELTAS, TIES, Logs, by_bound, fitted
from counterrank.lab.cief2024.pages import PATTERNS, Floats, Integers
from counterrank.lab.cief2024.truth import Truth, evidence
from counterrank.lab.result import PaperTable
from counterrank.optimizing.optimize import optimize
from counterrank.records import dataclass

NAMES = {"cm": "cm", "dcm": "dcm", "pbm": "pbm-paper"}  # whose counts are those of the sweeps
FIXED = 0.2  # optimize's default


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Errors of lists at the δ that `optimize --delta auto` chooses, at the best one in hindsight, and at 0.2."""

    where: str
    model: str
    bound: str
    auto: Floats  # (R,)
    best: Floats  # (R,)
    fixed: Floats  # (R,)
    at: float  # the best δ

    def to_dict(self) -> dict[str, Any]:
        errors = {name: float(getattr(self, name).mean()) for name in ("auto", "best", "fixed")}
        return {"log": self.where, "model": self.model, "bound": self.bound, **errors, "best_delta": self.at}


def choose(where: str, truths: Sequence[Truth], bound: str, size: int, runs: int, seed: int) -> Chosen:
    """Draws logs of all queries, lets `optimize` choose δ on each, and looks up what that costs."""
    rng = np.random.default_rng(seed)
    model = truths[0].model
    drawn = [truth.draw(size, runs, rng) for truth in truths]
    errors = np.zeros((len(DELTAS), runs))
    for truth, seen in zip(truths, drawn, strict=True):
        ties = TIES * rng.random((runs, truth.pages.items))
        logs = Logs(truth.pages, seen, evidence(model, truth.pages, seen), ties)
        prior = fitted(logs) if bound == "empirical-bayes" else None
        lists = by_bound(logs, "bayes" if prior is not None else bound, DELTAS, prior)
        errors += (truth.best() - np.stack([truth.value(each) for each in lists])) / len(truths)
    prior_name = {"empirical-bayes": "grid", "bayes": "1,1"}[bound]
    found = [
        optimize(
            _log(truths, [seen[run] for seen in drawn]), click_model=NAMES[model], bound=bound, delta="auto",
            prior=prior_name, prior_scope="query",
        ).to_dict()["delta"]
        for run in range(runs)
    ]  # fmt: skip
    at = np.abs(DELTAS - np.array(found)[:, None]).argmin(axis=1)
    best = int(errors.mean(axis=1).argmin())
    fixed = int(np.abs(DELTAS - FIXED).argmin())
    auto = errors[at, np.arange(runs)]
    return Chosen(
        where=where, model=model, bound=bound, auto=auto, best=errors[best], fixed=errors[fixed], at=float(DELTAS[best])
    )


def _log(truths: Sequence[Truth], seen: Sequence[Integers]) -> pa.Table:
    """A drawn log as users have it, a row for each list and click pattern."""
    queries, items, clicks, often = [], [], [], []
    for truth, counts in zip(truths, seen, strict=True):
        lists, patterns = np.nonzero(counts)
        queries += [truth.pages.query] * len(lists)
        items += truth.pages.lists[lists].astype(str).tolist()
        clicks += PATTERNS[patterns].tolist()
        often += counts[lists, patterns].tolist()
    return pa.table({"query": queries, "items": items, "clicks": clicks, "impressions": often})


def auto_table(found: Sequence[Chosen]) -> PaperTable:
    rows = []
    for each in found:
        gap = each.auto - each.best
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        errors = [f"{each.auto.mean():.4f}", f"{each.best.mean():.4f} at {each.at:.2g}", f"{each.fixed.mean():.4f}"]
        rows.append([each.where, each.model, each.bound, *errors, f"{gap.mean():+.4f} ± {error:.4f}"])
    for where in dict.fromkeys(each.where for each in found):
        rows.append(_summed(f"{where}, summed", [each for each in found if each.where == where]))
    rows.append(_summed("all, summed", found))
    header = ["log", "model", "bound", "auto", "best δ", f"δ = {FIXED:g}", "auto less best"]
    return PaperTable("δ chosen by the log (optimize --delta auto): errors", header, rows)


def _summed(title: str, found: Sequence[Chosen]) -> list[str]:
    auto, best, fixed = (sum(float(getattr(e, name).mean()) for e in found) for name in ("auto", "best", "fixed"))
    more = f"{auto / best - 1:+.0%}" if best > 0 else "–"
    return [title, "", "", f"{auto:.4f}", f"{best:.4f}", f"{fixed:.4f}", more]
