"""The experiments of section 8 and appendix C, each a few panels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from counterrank.lab.cief2024.auto import Chosen, choose
from counterrank.lab.cief2024.pages import Floats, Integers, Pages
from counterrank.lab.cief2024.sweep import BOUNDED, Sweep, sweep
from counterrank.lab.cief2024.truth import MODELS, Truth
from counterrank.lab.cief2024.worlds import LABELLED, RARE, labelled, read_clara2, read_labels, read_yandex, truths
from counterrank.lab.progress import tell
from counterrank.log.reading import Reading
from counterrank.records import dataclass

SEED = 2024
TOP = 10
SIZE = 1000
FIXED = 0.2  # figure 2.1's delta
SIZES = (50, 100, 200, 500, 1000, 2000, 5000, 20_000, 50_000, 200_000, 500_000)
GRIDS = (1, 2, 5, 10, 20)
FREQUENT = 100  # clara2: its most frequent queries
LABELLED_QUERIES = 100


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One picture: errors against delta; figure 2.1's against the size, figure 6's against the grid."""

    figure: str
    key: str
    title: str
    model: str  # of the users
    log: str
    truth: str  # paper, common: what is called true
    sweep: Sweep
    x: tuple[float, ...] = ()  # what stands in the place of delta

    @property
    def where(self) -> str:
        """Which figure, log and truth."""
        kind = {"common": ", truth without rare items", "held out": ", held out"}.get(self.truth, "")
        return f"figure {self.figure}, {self.log}, {self.sweep.queries} queries{kind}".replace("1 queries", "1 query")


@dataclass(frozen=True)
class Results:
    panels: list[Panel]
    chosen: list[Chosen]
    notes: list[str]
    reading: Reading

    def of(self, figure: str) -> list[Panel]:
        return [panel for panel in self.panels if panel.figure == figure]

    def groups(self, figures: tuple[str, ...]) -> list[list[Panel]]:
        """Panels of one figure, log and truth together: a model each."""
        out: dict[tuple[str, str, str], list[Panel]] = {}
        for figure in figures:
            for panel in self.of(figure):
                out.setdefault((figure, panel.log, panel.truth), []).append(panel)
        return list(out.values())


