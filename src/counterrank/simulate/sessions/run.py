"""`simulate_sessions`: rankers play the same service, trial by trial, and are compared."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from counterrank.errors import InputError
from counterrank.log.reading import Reading
from counterrank.online import RANKERS, Options
from counterrank.records import dataclass
from counterrank.simulate.sessions.corpus import Corpus
from counterrank.simulate.sessions.outcome import Outcome, outcome_of
from counterrank.simulate.sessions.read import read_corpus
from counterrank.simulate.sessions.result import RankerRow, Simulation, tests_of
from counterrank.simulate.sessions.script import Plan, Script, script_of
from counterrank.simulate.sessions.setting import Asked, Exploration
from counterrank.simulate.sessions.store import Store
from counterrank.simulate.sessions.trace import Recorder
from counterrank.simulate.sessions.trial import Serving, Trial, play

TUNED_ON = 3  # trials
FEATURE = 25  # the warm-up's, counted from 1
Tell = Callable[[str], object]


@dataclass(frozen=True)
class Run:
    """One ranker in one trial, with its settings."""

    ranker: str
    behaviour: str
    exploration: float
    trial: int
    new_share: float | None = None


class Game:
    """A corpus and what is asked of it: plays runs."""

    def __init__(self, corpus: Corpus, asked: Asked) -> None:
        self.corpus, self.asked = corpus, asked.checked()
        self.sessions = asked.sessions_on(corpus)
        self.curve = asked.curve()
        self.notes = list(corpus.notes)
        wanted = asked.warmup_feature
        if wanted is None:
            wanted = FEATURE
            if len(corpus.columns) < FEATURE:
                wanted = corpus.names[0] if corpus.names else 1
                self.notes.append(f"there are fewer than {FEATURE} features: the warm-up sorts by the first")
        self.feature = corpus.place_of(wanted, "warmup_feature")
        self.script = cache(self._script)

    @cached_property
    def fingerprint(self) -> str:
        """Of the documents: a run on others is another run."""
        said = hashlib.sha256()
        for each in (self.corpus.features, self.corpus.relevance, self.corpus.starts):
            said.update(np.ascontiguousarray(each).tobytes())
        said.update("\0".join([*self.corpus.queries, *self.corpus.items, *self.corpus.names]).encode())
        return said.hexdigest()

    def _script(self, trial: int) -> Script:
        asked = self.asked
        return script_of(self.corpus, Plan(self.sessions, asked.arrival, asked.start, asked.split), asked.seed, trial)

    def key(self, run: Run) -> str:
        """The name of a run's file: everything that its numbers depend on."""
        kept = {**asdict(replace(self.asked, rankers=[], behaviour=[], exploration=None, trials=1)), **asdict(run)}
        said = json.dumps([self.fingerprint, self.sessions, self.feature, kept], sort_keys=True, default=str)
        return hashlib.sha256(said.encode()).hexdigest()[:24]

    def play(self, run: Run, traced: bool = False) -> Trial:
        asked = self.asked
        options = Options(
            examination=self.curve,
            exploration=run.exploration,
            evidence=asked.evidence,
            behaviour=run.behaviour,
            beta=None if asked.beta == "learnt" else float(asked.beta),
            model=asked.prior_model,
            feature=self.feature,
        )
        serving = Serving(
            options=options,
            warmup=asked.warmup,
            retrain=asked.retrain,
            new_share=run.new_share,
            new_below=asked.new_below,
        )
        return play(self.corpus, self.script(run.trial), run.ranker, serving, traced=traced)

    def outcome(self, run: Run) -> Outcome:
        return outcome_of(self.play(run), self.script(run.trial), self.asked.discount)


