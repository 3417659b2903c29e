"""cief2024, section 8 and appendix C: figures 1 to 9, on two click logs and three sets of labels.

What the paper leaves open, and how it is read here:

- What is true: attraction smoothed by Beta(1, 1), the posterior mean. That makes an item shown once look attractive
  (1/3 or 2/3), so figure 1 is drawn for a second truth too, without pages that show an item fewer than 50 times; and
  the values of logged and of random lists stand beside every result.
- The candidates are the items that the drawn log shows. Ties are broken at random.
- A list never repeats an item: item-position IPS is an assignment.
- `yandex-sample` has no days: the split of figure 5 is by its two files.
- Yahoo! Webscope and Istella are not at hand: figures 7 to 9 are on mq2008, mq2007-partial and mslr-sample. A query's
  100 lists come from one draw of Dirichlet weights; a log is 1,000 pages of them.
"""

from __future__ import annotations

from pathlib import Path

from counterrank.lab import figures
from counterrank.lab.cief2024.findings import findings
from counterrank.lab.cief2024.panels import Results, experiments
from counterrank.lab.cief2024.tables import numbers, records, tables
from counterrank.lab.result import Reproduction


def reproduce(data: Path | None, out: Path | None = None, quick: bool = False) -> Reproduction:
    """Figures as numbers and, where `out` is given and Altair is installed, as pictures."""
    results = experiments(data, quick)
    notes = list(results.notes)
    pictures: list[str] = []
    if out is not None and not figures.drawable():
        notes.append(figures.WITHOUT)
    elif out is not None:
        pictures = _draw(results, out)
    return Reproduction(
        paper="cief2024",
        tables=tables(results),
        findings=findings(results),
        numbers={panel.key: numbers(panel) for panel in results.panels}
        | {"auto": [each.to_dict() for each in results.chosen]},
        pictures=pictures,
        notes=notes,
        reading=results.reading,
    )


def _draw(results: Results, out: Path) -> list[str]:
    paths: list[str] = []
    groups: dict[tuple[str, str], list[dict[str, object]]] = {}
    for panel in results.panels:
        more = f"-{panel.log}-{panel.truth}" if panel.figure == "1" else ""
        groups.setdefault((panel.figure, f"figure{panel.figure}{more}"), []).extend(records(panel))
    for (figure, name), points in groups.items():
        by_size = figure == "2.1"
        across = "pages" if by_size else "δ; IPS: the clip in its place"
        title = f"Figure {figure}. Value of the best lists less that of the chosen ones"
        paths += figures.error_bands(points, across, title, out, name, log=by_size)
    return paths
