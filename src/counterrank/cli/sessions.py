"""The options of `counterrank simulate --sessions`: a ranking service played out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from counterrank.cli.common import print_json, working
from counterrank.cli.files import READS, WRITES_FOLDER, WRITES_TABLE
from counterrank.cli.flags import phrase
from counterrank.cli.tables import print_answer, say
from counterrank.errors import InputError
from counterrank.online import RANKERS
from counterrank.online.ranker import BEHAVIOURS, EVIDENCE
from counterrank.regress import PRIOR_MODELS


@dataclass(frozen=True, kw_only=True)
class SessionOptions:
    """A ranking service, its documents, its users and who ranks."""

    panel: ClassVar[str] = "A ranking service (with --sessions)"

    sessions: Annotated[
        str | None, typer.Option(help="Play a ranking service: so many sessions, or auto, until all have arrived.")
    ] = None
    letor: Annotated[
        list[str] | None, typer.Option(help="Documents: LETOR files, folders or globs; may be repeated."), READS
    ] = None
    features: Annotated[
        str | None, typer.Option(help="Documents: rows of query, item, numbers and --labels; numbers may lack."), READS
    ] = None
    labels: Annotated[str | None, typer.Option(help="The column of --features with the grades 0, 1, 2, …")] = None
    leave_out: Annotated[
        str | None, typer.Option(help="Features that rankers do not see, by number from 1 or name: 134,135,136.")
    ] = None
    drop_irrelevant: Annotated[
        bool, typer.Option("--drop-irrelevant", help="Leave out queries without a relevant document.")
    ] = False
    ranker: Annotated[str, typer.Option(help=f"Who ranks, comma-separated: {', '.join(RANKERS)}.")] = "ebrank"
    behaviour: Annotated[
        str,
        typer.Option(
            help=f"Whether C/n is a feature, where a ranker can choose: {' or '.join(BEHAVIOURS)}; or both, by a comma."
        ),
    ] = "none"
    exploration: Annotated[
        str | None, typer.Option(help="A number, tune (on validation queries), or by ranker: ebrank=20,ucbrank=tune.")
    ] = None
    evidence: Annotated[
        str, typer.Option(help=f"How clicks count: {', '.join(EVIDENCE)} (Σ click/ρ over n, or clicks over Σρ).")
    ] = "ips"
    beta: Annotated[str, typer.Option(help="β of the priors: a number, or learnt.")] = "5"
    prior_model: Annotated[str, typer.Option(help=f"α from features: {', '.join(PRIOR_MODELS)}.")] = "linear"
    arrival: Annotated[float, typer.Option(help="Chance that a session brings its query a new document.")] = 1.0
    start: Annotated[str, typer.Option(help="Documents of a query at the beginning: from,to.")] = "5,10"
    warmup: Annotated[int, typer.Option(help="Sessions of each query before rankers begin; they count as clicks.")] = 20
    warmup_feature: Annotated[
        str | None, typer.Option(help="What the warm-up (and bm25) sorts by: number from 1, or name. Default: 25.")
    ] = None
    show: Annotated[int, typer.Option(help="Places of a page.")] = 5
    retrain: Annotated[int, typer.Option(help="How often rankers learn, evenly over the sessions.")] = 20
    examination: Annotated[
        str, typer.Option(help="How likely a place is looked at: log (1/log2(k+1)), reciprocal, or 1,0.7,…")
    ] = "log"
    discount: Annotated[float, typer.Option(help="Of cumulative NDCG, a session back.")] = 0.995
    split: Annotated[str, typer.Option(help="Shares of training, validation and test queries.")] = "0.6,0.2,0.2"
    trials: Annotated[int, typer.Option(help="Trials, each with its own split, arrivals and clicks.")] = 5
    new_share: Annotated[
        float | None, typer.Option(help="Also play each ranker with at most this share of a page for new items.")
    ] = None
    new_below: Annotated[int, typer.Option(help="An item with fewer impressions is new.")] = 20
    resume: Annotated[
        Path | None, typer.Option(help="Keep finished runs in this folder, and go on from it."), WRITES_FOLDER
    ] = None
    workers: Annotated[int | None, typer.Option(help="Runs side by side. Default: as many as there are cores.")] = None
    trace: Annotated[
        Path | None, typer.Option(help="Every session as a row: .parquet, .csv or .jsonl."), WRITES_TABLE
    ] = None

    def asked(self) -> bool:
        """Whether a service is to be played. Its options without --sessions are an error."""
        if self.sessions is not None:
            return True
        for field in fields(self):
            if getattr(self, field.name) != field.default:
                raise InputError(f"`{field.name}` is for a ranking service: add `sessions`, a number or auto")
        return False

    def play(self, seed: int, out: Path | None, as_json: bool) -> None:
        """Play it and print what came of it."""
        from counterrank.simulate.sessions import simulate_sessions

        taken = ("arrival", "warmup", "warmup_feature", "show", "retrain", "discount", "trials", "evidence")
        with working() as tell:
            result = simulate_sessions(
                self.features,
                self.labels,
                letor=self.letor,
                rankers=self.ranker,
                exploration=_exploration(self.exploration),
                behaviour=self.behaviour,
                leave_out=_words(self.leave_out),
                drop_irrelevant=self.drop_irrelevant,
                trace=self.trace,
                out=out,
                resume=self.resume,
                workers=self.workers,
                tell=tell,
                sessions="auto" if self.sessions == "auto" else _whole(self.sessions, "sessions"),
                beta="learnt" if self.beta == "learnt" else _numbers(self.beta, "beta", 1)[0],
                prior_model=self.prior_model,
                start=_pair(self.start),
                split=_shares(self.split),
                examination=self.examination
                if self.examination.isalpha()
                else _numbers(self.examination, "examination"),
                seed=seed,
                new_share=self.new_share,
                new_below=self.new_below,
                **{name: getattr(self, name) for name in taken},
            )
        phrase(result)
        if as_json:
            print_json(result.to_json())
            return
        print_answer(result)
        written = [f"{what} written to {path}" for what, path in {"trace": self.trace, "log": out}.items() if path]
        say([*result.remarks(), *written])


def _words(text: str | None) -> list[str]:
    return [each.strip() for each in text.split(",")] if text else []


def _pair(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2:
        raise InputError(f"`start` is {text!r}: give two whole numbers such as 5,10")
    return _whole(parts[0], "start"), _whole(parts[1], "start")


def _shares(text: str) -> tuple[float, float, float]:
    train, validation, test = _numbers(text, "split", 3)
    return train, validation, test


def _whole(text: str | None, name: str) -> int:
    try:
        return int(str(text))
    except ValueError:
        more = "auto, or a whole number" if name == "sessions" else "whole numbers such as 5,10"
        raise InputError(f"`{name}` is {text!r}: give {more}") from None


def _numbers(text: str, name: str, count: int | None = None) -> list[float]:
    try:
        found = [float(each) for each in text.split(",")]
    except ValueError:
        found = []
    if not found or (count is not None and len(found) != count):
        raise InputError(f"`{name}` is {text!r}: give {'numbers' if count is None else count} separated by commas")
    return found


def _exploration(text: str | None) -> Any:
    """A number, `tune`, or both by ranker."""
    if text is None or "=" not in text:
        return text
    out = {}
    for each in text.split(","):
        name, sign, value = each.partition("=")
        if not sign:
            raise InputError(f"`exploration` is {text!r}: give a number, tune, or ranker=number separated by commas")
        out[name.strip()] = value.strip()
    return out
