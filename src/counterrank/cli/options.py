"""The groups of options that commands share: the log, the question, the answer."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from counterrank.cli.common import counting
from counterrank.cli.files import READS, WRITES_LINES, WRITES_PAGE, WRITES_TABLE
from counterrank.engine import ENGINES, Engine
from counterrank.interval import INTERVALS
from counterrank.log import Log, read_log
from counterrank.log.foreign import FORMATS
from counterrank.log.schema import OPTIONAL, parse_columns
from counterrank.records import dataclass
from counterrank.regress import REGRESSIONS
from counterrank.setting.options import EXAMINATIONS, WEIGHTS, numbers, read_clip

TEMPERATURE = "0 sorts, a positive one is Plackett–Luce."


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """Which log, and how it is read."""

    panel: ClassVar[str] = "The log"

    log: Annotated[
        str,
        typer.Argument(help="Parquet, CSV or JSON Lines (.gz too), a folder or glob of them, or file.duckdb:table."),
        READS,
    ]
    columns: Annotated[str | None, typer.Option(help="Other column names, e.g. query=q,items=shown.")] = None
    cluster: Annotated[
        str | None,
        typer.Option(help="The column that says which impressions are not independent, e.g. user. Default: cluster."),
    ] = None
    format: Annotated[str | None, typer.Option(help=f"A foreign format: {', '.join(FORMATS)}.")] = None
    time_unit: Annotated[
        str | None, typer.Option(help="Unit of a yandex log's time: ms (default), s, min, h or day.")
    ] = None
    bad_rows: Annotated[
        Path | None,
        typer.Option(help="Set bad rows aside in this JSON Lines file, count them and go on."),
        WRITES_LINES,
    ] = None
    ignore: Annotated[
        str | None, typer.Option(help=f"Columns of the log to leave unread, comma-separated: {', '.join(OPTIONAL)}.")
    ] = None
    repair_repeats: Annotated[
        bool, typer.Option("--repair-repeats", help="An item shown twice keeps its first place, instead of a bad row.")
    ] = False
    engine: Annotated[str, typer.Option(help=f"Where rows are counted: {', '.join(ENGINES)}.")] = "duckdb"

    def open(self, source: str | None = None, segment: str | None = None) -> Log:
        """The log; or another, which is read as it is; `segment`: the column that a query is told apart by."""
        return read_log(
            self.log if source is None else source,
            columns=parse_columns(self.columns),
            cluster=self.cluster,
            segment=segment,
            format=self.format,
            time_unit=self.time_unit,
            bad_rows=self.bad_rows,
            ignore=self.ignore,
            repair_repeats=self.repair_repeats,
        )

    def counting(self) -> AbstractContextManager[Engine]:
        """The engine, with a progress line."""
        return counting(self.engine)


@dataclass(frozen=True, kw_only=True)
class WorthOptions:
    """What a click at a position is worth, and how likely the position is looked at."""

    panel: ClassVar[str] = "The question"

    top: Annotated[int | None, typer.Option(help="Judge the first K positions only.")] = None
    weights: Annotated[
        str | None, typer.Option(help=f"What a click at a position is worth: {', '.join(WEIGHTS)}, or 1,0.5,…")
    ] = None
    examination: Annotated[
        str | None,
        typer.Option(help=f"How likely a position is looked at, for pbm: {', '.join(EXAMINATIONS)}, or 1,0.7,…"),
    ] = "auto"

    def asked(self) -> dict[str, Any]:
        """As the library takes them."""
        weights = numbers(self.weights, "weights", WEIGHTS) if self.weights is not None else None
        curve = numbers(self.examination, "examination", EXAMINATIONS) if self.examination is not None else None
        return {"top": self.top, "weights": weights, "examination": curve}


@dataclass(frozen=True, kw_only=True)
class QuestionOptions(WorthOptions):
    """What is asked of a log: the metric, the logging policy, the items."""

    metric: Annotated[str | None, typer.Option(help="reward or clicks. Default: reward if the log has it.")] = None
    clip: Annotated[
        str | None, typer.Option(help="The largest weight an impression may get, or auto. Default: none.")
    ] = None
    logging: Annotated[
        str | None,
        typer.Option(help="The policy behind the log: log (its shares), propensity (its columns), uniform, or a file."),
        READS,
    ] = None
    temperature: Annotated[float, typer.Option(help=f"For policies given as scores: {TEMPERATURE}")] = 0.0
    candidates: Annotated[
        str | None,
        typer.Option(help="Rows (query, item): what uniform may show. Default: logged and target items."),
        READS,
    ] = None
    features: Annotated[
        str | None,
        typer.Option(
            help="Rows (query, item, numbers) for dm, dr, dr-list and policies that score; .txt, .letor: LETOR."
        ),
        READS,
    ] = None
    model: Annotated[
        str | None, typer.Option(help=f"The regression on features: {', '.join(REGRESSIONS)}. Default: ridge.")
    ] = None

    def asked(self) -> dict[str, Any]:
        return {
            **super().asked(),
            "metric": self.metric,
            "clip": read_clip(self.clip),
            "candidates": self.candidates,
            "features": self.features,
            "model": self.model,
        }


@dataclass(frozen=True, kw_only=True)
class JudgingOptions(QuestionOptions):
    """The same of a policy that is judged, with an interval."""

    logging_temperature: Annotated[
        float | None, typer.Option(help="For --logging FILE with scores. Default: --temperature.")
    ] = None
    mix: Annotated[float, typer.Option(help="Judge the target with this share of uniform rankings mixed in.")] = 0.0
    interval: Annotated[
        str | None,
        typer.Option(help=f"Kind of interval: {', '.join(INTERVALS)}. Default: normal, t where evidence is thin."),
    ] = None
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95
    reward_range: Annotated[
        str | None, typer.Option(help="LO,HI: between what numbers rewards can lie, for bounded intervals.")
    ] = None

    def asked(self) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in ("interval", "confidence", "reward_range")}
        return {**super().asked(), **given}


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """In what form the answer comes."""

    panel: ClassVar[str] = "The answer"

    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout, and nothing else.")] = False


@dataclass(frozen=True, kw_only=True)
class JudgedOptions(AnswerOptions):
    """In what forms it comes besides."""

    per_query: Annotated[
        Path | None, typer.Option(help="Also write values per query: .parquet, .csv or .jsonl."), WRITES_TABLE
    ] = None
    report: Annotated[
        Path | None, typer.Option(help="Also write one HTML page with all there is to say and see."), WRITES_PAGE
    ] = None

    def written(self) -> list[str]:
        """What to say of it on the screen."""
        return [f"report written to {self.report}"] if self.report is not None else []
