"""What a backtest on the log's own days says, for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterrank.engine import Engine
from counterrank.errors import InputError
from counterrank.pages.pictures import plot_backtest, plot_calibration
from counterrank.pages.shared import needs_log
from counterrank.report import Child, element, paragraph, sentence
from counterrank.setting.question import Question

if TYPE_CHECKING:
    from counterrank.judging.evaluation import Evaluation

MOST = 5_000_000  # impressions that a page has tested in passing
REPLICATES = 200


def backtested(result: Evaluation, question: Question | None, engine: str | Engine, lead: str | None) -> Child:
    """The errors as a picture and in words, or how to get them."""
    if result.metric != "clicks":
        return paragraph("A backtest predicts clicks, and this is a reward of whole pages.")
    if not result.asked.has_days:
        return paragraph(
            "The log has no days. With a column day, counterrank backtest predicts each day from the others and says "
            "which estimator was right."
        )
    if result.impressions > MOST:
        return paragraph("The log is long: run ", element("code", "counterrank backtest"), " on it, or on a part.")
    if question is None:
        return needs_log("A backtest")
    from counterrank.backtesting.backtest import CLIPS, backtest, tested

    names = [row.estimator for row in result.rows if row.estimator in tested()]
    try:
        found = backtest(
            question.log, estimators=names or None, clips=sorted({*CLIPS, question.clip}), top=question.top,
            weights=question.weights, examination=question.examination, replicates=REPLICATES, engine=engine,
            calibrated=(lead, question.clip) if lead in tested() else None,
        )  # fmt: skip
    except InputError as reason:
        return paragraph("No backtest: ", sentence(str(reason)))
    [problem] = found.problems
    calibration = plot_calibration(found.calibration) if found.calibration is not None else None
    picture = plot_backtest(found, problem, question.clip, lead)
    advice = found.advice().removeprefix(f"{problem}: ")
    return [
        paragraph(
            f"Each day of each query was predicted from its other days: {found.query_days:,} query-days of "
            f"{found.queries:,} queries and {found.days:,} days. The dashed line is the noise of the days themselves, "
            "which no estimator can undercut by much."
        ),
        picture.figure(advice[0].upper() + advice[1:] + "."),
        calibration.figure(
            f"Calibration of {lead}: query-days in groups, from the lowest prediction to the highest. Where the dots "
            "(what the days got) stand on the dashed line (what was predicted), predictions can be taken at their word."
        )
        if calibration is not None
        else None,
        paragraph(
            "Days of one log are more alike than a new policy is to the old one: take this as the better case.",
            class_="quiet",
        ),
    ]
