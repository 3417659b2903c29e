"""swaminathan2017, section 4 and appendices E to G, on MQ2008, the paper's own data: figures 2 to 7, tables 2 to 5.

What the paper leaves open, and how it is read here:

- Queries with fewer than ℓ documents have no slate of ℓ slots and are left out; that matters for ℓ = 10 only.
- DCG* is that of the best slate of a query's candidates. Queries without a relevant one give 0.
- Where no logged slate is the target's, wIPS is 0/0 and counts as 0.
- What tables 3 to 5 leave open: see `learning.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from warnings import catch_warnings, simplefilter

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from counterrank.lab import figures
from counterrank.lab.progress import tell
from counterrank.lab.result import Reproduction
from counterrank.lab.swaminathan2017 import learning_tables
from counterrank.lab.swaminathan2017.documents import BODY, TITLE, Documents, read_documents
from counterrank.lab.swaminathan2017.findings import findings
from counterrank.lab.swaminathan2017.learning import MODELS, LearningPlan, learn
from counterrank.lab.swaminathan2017.learning_tables import curve_records
from counterrank.lab.swaminathan2017.panel import COMPARED, Panel, PanelPlan, make_panel
from counterrank.lab.swaminathan2017.tables import NAMES, error_tables, figures_of, hardness_table, p_tables
from counterrank.lab.swaminathan2017.world import CANDIDATES, make_world
from counterrank.log.reading import Reading
from counterrank.regress.base import Vector

SIZES = [200, 600, 2000, 6000, 20_000, 60_000, 100_000, 200_000, 600_000, 1_000_000]
UPTO = SIZES[:7]  # --quick
SOME = (200, 2000, 20_000, COMPARED)  # sizes for DM's slower models
ILL = 1e8  # a condition number to warn of
HANGS = 0.25  # or a share of the variance that one query has


def reproduce(data: Path | None, out: Path | None = None, quick: bool = False) -> Reproduction:
    """Figures and tables as numbers and, where `out` is given and Altair is installed, as pictures."""
    documents = read_documents(data)
    with _one_thread_each():
        title, body = documents.scored(TITLE), documents.scored(BODY)
        panels = _panels(documents, title, body, quick)
        learnt = learn(documents, body, learning_plan(quick))
    notes = _notes(documents, panels, quick)
    pictures: list[str] = []
    if out is not None and not figures.drawable():
        notes.append(figures.WITHOUT)
    elif out is not None:
        title7 = "Figure 7. Policies learnt from rewards and from labels"
        pictures = _draw(panels, out)
        pictures += figures.size_curves(curve_records(learnt), "test NDCG", title7, out, "figure7", log=False)
    return Reproduction(
        paper="swaminathan2017",
        tables=[*error_tables(panels), hardness_table(panels), *p_tables(panels), *learning_tables.tables(learnt)],
        findings=findings(panels) + learning_tables.findings(learnt),
        numbers={
            "panels": {key: panel.to_dict() for key, panel in panels.items()},
            "learning": learnt.to_dict(),
        },
        pictures=pictures,
        notes=notes,
        reading=Reading(rows=len(documents.labels), rejected=0),
    )


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Runs are spread over threads, so that matrices need none of their own. Lasso's paths may stop early."""
    with threadpool_limits(1), catch_warnings():
        simplefilter("ignore", ConvergenceWarning)
        yield


def plans(quick: bool) -> dict[str, PanelPlan]:
    """By panel, named by slots, alpha and what is special."""
    if quick:
        few = PanelPlan(UPTO, 40, ridge=4)
        return {
            "5-0": PanelPlan(UPTO, 400, 6, 1, (2000,)),
            "10-0": PanelPlan(UPTO, 400, 2),
            "5-10": few,
            "5-10-large": few,
        }
    wide = PanelPlan(SIZES, 400)
    return {
        "5-0": PanelPlan(SIZES, 1000, 40, 6, SOME),
        "10-0": PanelPlan(SIZES, 1000, 24, 2, SOME[-1:]),
        "5-10": PanelPlan(SIZES, 400, 40, 4, SOME[-1:]),
        "5-10-large": PanelPlan(SIZES, 400, 40, 4, SOME[-1:]),
        "10-1": wide,
        "10-10": wide,
    }


def learning_plan(quick: bool) -> LearningPlan:
    """Ten runs as in the paper, but for --quick."""
    if quick:
        return LearningPlan(1, {"ridge": [200, 1000, 10_000, 100_000]})
    sizes = [200, 500, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
    return LearningPlan(10, dict.fromkeys(MODELS, sizes))


def _panels(documents: Documents, title: Vector, body: Vector, quick: bool) -> dict[str, Panel]:
    out = {}
    for key, plan in plans(quick).items():
        slots, alpha, *large = key.split("-")
        world = make_world(
            documents, title, body, slots=int(slots), alpha=float(alpha), least=CANDIDATES if large else 0
        )
        tell(f"ℓ = {slots}, α = {alpha}: {world.queries} queries, {plan.runs} runs")
        out[key] = make_panel(key, world, plan)
    return out


def _notes(documents: Documents, panels: dict[str, Panel], quick: bool) -> list[str]:
    out = []
    for panel in panels.values():
        left = len(documents.query_ids) - panel.world.queries
        if left and "large" not in panel.key:
            out.append(f"{panel.title}: {left} queries with fewer than {panel.world.slots} documents are left out")
        worst = panel.worst()[0]
        if panel.weights.condition.max() > ILL or worst["share_of_variance"] > HANGS:
            out.append(
                f"{panel.title}: some slates are so rare that PI hangs on them, most of all for query "
                f"{worst['query']!r} (condition number {worst['condition']:.1g}, ρ {worst['rho']:.1g}, "
                f"{worst['share_of_variance']:.0%} of the variance): its true error is {panel.sd:.3g}/√n, of which "
                "simulated runs may see little"
            )
        last = panel.sizes["wips"][-1]
        if panel.no_match[-1] > 0:
            out.append(
                f"{panel.title}: in {panel.no_match[-1]:.0%} of the runs of n = {last:,} no logged slate is the "
                "target's: wIPS, 0/0 there, counts as 0"
            )
        if panel.has("lasso", COMPARED):
            best = NAMES[panel.best_direct() or "ridge"]
            out.append(f"{panel.title}: DM is {best}, the best of ridge, lasso and tree at n = {COMPARED:,}")
    if quick:
        out.append("--quick: figure 4 at α = 1 and 10 was left out, and DM is ridge: its models were not compared")
    return out


def _draw(panels: dict[str, Panel], out: Path) -> list[str]:
    paths = []
    for name, title, shown in figures_of(panels):
        records = [
            {"panel": panel.title, "estimator": NAMES[estimator], "n": n, "value": panel.rmse(estimator, n)}
            for panel, estimators in shown
            for estimator in estimators
            for n in panel.sizes[estimator]
        ]
        records += [
            {"panel": panel.title, "estimator": "PI, exact", "n": n, "value": panel.sd / n**0.5}
            for panel, estimators in shown
            for n in panel.sizes["pi"]
            if "pi" in estimators
        ]
        paths += figures.size_curves(records, "RMSE", title, out, name)
    return paths