def experiments(data: Path | None, quick: bool) -> Results:
    """All of them."""
    runs = 60 if quick else 500
    yandex, parts, reading = read_yandex(data)
    clara2, more = read_clara2(data)
    reading += more
    panels, notes = _first({"yandex-sample": yandex[:TOP], "clara2": clara2[:TOP]}, runs)
    panels += _sizes(yandex[:TOP], runs)
    panels += _mismatch(yandex[:TOP], runs)
    tell("figures 3 to 6")
    for model in MODELS:
        found = sweep(truths(yandex[:1], model), size=SIZE, runs=runs, seed=SEED)
        title = f"yandex-sample, query {yandex[0].query}, {model}"
        panels.append(
            Panel(
                figure="3",
                key=f"figure3-{model}",
                title=title,
                model=model,
                log="yandex-sample",
                truth="paper",
                sweep=found,
            )
        )
    for log, pages in (("yandex-sample", yandex[TOP:]), ("clara2", clara2[TOP:FREQUENT])):
        fewer = runs if len(pages) <= TOP else max(runs // 5, 20)  # many queries: less noise in their mean
        found = sweep(truths(pages, "dcm"), size=SIZE, runs=fewer, seed=SEED, methods=BOUNDED)
        title = f"{log}, its next {len(pages)} queries, dcm"
        panels.append(
            Panel(figure="4", key=f"figure4-{log}", title=title, model="dcm", log=log, truth="paper", sweep=found)
        )
    panels += _held_out(parts[:TOP], runs)
    panels += _grids(yandex[:TOP], runs)
    rng = np.random.default_rng(SEED)
    for number, name in enumerate(LABELLED, 7):
        tell(f"figure {number}: {name}")
        documents, more = read_labels(data, name)
        reading += more
        for model in MODELS:
            known = labelled(documents, model, 30 if quick else LABELLED_QUERIES, rng)
            found = sweep(known, size=SIZE, runs=max(runs // 5, 20), seed=SEED, methods=(*BOUNDED, "ips", "ip-ips"))
            title = f"{name}, {len(known)} queries, {model}"
            panels.append(
                Panel(
                    figure=str(number),
                    key=f"figure{number}-{model}",
                    title=title,
                    model=model,
                    log=name,
                    truth="labels",
                    sweep=found,
                )
            )
    return Results(panels, _auto(yandex, clara2, 6 if quick else 50), [*reading.notes, *notes], reading)


def _auto(yandex: list[Pages], clara2: list[Pages], runs: int) -> list[Chosen]:
    """δ chosen from the log. The rule was made on the top queries; the others had no say in it."""
    tell("delta auto")
    out = []
    for where, pages, least, times in (
        ("top 10", yandex[:TOP], 0, runs),
        ("top 10, common", yandex[:TOP], RARE, runs),
        ("next 10", yandex[TOP:], 0, runs),
        ("next 10, common", yandex[TOP:], RARE, runs),
        ("clara2", clara2[:FREQUENT], 0, max(runs // 5, 2)),
    ):
        for model in MODELS:
            known = truths(pages, model, least)
            out += [choose(where, known, bound, SIZE, times, SEED) for bound in ("bayes", "empirical-bayes")]
    return out


def _first(logs: dict[str, list[Pages]], runs: int) -> tuple[list[Panel], list[str]]:
    """Figure 1, and what to know of it."""
    panels, notes = list[Panel](), list[str]()
    for log, pages in logs.items():
        for truth, least in (("paper", 0), ("common", RARE)):
            tell(f"figure 1: {log}, {truth} truth")
            for model in MODELS:
                known = truths(pages, model, least)
                if known:
                    found = sweep(known, size=SIZE, runs=runs, seed=SEED)
                    title = f"{log}, top {len(known)} queries, {model}{' without rare items' if least else ''}"
                    panels.append(
                        Panel(
                            figure="1",
                            key=f"figure1-{log}-{truth}-{model}",
                            title=title,
                            model=model,
                            log=log,
                            truth=truth,
                            sweep=found,
                        )
                    )
                elif model == MODELS[0]:
                    notes.append(f"{log}: no page has only items shown {RARE} times or more, so one truth only")
    return panels, notes


def _sizes(pages: list[Pages], runs: int) -> list[Panel]:
    """Figure 2.1: dcm at one delta, more and more pages."""
    tell("figure 2.1")
    known = truths(pages, "dcm")
    found = [sweep(known, size=size, runs=runs, seed=SEED, methods=BOUNDED, deltas=np.array([FIXED])) for size in SIZES]
    title = f"yandex-sample, top {len(known)} queries, dcm, δ = {FIXED:g}"
    return [
        Panel(
            figure="2.1",
            key="figure2.1",
            title=title,
            model="dcm",
            log="yandex-sample",
            truth="paper",
            sweep=_stacked(found),
            x=SIZES,
        )
    ]


def _mismatch(pages: list[Pages], runs: int) -> list[Panel]:
    """Figure 2.2: users of one model, bounds of the other."""
    tell("figure 2.2")
    out = []
    for users, assumed in (("pbm", "dcm"), ("dcm", "pbm")):
        found = sweep(truths(pages, users), size=SIZE, runs=runs, seed=SEED, model=assumed)
        title = f"yandex-sample, top {len(pages)} queries: {users} users, {assumed} bounds"
        out.append(
            Panel(
                figure="2.2",
                key=f"figure2.2-{users}-{assumed}",
                title=title,
                model=users,
                log="yandex-sample",
                truth="paper",
                sweep=found,
            )
        )
    return out


def _held_out(parts: list[list[Pages]], runs: int) -> list[Panel]:
    """Figure 5: parameters from one file, real clicks from the other."""
    out = []
    for model in MODELS:
        known = [_known(Truth.fit(model, train), train, test) for train, test in parts if train.size and test.size]

        def clicks(truth: Truth, size: int, runs: int, rng: np.random.Generator) -> Integers:
            shares = truth.pages.seen.ravel() / truth.pages.size
            return np.asarray(rng.multinomial(size, shares, size=runs).reshape(runs, *truth.pages.seen.shape))

        found = sweep(known, size=SIZE, runs=runs, seed=SEED, draw=clicks)
        title = f"yandex-sample, top {len(known)} queries, {model} fitted on one file, clicks of the other"
        out.append(
            Panel(
                figure="5",
                key=f"figure5-{model}",
                title=title,
                model=model,
                log="yandex-sample",
                truth="held out",
                sweep=found,
            )
        )
    return out


def _known(fit: Truth, train: Pages, test: Pages) -> Truth:
    """Parameters of one part on the other's pages, but for pages with items that the first part never shows."""
    never = np.ones(train.items, dtype=bool)
    never[train.lists[train.seen.sum(axis=1) > 0]] = False
    keep = ~never[test.lists].any(axis=1) & (test.seen.sum(axis=1) > 0)
    pages = replace(test, lists=test.lists[keep], seen=test.seen[keep])
    return replace(fit, pages=pages, attraction=np.where(never, 0.0, fit.attraction))


def _grids(pages: list[Pages], runs: int) -> list[Panel]:
    """Figure 6: empirical Bayes on larger and larger grids."""
    known = truths(pages, "dcm")
    found = {
        grid: sweep(known, size=SIZE, runs=runs, seed=SEED, methods=("empirical-bayes",), grid=grid) for grid in GRIDS
    }
    both = Sweep(
        errors={f"grid of {grid}": each.errors["empirical-bayes"] for grid, each in found.items()}
        | {"mle": found[GRIDS[0]].errors["mle"]},
        logged=found[GRIDS[0]].logged,
        random=found[GRIDS[0]].random,
        best=found[GRIDS[0]].best,
        queries=len(known),
    )
    title = f"yandex-sample, top {len(known)} queries, dcm, empirical Bayes"
    return [Panel(figure="6", key="figure6", title=title, model="dcm", log="yandex-sample", truth="paper", sweep=both)]


def _stacked(found: list[Sweep]) -> Sweep:
    """Sweeps of one delta each, one after the other."""
    names = found[0].errors
    errors: dict[str, Floats] = {name: np.concatenate([each.errors[name] for each in found]) for name in names}
    first = found[0]
    return Sweep(errors, first.logged, first.random, first.best, first.queries)
