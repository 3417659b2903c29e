"""What callers send and get: shapes of bodies, and what is refused, with its status."""

from __future__ import annotations

import datetime
import hmac
import json
import math
import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from counterrank.service.nesting import is_json

Id = str | int
LONGEST = 1024  # characters of a query, an id or a user
NAME = 512  # of a request, an event or an impression
Text = Annotated[str, Meta(max_length=LONGEST)]
AnyId = Annotated[str, Meta(max_length=LONGEST)] | int
Name = Annotated[str, Meta(min_length=1, max_length=NAME)] | int
Numbers = dict[str, float]
T = TypeVar("T")
_WHERE = re.compile(r" - at `(?:key in )?\$\.?([^`]*)`")
_MISSING = re.compile(r"missing required field `([^`]*)`")


class Refused(Exception):
    """A request that is not answered as asked: status, code, message and field."""

    def __init__(
        self, status: int, code: str, message: str, field: str | None = None, retry: float | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.field, self.retry = status, code, message, field, retry

    def body(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, "field": self.field}}


def invalid(message: str, field: str | None = None) -> Refused:
    return Refused(422, "invalid", message, field)


class Candidate(Struct, gc=False):
    """An item with features of its own for this request."""

    id: AnyId
    features: Numbers = {}


class RankBody(Struct, gc=False):
    """What `/rank` takes."""

    query: Text
    items: list[str | int | Candidate]
    k: int | None = None
    user: AnyId | None = None
    segment: AnyId | None = None
    request: Name | None = None
    defer: bool = False


class Placed(Struct, gc=False):
    """One item of a page, and why it stands there."""

    item: str
    position: int
    score: float
    mean: float
    bonus: float
    impressions: int
    clicks: int
    exposure: float
    prior: tuple[float, float]
    new: bool
    propensity: float
    why: str


class RankAnswer(Struct, gc=False):
    """What `/rank` gives."""

    impression: str
    query: str
    policy: str
    model: str | None
    as_of: int
    randomise: float
    pool: int
    candidates: int
    explored: bool
    propensity: float
    ranking: list[Placed]
    fail_open: bool = False


class FeedbackBody(Struct, gc=False):
    """What `/feedback` takes."""

    impression: Name
    event: Name
    clicks: list[AnyId] = []
    reward: float | None = None
    at: float | str | None = None


class FeedbackAnswer(Struct, gc=False):
    """What `/feedback` gives."""

    duplicate: bool
    late: bool
    counted: int
    sequence: int


class ItemBody(Struct):
    """Features of an item, for all queries or for one."""

    id: AnyId
    features: Numbers
    query: Text | None = None


class ItemsBody(Struct):
    """What `PUT /items` takes."""

    items: list[ItemBody]


class PolicyBody(Struct):
    """What `PUT /policy` takes."""

    name: str | None = None
    exploration: float | None = None
    randomise: float | None = None
    dry_run: bool = False


RANK, FEEDBACK = msgspec.json.Decoder(RankBody), msgspec.json.Decoder(FeedbackBody)
ITEMS, POLICY = msgspec.json.Decoder(ItemsBody), msgspec.json.Decoder(PolicyBody)
MANY = msgspec.json.Decoder(list[msgspec.Raw])
encode = msgspec.json.Encoder().encode


def decoded(decoder: msgspec.json.Decoder[T], body: bytes | msgspec.Raw) -> T:
    """A body as its shape says: 400 where it is no JSON, 422 where it is another."""
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _refusal(bytes(body), error) from None


def _refusal(body: bytes, error: Exception) -> Refused:
    """Why a body cannot be taken. Only here is it read once more, by a reader that takes NaN too."""
    try:
        json.loads(body.decode("utf-8"))
    except RecursionError:
        return (
            invalid("the body is nested too deeply")
            if is_json(body.decode("utf-8"))
            else _not_json("brackets and what is between them do not fit")
        )
    except (json.JSONDecodeError, UnicodeDecodeError) as wrong:
        return _not_json(wrong.msg if isinstance(wrong, json.JSONDecodeError) else "it is no UTF-8")
    except ValueError:
        return invalid("a whole number of the body is too long")
    said = str(error)
    if not isinstance(error, msgspec.ValidationError):
        return invalid("the body has NaN, Infinity or half a character, which are neither numbers nor text here")
    missing, where = _MISSING.search(said), _WHERE.search(said)
    place = where[1] if where else ""
    field = ".".join(each for each in (place, missing[1] if missing else "") if each) or None
    return invalid(said.partition(" - at ")[0], field)


