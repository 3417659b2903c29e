"""Calls to the ranking service as a client makes them: what is sent, when it is tried again, and what comes back."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar
from urllib.parse import quote

from counterrank.errors import InputError

Id = str | int
Item = Id | tuple[Id, Mapping[str, float]]  # an id, or an id with features for this request
AGAIN = frozenset({429, 502, 503, 504})  # statuses that another try may mend; 502 and 504 are a proxy's
PAUSE, LONGEST = 0.05, 5.0  # seconds before the second try, and at most before any
T = TypeVar("T")


class ServiceError(Exception):
    """The service refused: its status, code, message and field."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(f"{status} {code}: {message}" + (f" ({field})" if field else ""))
        self.status, self.code, self.message, self.field = status, code, message, field


class Unreachable(Exception):
    """No answer came, however often it was tried. What was asked may have been done."""


@dataclass(frozen=True, kw_only=True)
class Placed:
    """An item of a page, and why it stands there."""

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


@dataclass(frozen=True, kw_only=True)
class Page:
    """A ranking to show. Name its `impression` in the feedback."""

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
    ranking: tuple[Placed, ...]
    fail_open: bool = False

    @property
    def items(self) -> list[str]:
        """The items, in the order to show them."""
        return [each.item for each in self.ranking]


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What became of a feedback."""

    duplicate: bool
    late: bool
    counted: int
    sequence: int


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The policy that is served."""

    name: str
    exploration: float
    randomise: float
    epoch: int = 0
    at: float | None = None


@dataclass(frozen=True)
class Send:
    """One try of a call."""

    method: str
    path: str
    body: bytes | None


@dataclass(frozen=True)
class Wait:
    seconds: float


Answer = tuple[int, Mapping[str, str], bytes] | None  # None: nothing came
Call = Generator[Send | Wait, Answer, T]


def _asked(tries: int, method: str, path: str, body: Any = None) -> Call[Any]:
    """A call from its first try to its answer: what to send and how long to wait, one after the other."""
    try:
        data = None if body is None else json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError) as error:
        raise InputError(
            f"this cannot be sent as JSON ({error}): give text, whole numbers and finite features"
        ) from None
    for number in range(1, tries + 1):
        answer = yield Send(method, path, data)
        if answer is not None and answer[0] not in AGAIN:
            return _read(*answer)
        if number < tries:
            yield Wait(_pause(number, answer))
    if answer is None:
        raise Unreachable(f"{method} {path}: no answer after {tries} tries: is the service there?")
    return _read(*answer)


def _pause(number: int, answer: Answer) -> float:
    """Seconds until the next try: as the service says, else twice as long each time, drawn so that callers part."""
    said = answer[1].get("retry-after", "") if answer is not None else ""
    if said.isdigit():
        return min(float(said), LONGEST)
    return float(min(PAUSE * 2 ** (number - 1), LONGEST) * (0.5 + random.random()))


def _read(status: int, headers: Mapping[str, str], body: bytes) -> Any:
    try:
        found = json.loads(body)
    except ValueError:
        raise ServiceError(status, "not_json", f"the answer is not JSON: {body[:80]!r}") from None
    if 200 <= status < 300:
        return found
    raise _refusal(status, found)


def _refusal(status: int, body: Any) -> ServiceError:
    said = body.get("error") if isinstance(body, dict) else None
    said = said if isinstance(said, dict) else {}
    return ServiceError(status, str(said.get("code", "error")), str(said.get("message", "")), said.get("field"))


def _page(found: Mapping[str, Any]) -> Page:
    placed = tuple(Placed(**_known(Placed, each) | {"prior": tuple(each["prior"])}) for each in found["ranking"])
    return Page(**_known(Page, found) | {"ranking": placed})


def _known(kind: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    """Those fields that this client knows: a newer service may have more."""
    names = {each.name for each in fields(kind)}
    return {name: value for name, value in found.items() if name in names}


def _item(item: Item) -> Any:
    return {"id": item[0], "features": dict(item[1])} if isinstance(item, tuple) else item


def _given(**body: Any) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Rank:
    """A request for a page: of one call, or of several at once."""

    query: str
    items: Sequence[Item]
    k: int | None = None
    user: Id | None = None
    segment: Id | None = None
    request: str | None = None
    defer: bool | None = None

    def body(self) -> dict[str, Any]:
        return _given(
            query=self.query, items=[_item(each) for each in self.items], k=self.k, user=self.user,
            segment=self.segment, request=self.request or uuid.uuid4().hex, defer=self.defer,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """What users did with a page."""

    impression: str
    clicks: Sequence[Id] = ()
    reward: float | None = None
    at: float | str | None = None
    event: str | None = None

    def body(self) -> dict[str, Any]:
        return _given(
            impression=self.impression, event=self.event or uuid.uuid4().hex, clicks=list(self.clicks),
            reward=self.reward, at=self.at,
        )  # fmt: skip


class Calls:
    """Every call as a generator, the same for both clients."""

    def __init__(self, tries: int) -> None:
        if tries < 1:
            raise InputError(f"{tries} tries were asked for: give 1 or more")
        self.tries = tries

    def rank(self, asked: Rank) -> Call[Page]:
        return _page((yield from _asked(self.tries, "POST", "/rank", asked.body())))

    def feedback(self, given: Feedback) -> Call[Receipt]:
        found = yield from _asked(self.tries, "POST", "/feedback", given.body())
        return Receipt(**_known(Receipt, found))

    def rank_many(self, asked: Iterable[Rank]) -> Call[list[Page | ServiceError]]:
        found = yield from _asked(self.tries, "POST", "/batch/rank", [each.body() for each in asked])
        return [_page(each) if each["status"] == 200 else _refusal(each["status"], each) for each in found]

    def feedback_many(self, given: Iterable[Feedback]) -> Call[list[Receipt | ServiceError]]:
        found = yield from _asked(self.tries, "POST", "/batch/feedback", [each.body() for each in given])
        return [
            Receipt(**_known(Receipt, each)) if each["status"] == 200 else _refusal(each["status"], each)
            for each in found
        ]

    def put_items(self, features: Mapping[Id, Mapping[str, float]], query: str | None) -> Call[int]:
        items = [_given(id=item, query=query, features=dict(of)) for item, of in features.items()]
        found = yield from _asked(self.tries, "PUT", "/items", {"items": items})
        return int(found["stored"])

    def item(self, item: Id, query: str | None) -> Call[dict[str, float]]:
        path = f"/items/{quote(str(item), safe='')}" + (f"?query={quote(query, safe='')}" if query is not None else "")
        found = yield from _asked(self.tries, "GET", path)
        return dict(found["features"])

    def policy(self) -> Call[Setting]:
        return Setting(**_known(Setting, (yield from _asked(self.tries, "GET", "/policy"))))

    def put_policy(self, name: str | None, exploration: float | None, randomise: float | None) -> Call[Setting]:
        body = _given(name=name, exploration=exploration, randomise=randomise)
        return Setting(**_known(Setting, (yield from _asked(self.tries, "PUT", "/policy", body))))

    def dry_run(self, name: str) -> Call[dict[str, Any]]:
        return dict((yield from _asked(self.tries, "PUT", "/policy", {"name": name, "dry_run": True})))

    def ready(self) -> Call[bool]:
        try:
            yield from _asked(1, "GET", "/readyz")
        except (ServiceError, Unreachable):
            return False
        return True
