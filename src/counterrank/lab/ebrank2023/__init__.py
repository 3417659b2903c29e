"""ebrank2023: table 3 and figures 2 to 5, on MQ2007 in part and MQ2008; MSLR's sample for smoke.

What the paper leaves open, and how it is read here:

- Queries without a relevant document are left out: only so are the paper's levels met. MQ2007 is here with 85 % of its
  documents.
- Each trial has a split of its own. Models are learnt at the start of each twentieth of the sessions, first from the
  warm-up.
- Exploration is not printed. That of every method is chosen on validation queries by mean session NDCG; the paper's
  UCBRank row is what one that hardly explores gets, and it is shown beside.
- log α is linear, so that α is never negative. The feature models of the CF methods, UCBRank and PRIOR are solved
  exactly.
- Figure 4's rates are not printed: 0.1, 0.25, 0.5 and 1. Explorations are those tuned at 1.
"""

from __future__ import annotations

from pathlib import Path

from counterrank.lab import figures
from counterrank.lab.ebrank2023.findings import findings
from counterrank.lab.ebrank2023.runs import Study, smoke, studies
from counterrank.lab.ebrank2023.tables import tables
from counterrank.lab.ebrank2023.toy import toy, toy_table
from counterrank.lab.result import PaperFinding, PaperTable, Reproduction
from counterrank.output import make_folder
from counterrank.report import Curve, curves


def reproduce(data: Path | None, out: Path | None = None, quick: bool = False) -> Reproduction:
    """Tables and figures as numbers and, where `out` is given, as pictures."""
    twins = toy()
    done = studies(data, quick)
    sample = smoke(data)
    notes = [f"{study.name}: {note}" for study in done for note in study.corpus.notes]
    notes.append(
        "mq2007-partial lacks about 15 % of MQ2007's documents: its numbers are close to the paper's, not the same"
    )
    if quick:
        notes.append("--quick: 4,000 sessions and 2 trials on mq2008; levels are not the paper's")
    pictures = [] if out is None else [path for study in done for path in _draw(study, out)]
    if out is not None and not figures.drawable():
        notes.append("PNG pictures were left out: pip install '.[lab]'")
    header, body = sample.cells()
    return Reproduction(
        paper="ebrank2023",
        tables=[
            *(table for study in done for table in tables(study)),
            toy_table(twins),
            PaperTable("mslr-sample, for smoke: 2,000 sessions", header, body),
        ],
        findings=[*(each for study in done for each in findings(study)), _twins(twins)],
        numbers={
            **{study.name: _numbers(study) for study in done},
            "mslr-sample": sample.to_dict(),
            "figure2": {name: {"A": old, "G": new} for name, (old, new) in twins.items()},
        },
        pictures=pictures,
        notes=notes,
    )


def _numbers(study: Study) -> dict[str, object]:
    return {
        "table3": study.table.to_dict(),
        "curves": {row.label: [each.curve for each in row.outcomes] for row in study.table.rankers},
        "unexploring": study.unexploring.to_dict(),
        "ablation": {name: found.to_dict() for name, found in study.ablation.items()},
        "arrivals": {f"{rate:g}": found.to_dict() for rate, found in study.arrivals.items()},
    }


def _twins(found: dict[str, tuple[int, int]]) -> PaperFinding:
    hurt = found["cftopk, concat"]
    fair = found["ebrank"]
    holds = "yes" if hurt[1] > hurt[0] + 1 and fair[1] <= fair[0] + 1 else "no"
    said = "; ".join(f"{name}: A {old}, G {new}" for name, (old, new) in found.items())
    claim = "an item that was never shown falls behind its twin where clicks are a feature, and not under EBRank"
    return PaperFinding(claim, "figure 2's toy", holds, said)


def _draw(study: Study, out: Path) -> list[str]:
    """Figures 3, 4 and 5, as SVG and, where that can be made, PNG."""
    make_folder(out)
    rates = list(study.arrivals)
    across = [
        Curve(
            row.label,
            [study.arrivals[rate].row(row.ranker).cumulative.mean for rate in rates],
            [study.arrivals[rate].row(row.ranker).cumulative.sd or 0.0 for rate in rates],
        )
        for row in study.arrivals[rates[0]].rankers
    ]
    parts = [found.rankers[-1].curve(name) for name, found in study.ablation.items()]
    places = [float(study.table.sessions * (i + 1) // len(parts[0].values)) for i in range(len(parts[0].values))]
    pictures = {
        "figure3": study.table.plot(),
        "figure4": curves("Figure 4. Cumulative NDCG by how fast documents arrive", rates, across, "arrival"),
        "figure5": curves("Figure 5. NDCG of what was shown, EBRank in parts", places, parts, "sessions"),
    }
    kinds = ("svg", "png") if figures.drawable() else ("svg",)
    return [
        str(picture.save(out / f"{name}-{study.name}.{kind}")) for name, picture in pictures.items() for kind in kinds
    ]