def _not_json(reason: str) -> Refused:
    return Refused(400, "not_json", f"the body is not JSON ({reason}): send a JSON text in UTF-8")


def text_of(value: Id, field: str) -> str:
    """An id as text."""
    text = value if type(value) is str else _digits(int(value), field)
    if not text or len(text) > LONGEST or "\0" in text or not _is_unicode(text):
        raise invalid(f"an id is 1 to {LONGEST} characters of text, without zero characters", field)
    return text


def _digits(value: int, field: str) -> str:
    try:
        return str(value)
    except ValueError:
        raise invalid("a whole number of the body is too long", field) from None


def _is_unicode(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def ids_of(items: list[Any], most: int) -> tuple[list[str], list[Numbers | None] | None]:
    """The candidates' ids as text, and the features that came with them, if any did."""
    if not items:
        raise invalid("`items` is empty: give at least one", "items")
    if len(items) > most:
        raise invalid(f"{len(items)} items came: at most {most} are taken", "items")
    ids, own = items, None
    try:
        joined = "".join(ids)
    except TypeError:  # not all of them are text
        ids, own = _mixed(items)
        joined = "".join(ids)
    bad = "\0" in joined or not _is_unicode(joined) or not all(ids)
    if bad or (len(joined) > LONGEST and max(map(len, ids)) > LONGEST):
        for i, item in enumerate(ids):
            text_of(item, f"items[{i}]")
    if len(set(ids)) < len(ids):
        twice = next(item for i, item in enumerate(ids) if item in ids[:i])
        raise invalid(f"item {twice[:80]!r} came more than once: give each once", "items")
    return ids, own


def _mixed(items: Sequence[Any]) -> tuple[list[str], list[Numbers | None] | None]:
    """Ids of candidates that are not all text."""
    own: list[Numbers | None] | None = None
    ids = []
    for i, item in enumerate(items):
        if type(item) is Candidate:
            own = [None] * len(items) if own is None else own
            ids.append(text_of(item.id, f"items[{i}].id"))
            own[i] = item.features or None
        else:
            ids.append(text_of(item, f"items[{i}]"))
    return ids, own


def length_of(k: int | None, default: int, positions: int, items: int) -> int:
    """How long the page is: what was asked, cut to the number of items."""
    wanted = default if k is None else k
    if not 1 <= wanted <= positions:
        raise invalid(f"k is {wanted}: expected 1 to {positions}", "k")
    return min(wanted, items)


def moment(at: float | str | None, now: float) -> float:
    """Seconds since 1970, from a number or an ISO time; now where none came."""
    if at is None:
        return now
    if isinstance(at, str):
        try:
            found = datetime.datetime.fromisoformat(at)
            found = found if found.tzinfo else found.replace(tzinfo=datetime.UTC)
            at = found.timestamp()
        except (ValueError, OverflowError):
            raise invalid("`at` is no time: give seconds since 1970, or an ISO time", "at") from None
    if not 0 <= at < 253402300800 or not math.isfinite(at):
        raise invalid("`at` is no time after 1970 and before the year 10000", "at")
    return float(at)


def digest_of(body: bytes | msgspec.Raw, secret: bytes) -> str:
    """The same for bodies that are equal as JSON, whatever their order and spelling. All of it has to be JSON.

    A body may name a user: without the secret nobody can try out which.
    """
    try:
        content = msgspec.json.encode(_plain(msgspec.json.decode(body)), order="sorted")
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError) as error:
        raise _refusal(bytes(body), error) from None
    return hmac.digest(secret, b"body\0" + content, "sha256").hex()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value