def simulate_sessions(
    features: Any = None,
    labels: str | None = None,
    *,
    letor: str | Path | Sequence[str | Path] | None = None,
    rankers: str | Sequence[str] = "ebrank",
    sessions: int | str = "auto",
    exploration: Exploration = None,
    behaviour: str | Sequence[str] = "none",
    evidence: str = "ips",
    beta: float | str = 5.0,
    prior_model: str = "linear",
    arrival: float = 1.0,
    start: tuple[int, int] = (5, 10),
    warmup: int = 20,
    warmup_feature: int | str | None = None,
    show: int = 5,
    retrain: int = 20,
    examination: str | Sequence[float] = "log",
    discount: float = 0.995,
    split: tuple[float, float, float] = (0.6, 0.2, 0.2),
    trials: int = 5,
    seed: int = 0,
    new_share: float | None = None,
    new_below: int = 20,
    leave_out: Sequence[int | str] = (),
    drop_irrelevant: bool = False,
    trace: str | Path | None = None,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    workers: int | None = None,
    tell: Tell | None = None,
) -> Simulation:
    """Play a ranking service (ebrank2023, section 5): queries come, documents arrive, users click, rankers learn.

    features, labels: a file or table of query, item, numbers and a column of labels (0, 1, 2, …), or a `Corpus`; or
    letor: LETOR files. rankers: names of `RANKERS`. exploration: a number, "tune" (chosen on the validation
    queries), or a dict by ranker. The other settings are the options of the command (docs/commands/simulate.md).
    trace, out: files for every session, and for the click log. resume: a folder that keeps finished runs. The same seed
    gives the same numbers, however many workers there are.

    >>> rng = np.random.default_rng(0)
    >>> table = {"query": [f"q{i // 8}" for i in range(160)], "item": list(range(160)), "x": rng.random(160),
    ...          "grade": rng.integers(0, 3, 160)}
    >>> found = simulate_sessions(table, "grade", rankers="truth,random", sessions=200, trials=1)
    >>> found.row("truth").cold.mean, found.row("random").cold.mean < 0.95
    (1.0, True)
    """
    names = [each.strip() for each in rankers.split(",")] if isinstance(rankers, str) else list(rankers)
    ways = [each.strip() for each in behaviour.split(",")] if isinstance(behaviour, str) else list(behaviour)
    asked = Asked(
        rankers=names, sessions=sessions, exploration=exploration, behaviour=ways, evidence=evidence, beta=beta,
        prior_model=prior_model, arrival=arrival, start=start, warmup=warmup, warmup_feature=warmup_feature, show=show,
        retrain=retrain, examination=examination, discount=discount, split=split, trials=trials, seed=seed,
        new_share=new_share, new_below=new_below,
    )  # fmt: skip
    asked.checked()
    asked.explorations()
    if workers is not None and not 1 <= workers <= 1000:
        raise InputError(f"`workers` is {workers}: give a whole number from 1 to 1000")
    if isinstance(features, Corpus):
        corpus = features
    else:
        corpus = read_corpus(letor, features, labels, leave_out=leave_out, drop_irrelevant=drop_irrelevant)
    game = Game(corpus, asked)
    crew = Crew(game, Store.at(resume), workers, tell or (lambda what: None))
    with threadpool_limits(1):
        chosen = crew.tuned()
        runs = [run for each in _cast(asked) for run in _runs(asked, each, chosen[each])]
        if trace is None and out is None:
            outcomes = crew.outcomes(runs)
        else:
            outcomes = crew.traced(runs, Recorder(game.corpus, asked, trace, out))
    return _answer(game, runs, outcomes)


Role = tuple[str, str]  # ranker and behaviour


def _cast(asked: Asked) -> list[Role]:
    """Who plays: each ranker with each way to use clicks that it has."""
    out: list[Role] = []
    for name in asked.rankers:
        can = RANKERS[name].behaviours
        ways = [way for way in asked.behaviour if way in can] or [can[0]]
        out += [(name, way) for way in ways if (name, way) not in out]
    return out


def _runs(asked: Asked, role: Role, exploration: float) -> list[Run]:
    budgets = [None] if asked.new_share is None else [None, asked.new_share]
    return [Run(*role, exploration, trial, budget) for budget in budgets for trial in range(asked.trials)]


