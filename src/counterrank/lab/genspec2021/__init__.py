"""genspec2021, section 6: figures 2, 3 and 4 on data sets that can be had.

What the paper leaves open, and how it is read here:

- Clicks are counted on training queries, as on the paper's x-axis; half of them are for the gate. Validation queries
  come as often, and their clicks only choose the feature-based model.
- The log grows: more clicks are added to those that are there. A run has its own logging ranker and its own clicks.
- The logging ranker learns from the labels of one percent of the training queries, drawn among those whose labels are
  not all the same.
- Yahoo! Webscope, MSLR-WEB30k and Istella are not at hand. Labels of mq2008 and mq2007-partial end at 2, so that α is
  twice the paper's there.
- Beside the paper's bound and SEA's stands ours, betting, here from counts: one ranking a query is logged, and clicks
  are independent.
- Hotfix prefers what is clicked to what stands above the last click and is not; PBM-PIE shows all items, so that it has
  nothing to explore.
"""

from __future__ import annotations

from pathlib import Path

from counterrank.lab import figures
from counterrank.lab.genspec2021.data import ALPHAS, read
from counterrank.lab.genspec2021.findings import findings, opens_earlier
from counterrank.lab.genspec2021.gates import CONFIDENCES, GATES, SHRUNK
from counterrank.lab.genspec2021.panel import NO_BOUND, Method, Panel, PanelPlan, gates, make_panel
from counterrank.lab.genspec2021.tables import ONLINE, records, shrunk_table, tables
from counterrank.lab.genspec2021.taught import finding, table, teach
from counterrank.lab.progress import tell
from counterrank.lab.result import Reproduction
from counterrank.log.reading import Reading

CLICKS = tuple(round(10 ** (power / 2)) for power in range(4, 19))  # 10² to 10⁹, two a decade
ONLINE_CLICKS = tuple(number for number in CLICKS if number <= 10**7)
NULL = "mq2008"  # whose queries the world without relevance has
TAUGHT = ("mq2008", "mq2007-partial")  # on which models of features are compared
QUICK = {"mq2008": (0.4, 0.05), "mslr-sample": (0.2,)}


def reproduce(data: Path | None, out: Path | None = None, quick: bool = False) -> Reproduction:
    """Figures as numbers and, where `out` is given and Altair is installed, as pictures."""
    panels, shrunk, taught, rows, notes = [], [], [], 0, []
    null = None
    for name, alphas in (QUICK if quick else ALPHAS).items():
        tell(f"{name}: reading")
        split, reading = read(data, name)
        rows += reading.rows
        for alpha in alphas:
            panels.append(make_panel(name, split, alpha, plan(quick), gates(*GATES)))
        if name in TAUGHT:
            taught.append(teach(name, split, alphas[0], 2 if quick else 10))
        if name == NULL:
            shrunk = [make_panel(name, split, alpha, shrunk_plan(quick), gates("betting", *SHRUNK)) for alpha in alphas]
            null = make_panel(name, split, 0.0, null_plan(quick), gates(*GATES, *SHRUNK))
        sizes = [len(part) for part in (split.train, split.validation, split.test)]
        notes.append(f"{name}: {sizes[0]}, {sizes[1]} and {sizes[2]} queries to train, validate and test on")
    pictures: list[str] = []
    if out is not None and not figures.drawable():
        notes.append(figures.WITHOUT)
    elif out is not None:
        pictures = _draw(panels, out)
    return Reproduction(
        paper="genspec2021",
        tables=[*tables(panels, null), *map(shrunk_table, shrunk), *map(table, taught)],
        findings=[*findings(panels, null), *map(opens_earlier, shrunk), *map(finding, taught)],
        numbers={panel.title: panel.to_dict() for panel in [*panels, *([null] if null is not None else [])]}
        | {f"{panel.title}, shrunk": panel.to_dict() for panel in shrunk}
        | {f"{each.title}, models": each.to_dict() for each in taught},
        pictures=pictures,
        notes=notes,
        reading=Reading(rows=rows, rejected=0),
    )


def plan(quick: bool) -> PanelPlan:
    """Ten runs as in the paper, but for --quick."""
    if quick:
        return PanelPlan(runs=2, clicks=CLICKS[::2], online=tuple(n for n in CLICKS[::2] if n <= 10**5))
    return PanelPlan(runs=10, clicks=CLICKS, online=ONLINE_CLICKS)


def null_plan(quick: bool) -> PanelPlan:
    """Without models of features: they have nothing to learn either."""
    return PanelPlan(runs=4 if quick else 40, clicks=CLICKS[::2], general=False)


def shrunk_plan(quick: bool) -> PanelPlan:
    """The shrunk special policy beside the plain one."""
    return PanelPlan(runs=2 if quick else 5, clicks=CLICKS[::4] if quick else CLICKS[::2])


def _draw(panels: list[Panel], out: Path) -> list[str]:
    """A picture for each figure and data set, a panel for each noise and part."""
    paths: list[str] = []
    plain: list[Method] = ["logging", "general"]
    ours: list[Method] = [("genspec", confidence) for confidence in CONFIDENCES]
    sea: list[Method] = [("sea", confidence) for confidence in CONFIDENCES]
    bets: list[Method] = [("betting", confidence) for confidence in CONFIDENCES]
    shown: dict[str, list[tuple[str, list[Method]]]] = {
        "figure2": [("train", [*plain, "special", NO_BOUND, *ours]), ("test", [*plain, NO_BOUND, *ours])],
        "figure3": [("train", ["logging", *ours, *sea]), ("test", ["logging", *ours, *sea])],
        "figure4": [("train", ["logging", *ours, *ONLINE])],
        "betting": [("train", ["logging", *ours, *bets]), ("test", ["logging", *ours, *bets])],
    }
    titles = {
        "figure2": "Figure 2. GENSPEC and what it chooses from",
        "figure3": "Figure 3. One bound on the difference, and SEA's two",
        "figure4": "Figure 4. GENSPEC and online bandits",
        "betting": "The paper's bound, and betting",
    }
    for name in dict.fromkeys(panel.name for panel in panels):
        mine = [panel for panel in panels if panel.name == name]
        for figure, parts in shown.items():
            points = [point for panel in mine for part, methods in parts for point in records(panel, part, methods)]
            paths += figures.click_bands(points, mine[0].queries, titles[figure], out, f"{figure}-{name}")
    return paths
