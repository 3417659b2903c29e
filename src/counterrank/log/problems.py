"""What can be wrong with a row, in words."""

from __future__ import annotations

from enum import IntEnum

from counterrank.errors import InputError
from counterrank.limits import LARGEST


class RowProblem(IntEnum):
    """A row's first problem; 0 is none."""

    NONE = 0
    QUERY = 1
    ITEMS = 2
    ITEM = 3
    REPEATED = 4
    CLICKS = 5
    LENGTH = 6
    CLICK = 7
    REWARD = 8
    PROPENSITY = 9
    IMPRESSIONS = 10
    DAY = 11
    POSITIONS = 12
    DIFFERS = 13
    IMPRESSION = 14
    CLUSTER = 16
    SEGMENT = 17
    ITEM_PROPENSITIES = 18
    ITEM_PROPENSITY = 19
    LARGE = 40
    RAGGED = 15


MESSAGES: dict[RowProblem, str] = {
    RowProblem.QUERY: "query is missing or no id, which is text or a whole number (or the line could not be parsed)",
    RowProblem.ITEMS: 'items is missing, empty or not a list: expected the shown items in order, e.g. ["a", "b"]',
    RowProblem.ITEM: "an item is missing (null) or no id in items: expected text or whole numbers",
    RowProblem.REPEATED: "an item is repeated in items: a ranking shows each item once",
    RowProblem.CLICKS: "clicks is missing or not a list of 0 and 1",
    RowProblem.LENGTH: "clicks is not as long as items",
    RowProblem.CLICK: "a click is neither 0 nor 1",
    RowProblem.REWARD: "reward is missing, NaN or infinite: expected a number",
    RowProblem.PROPENSITY: "propensity is not a number in (0, 1]",
    RowProblem.ITEM_PROPENSITIES: "item_propensities is missing, no list of numbers, or not as long as items",
    RowProblem.ITEM_PROPENSITY: "an item propensity is not a number in (0, 1]",
    RowProblem.IMPRESSIONS: "impressions is not a positive whole number below 2^53",
    RowProblem.DAY: "day is missing or is not a whole number, date or timestamp",
    RowProblem.POSITIONS: "the positions of this impression are not 1, 2, 3, … without gaps or repeats",
    RowProblem.DIFFERS: "the rows of this impression differ in query, reward, day, propensity, impressions or cluster",
    RowProblem.IMPRESSION: "impression is missing",
    RowProblem.CLUSTER: "cluster is missing or no id, which is text or a whole number",
    RowProblem.SEGMENT: "the column to specialise by is missing or no id, which is text or a whole number",
    RowProblem.LARGE: f"reward is beyond {LARGEST:g} in size: squares of such numbers cannot be added up",
    RowProblem.RAGGED: "the row has not as many values as the header has names, or its quotes are wrong",
}

_OF = {  # the column that need not be read, whose problem it is
    RowProblem.REWARD: "reward",
    RowProblem.LARGE: "reward",
    RowProblem.PROPENSITY: "propensity",
    RowProblem.ITEM_PROPENSITIES: "item_propensities",
    RowProblem.ITEM_PROPENSITY: "item_propensities",
    RowProblem.IMPRESSIONS: "impressions",
    RowProblem.DAY: "day",
    RowProblem.CLUSTER: "cluster",
}


def bad_row(where: str, problem: RowProblem, told: str) -> InputError:
    """The error that stops at a bad row."""
    unread = f", or leave the column unread with `ignore={_OF[problem]}`" if problem in _OF else ""
    return InputError(
        f"{where}: {MESSAGES[problem]} ({told}). Mend it, or set bad rows aside with `bad_rows=FILE.jsonl`{unread}"
    )
