"""What ebrank2023 found, and whether it holds here; and what it did not ask."""

from __future__ import annotations

from counterrank.lab.ebrank2023.paper import CONCAT, TABLE3
from counterrank.lab.ebrank2023.runs import Study
from counterrank.lab.ebrank2023.tables import SURE, compared
from counterrank.lab.result import PaperFinding
from counterrank.simulate.sessions.result import RankerRow

NEAR = 0.02


def findings(study: Study) -> list[PaperFinding]:
    return [
        _leads(study, "warm", "0.849 against 0.799 of the next"),
        _leads(study, "cumulative", "171.3 against 158.9 of the next"),
        _leads(study, "mean", ""),
        _against(study, "ucbrank", "UCBRank"),
        _against(study, "ucbrank-plus-one", "UCBRank with c/√(n+1)"),
        _against(study, "thompson", "Thompson sampling"),
        _unexploring(study),
        _cold(study),
        _concat_hurts(study),
        _cold_drops(study),
        *_ablations(study),
        _rates(study),
    ]


def _leads(study: Study, metric: str, paper: str) -> PaperFinding:
    """Against every other row of table 3, all tuned alike."""
    found, mine = study.table, study.table.row("ebrank")
    lost, open_, least = [], [], (9e9, "")
    for each in TABLE3:
        if each.ranker == "ebrank":
            continue
        other = found.row(each.ranker, each.behaviour)
        difference, p = compared(found, mine, other, metric)
        least = min(least, (difference, other.label))
        if p >= SURE:
            open_.append(other.label)
        elif difference < 0:
            lost.append(other.label)
    holds = "no" if lost else "undecided" if open_ else "yes"
    said = f"least ahead of {least[1]}, by {least[0]:+.4g}"
    said += f"; behind {', '.join(lost)}" if lost else ""
    said += f"; no difference is sure to {', '.join(open_)}" if open_ else ""
    claim = f"EBRank beats all others of table 3 on {metric} NDCG"
    return PaperFinding(claim, study.name, holds, f"exploration of all tuned alike: {said}", paper)


def _against(study: Study, ranker: str, name: str) -> PaperFinding:
    """By the plain mean over test sessions, trial by trial."""
    mine, other = study.table.row("ebrank"), study.table.row(ranker)
    pairs = [a - b for a, b in zip(mine.mean.values, other.mean.values, strict=True) if a is not None and b is not None]
    ahead = sum(each > 0 for each in pairs)
    difference, p = compared(study.table, mine, other, "mean")
    total, total_p = compared(study.table, mine, other, "cumulative")
    holds = "undecided" if p >= SURE else "yes" if difference > 0 else "no"
    said = (
        f"mean session NDCG {difference:+.4f} (p = {p:.4f}), ahead in {ahead} of {len(pairs)} trials; "
        f"cumulative {total:+.1f} (p = {total_p:.4f}); explorations {mine.exploration:g} and {other.exploration:g}"
    )
    return PaperFinding(f"EBRank serves users better than {name}, both tuned", study.name, holds, said)


def _unexploring(study: Study) -> PaperFinding:
    mine, other = study.table.row("ebrank"), study.unexploring.row("ucbrank")
    gaps = {name: _less(mine, other, name) for name in ("warm", "cumulative", "mean")}
    holds = "yes" if min(gaps.values()) > 0 else "no"
    said = ", ".join(f"{name} {gap:+.3f}" for name, gap in gaps.items())
    return PaperFinding("EBRank beats a UCBRank that does not explore", study.name, holds, said, "the paper's row")


def _cold(study: Study) -> PaperFinding:
    gap = _less(study.table.row("ebrank"), study.table.row("cftopk", "none"), "cold")
    holds = "yes" if gap > -NEAR else "no"
    return PaperFinding(
        "EBRank's cold NDCG is among the best", study.name, holds, f"less CFTopK's: {gap:+.4f}", "0.596 and 0.591"
    )