class Crew:
    """Plays runs side by side; those that are kept are not played again."""

    def __init__(self, game: Game, store: Store, workers: int | None, tell: Tell) -> None:
        self.game, self.store, self.tell = game, store, tell
        self.workers = workers or os.cpu_count() or 1

    def tuned(self) -> dict[Role, float]:
        """The exploration of each role: given, or the best on validation queries by mean session NDCG."""
        asked, given = self.game.asked, self.game.asked.explorations()
        roles = _cast(asked)
        wanted: dict[Role, list[Run]] = {}
        for role in roles:
            if given[role[0]] == "tune":
                grid = RANKERS[role[0]].grid
                trials = range(min(asked.trials, TUNED_ON)) if len(grid) > 1 else range(0)
                wanted[role] = [Run(*role, weight, trial) for weight in grid for trial in trials]
        runs = [run for some in wanted.values() for run in some]
        found = dict(zip(runs, self.outcomes(runs), strict=True))
        out: dict[Role, float] = {}
        for role in roles:
            value = given[role[0]]
            member = RANKERS[role[0]]
            if value == "tune":
                out[role] = _best(member.grid, [(run.exploration, found[run]) for run in wanted[role]])
            else:
                out[role] = member.exploration if value is None else float(value)
        return out

    def outcomes(self, runs: Sequence[Run]) -> list[Outcome]:
        return list(self._all(runs, self._outcome))

    def traced(self, runs: Sequence[Run], recorder: Recorder) -> list[Outcome]:
        """All played anew, since the traces of what is kept are not."""
        out = []
        with recorder:
            for run, trial in zip(runs, self._all(runs, lambda run: self.game.play(run, traced=True)), strict=True):
                script = self.game.script(run.trial)
                recorder.add(run, script, trial)
                out.append(outcome_of(trial, script, self.game.asked.discount))
        return out

    def _outcome(self, run: Run) -> Outcome:
        key = self.game.key(run)
        kept = self.store.get(key)
        if kept is None:
            kept = self.game.outcome(run)
            self.store.put(key, kept)
        return kept

    def _all(self, runs: Sequence[Run], work: Callable[[Run], Any]) -> Iterator[Any]:
        """In order, some at a time."""
        with ThreadPoolExecutor(self.workers) as pool:
            ahead: list[Any] = []
            left = iter(runs)
            for done in range(len(runs)):
                while len(ahead) < 2 * self.workers and (run := next(left, None)) is not None:
                    ahead.append(pool.submit(work, run))
                self.tell(f"{done:,} of {len(runs):,} runs: {runs[done].ranker}, trial {runs[done].trial + 1}")
                yield ahead.pop(0).result()


def _best(grid: Sequence[float], found: Sequence[tuple[float, Outcome]]) -> float:
    """The least of the best weights."""
    if not found:
        return grid[0]

    def worth(weight: float) -> float:
        values = [each.validation for at, each in found if at == weight and each.validation is not None]
        return sum(values) / len(values) if values else -np.inf

    return max(sorted(grid), key=worth)


def _answer(game: Game, runs: Sequence[Run], outcomes: Sequence[Outcome]) -> Simulation:
    asked = game.asked
    together: dict[tuple[str, str, float, float | None], list[Outcome]] = {}
    for run, outcome in zip(runs, outcomes, strict=True):
        together.setdefault((run.ranker, run.behaviour, run.exploration, run.new_share), []).append(outcome)
    rows = [RankerRow.of(*key, found) for key, found in together.items()]
    tuned = [name for name, value in asked.explorations().items() if value == "tune"]
    notes = list(game.notes)
    if tuned:
        notes.append(
            f"exploration of {', '.join(tuned)} was chosen by the mean session NDCG of the validation queries of the "
            f"first {min(asked.trials, TUNED_ON)} trials"
        )
    return Simulation(
        sessions=game.sessions,
        queries=len(game.corpus.queries),
        trials=asked.trials,
        rankers=rows,
        tests=tests_of(rows),
        reading=Reading(rows=game.corpus.read, rejected=0),
        settings={name: value for name, value in asdict(asked).items() if name not in ("rankers", "behaviour")},
        notes=notes,
    )