def _concat_hurts(study: Study) -> PaperFinding:
    plain, concat = (study.table.row("cftopk", way) for way in ("none", "concat"))
    gaps = {name: _less(concat, plain, name) for name in ("warm", "cumulative")}
    below = [gap < 0 for gap in gaps.values()]
    holds = "yes" if all(below) else "in part" if any(below) else "no"
    said = ", ".join(f"{name} {gap:+.3f}" for name, gap in gaps.items())
    said += "; with an exact fit, which puts all weight on the behaviour feature and ties items never shown"
    return PaperFinding("behaviour features make CFTopK worse", study.name, holds, said, "warm −0.012, cumulative −3.2")


def _cold_drops(study: Study) -> PaperFinding:
    names = [row.ranker for row in TABLE3 if row.setting == CONCAT and row.ranker != "prior"]
    gaps = {name: _less(study.table.row(name, "concat"), study.table.row(name, "none"), "cold") for name in names}
    below = [gap < 0 for gap in gaps.values()]
    holds = "yes" if all(below) else "in part" if any(below) else "no"
    said = ", ".join(f"{name} {gap:+.3f}" for name, gap in gaps.items())
    return PaperFinding("behaviour features make cold NDCG drop for all but PRIOR", study.name, holds, said)


def _ablations(study: Study) -> list[PaperFinding]:
    whole = study.ablation["EBRank"].rankers[0]
    claims = {
        "without exploration": "exploration by marginal certainty helps",
        "far too much exploration": "far too much exploration loses",
        "only prior": "EBRank beats its prior alone",
        "only behaviour": "EBRank beats clicks alone",
        "clicks over exposure": "Σ click/ρ over n is better evidence than clicks over exposure",
        "β learnt": "β = 5 is as good as a β that is learnt",
        "exact variance": "the bound of eq. 11 explores as well as the exact variance",
        "LightGBM prior": "the linear prior is as good as LightGBM's",
        "at most 1 of 5 places for new items": "a limit on new items costs NDCG",
    }
    out = []
    for name, claim in claims.items():
        other = study.ablation[name].rankers[-1]
        gaps = {metric: _less(whole, other, metric) for metric in ("warm", "cumulative", "mean")}
        trials = _trials(whole, other)
        ahead = sum(each > 0 for each in trials)
        sure = len(trials) > 1 and ahead in (0, len(trials))
        equal = "as good" in claim or "as well" in claim
        holds = "yes" if gaps["mean"] > 0 and sure else "no" if gaps["mean"] < 0 and sure else "undecided"
        if equal and holds == "undecided":
            holds = "yes"
        said = ", ".join(f"{metric} {gap:+.4g}" for metric, gap in gaps.items())
        said = f"EBRank less {name}: {said}; mean ahead in {ahead} of {len(trials)} trials"
        out.append(PaperFinding(claim, study.name, holds, said))
    return out


def _trials(one: RankerRow, other: RankerRow) -> list[float]:
    both = zip(one.mean.values, other.mean.values, strict=True)
    return [a - b for a, b in both if a is not None and b is not None]


def _rates(study: Study) -> PaperFinding:
    ahead, said = [], []
    for rate, found in study.arrivals.items():
        mine = found.row("ebrank").cumulative.mean or 0.0
        best = max((each for each in found.rankers if each.ranker != "ebrank"), key=lambda e: e.cumulative.mean or 0.0)
        ahead.append(mine > (best.cumulative.mean or 0.0))
        said.append(f"{rate:g}: {mine - (best.cumulative.mean or 0.0):+.1f} to {best.label}")
    holds = "yes" if all(ahead) else "in part" if any(ahead) else "no"
    return PaperFinding("EBRank leads at every arrival rate, by cumulative NDCG", study.name, holds, "; ".join(said))


def _less(one: RankerRow, other: RankerRow, metric: str) -> float:
    return (getattr(one, metric).mean or 0.0) - (getattr(other, metric).mean or 0.0)
