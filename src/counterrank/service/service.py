"""One worker of the ranking service: what it does with a request, apart from HTTP."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from counterrank.service import page as pages
from counterrank.service.below import marked
from counterrank.service.bodies import (
    FEEDBACK,
    RANK,
    FeedbackAnswer,
    Placed,
    RankAnswer,
    RankBody,
    Refused,
    decoded,
    digest_of,
    encode,
    ids_of,
    invalid,
    length_of,
    moment,
    text_of,
)
from counterrank.service.events import (
    Away,
    Change,
    Conflict,
    Given,
    NotOnPage,
    Outdated,
    Page,
    PolicySetting,
    Replay,
    Shown,
    Superseded,
    UnknownImpression,
    Unstorable,
    new_impression,
)
from counterrank.service.flights import Flights
from counterrank.service.kept import Kept, Key, key_of
from counterrank.service.knowledge import Knowledge
from counterrank.service.metrics import Metrics
from counterrank.service.page import Drawn
from counterrank.service.policies import BUILT_IN, Directory
from counterrank.service.refusals import away
from counterrank.service.scoring import SCORE, base_order
from counterrank.service.settings import Settings
from counterrank.service.shared import Shared
from counterrank.service.state import State
from counterrank.service.store import Store
from counterrank.service.traffic import Traffic
from counterrank.service.visits import Visits

TRIES = 8  # pages made for one request, when settings change or other workers keep pages meanwhile
KEPT = "kept as it was first shown to this user today"
RANDOM = "drawn at random from the pool"
GIVEN = "placed by the policy"
NEW = "new: seen too seldom, so the prior and the bonus lead"
KNOWN = "known: its clicks lead"
_NO_BELIEFS = np.zeros((0, 2))


class Asked(msgspec.Struct, kw_only=True, gc=False):
    """A request to rank, checked."""

    query: str
    items: list[str]
    own: list[dict[str, float] | None] | None
    k: int
    at: float
    segment: str | None = None
    request: str | None = None
    digest: str | None = None
    user: str | None = None
    deferred: bool = False


class Service(Knowledge):
    """What one worker does with requests, by what it knows."""

    def __init__(self, settings: Settings, store: Store, shared: Shared, secret: bytes) -> None:
        super().__init__(settings, store, shared)
        self.secret = secret
        self.metrics = Metrics(shared)
        self.kept = Kept()
        self.flights = Flights(shared)
        self.visits = Visits(settings.crawlers)
        self.max_body = settings.body_bytes()
        self.started, self.traffic = time.time(), Traffic(store)
        self.random = random.Random()
        self.by_exposure = float(settings.evidence == "exposure")
        self.judging = asyncio.Lock()  # of dry runs

    async def begin(self) -> None:
        """Draw numbers that no other worker draws, compile what ranks, and know all that has happened."""
        self.random.seed()
        self.ordered(Asked(query="", items=["-"], own=None, k=1, at=0.0), replace(self.setting, name="ebrank"))
        State(self.curve).apply([Change(1, "", ("-",), (1,), (1,), (0,))])
        await super().begin()

    # one page

    async def rank(self, raw: Any) -> bytes:
        """The answer to a request to rank, once its impression is on disk."""
        body = decoded(RANK, raw)
        asked = self._asked(body, raw)
        for _ in range(TRIES):
            if self.shared.epoch > self.setting.epoch:
                await self.refresh()
            setting = self.setting
            with self.flights.flight(setting.epoch):
                answer = await self._shown(asked, setting)
            if answer is not None:
                return answer
        raise away("the policy is changing: try again")

    async def _shown(self, asked: Asked, setting: PolicySetting) -> bytes | None:
        """A page under this setting, once it is on disk; None where it has to be made anew."""
        key = None if asked.user is None else self._key(asked, asked.user, setting)
        kept = None if key is None else self.kept.get(key.kept, setting.epoch)
        shown, answer = self.made(asked, setting, key, kept)
        try:
            sequence = await self.store.show(shown)
        except Replay as before:
            self.metrics.add("replayed")
            return before.answer
        except Conflict:
            raise Refused(409, "conflict", "this request came before with another body", "request") from None
        except Superseded as other:
            assert key is not None  # noqa: S101
            self.kept.put(key.kept, setting.epoch, other.page)
            return None
        except Outdated as newer:
            self.adopt(newer.setting)
            return None
        except Unstorable as error:
            raise invalid(f"this cannot be stored: {error}") from None
        except Away as error:
            if self.settings.fail_open:
                return self.failed_open(asked)
            raise away(error) from None
        self.state.has(sequence)
        if self.shared.answered > setting.epoch:  # written before a kill switch, which did not wait any longer
            return None
        self._count(shown, setting, len(asked.items))
        if key is not None and kept is None:
            self.kept.put(key.kept, setting.epoch, Page(shown.items, shown.propensity, shown.item_propensities))
        return answer

    def _asked(self, body: RankBody, raw: Any) -> Asked:
        if "\0" in body.query or not body.query.isascii():
            text_of(body.query or "-", "query")
        items, own = ids_of(body.items, self.settings.max_items)
        k = length_of(body.k, self.settings.k, len(self.curve), len(items))
        return Asked(
            query=body.query,
            items=items,
            own=own,
            k=k,
            at=time.time(),
            segment=None if body.segment is None else text_of(body.segment, "segment"),
            request=None if body.request is None else text_of(body.request, "request"),
            digest=None if body.request is None else digest_of(raw, self.secret),
            user=None if body.user is None else text_of(body.user, "user"),
            deferred=body.defer,
        )

    def _key(self, asked: Asked, user: str, setting: PolicySetting) -> Key:
        how = f"{setting.name} {setting.exploration!r} {setting.randomise!r}"
        return key_of(self.secret, user, asked.query, asked.k, [*asked.items, f"\0{how}"], asked.at)

    def made(
        self, asked: Asked, setting: PolicySetting, key: Key | None = None, kept: Page | None = None
    ) -> tuple[Shown, bytes]:
        """A page under a setting, as it is stored and as it is answered."""
        order, out, by = self.ordered(asked, setting)
        if setting.name == "logging":
            self._apprentice(asked, setting, order)
        m, k = len(asked.items), asked.k
        pool = pages.pool_size(m, self.settings.pool, k)
        if kept is not None:
            drawn = _again(kept, asked.items, setting.randomise, pool)
        else:
            draws = self.random.random if key is None else pages.draws_from(key.seed)
            drawn = pages.draw(order[:pool].tolist(), k, pool, setting.randomise, draws)
        items, received = tuple([asked.items[place] for place in drawn.places]), tuple(asked.items[:k])
        counted = key is None or self.visits.human(key.user, asked.at)
        if not counted:
            self.metrics.add("crawled")
        impression, model = marked(new_impression(asked.at), drawn.places), self.state.prior.version
        answer = RankAnswer(
            impression, asked.query, setting.name, model, self.state.as_of, setting.randomise, pool, m, drawn.explored,
            drawn.propensity, self._placed(asked, drawn, out, by, kept is not None),
        )  # fmt: skip
        content = encode(answer)
        shown = Shown(
            impression=impression, at=asked.at, query=asked.query, items=items, propensity=drawn.propensity,
            item_propensities=drawn.item_propensities, policy=setting.name, model=model,
            cluster=None if key is None else key.kept, explored=drawn.explored, deferred=asked.deferred,
            counted=counted, request=asked.request, digest=asked.digest,
            answer=content if asked.request is not None else None, kept=None if key is None else key.kept,
            epoch=setting.epoch, user_key=None if key is None else key.user,
            received=None if received == items else received,
        )  # fmt: skip
        return shown, content

    def ordered(self, asked: Asked, setting: PolicySetting) -> tuple[Any, Any, int]:
        """Places of all candidates in the base order, what is known of each, and what the order goes by."""
        state, settings = self.state, self.settings
        at = state.rows(asked.query, asked.items)
        own = _NO_BELIEFS if asked.own is None else self._own_beliefs(asked)
        ranks = self.policies.get(setting.name)
        given = ranks.scores(asked.query, asked.items, asked.own, asked.segment, state)
        out, order = np.empty((len(at), 8)), np.empty(len(at), dtype=np.int64)
        budget = float(math.ceil(settings.new_share * asked.k - 1e-9))
        how = (setting.exploration, self.by_exposure, float(settings.new_below), budget, float(asked.k))
        base_order(at, state.counts, state.belief, own, given, (float(ranks.by), *how), out, order)
        return order, out, ranks.by

    def _own_beliefs(self, asked: Asked) -> Any:
        """α and β of candidates that came with features; NaN for the others."""
        assert asked.own is not None  # noqa: S101
        out = np.full((len(asked.items), 2), np.nan)
        given = [i for i, features in enumerate(asked.own) if features is not None]
        names = self.state.prior.names
        if given and names:
            x = np.array([[asked.own[i].get(name, np.nan) for name in names] for i in given])  # type: ignore[union-attr]
            out[given] = self.state.prior.beliefs(x, names)
        return out

    def _apprentice(self, asked: Asked, setting: PolicySetting, received: Any) -> None:
        """How the posterior's page would have differed from the one in the order received."""
        best = self.ordered(asked, replace(setting, name="ebrank"))[0][: asked.k]
        shown = received[: asked.k]
        self.metrics.add("apprentice_pages")
        if (shown != best).any():
            self.metrics.add("apprentice_differed")
        self.metrics.add("apprentice_overlap", len(np.intersect1d(shown, best)) / len(shown))

    def _placed(self, asked: Asked, drawn: Drawn, out: Any, by: int, kept: bool) -> list[Placed]:
        below, items, chances = self.settings.new_below, asked.items, drawn.item_propensities
        why = KEPT if kept else RANDOM if drawn.explored else GIVEN if by == BUILT_IN["logging"] else None
        found, j = [], 0
        for place, row in zip(drawn.places, out.take(drawn.places, axis=0).tolist(), strict=True):
            score, mean, bonus, n, clicks, looks, alpha, beta = row
            new, chance = n < below, chances[j]
            j += 1  # noqa: SIM113
            found.append(
                Placed(
                    items[place],
                    j,
                    score,
                    mean,
                    bonus,
                    int(n),
                    int(clicks),
                    looks,
                    (alpha, beta),
                    new,
                    chance,
                    why or (NEW if new else KNOWN),
                )
            )
        return found

    def _count(self, shown: Shown, setting: PolicySetting, candidates: int) -> None:
        add = self.metrics.add
        add("impressions")
        if shown.explored:
            add("explored")
        if setting.randomise > 0.0:
            k = len(shown.items)
            pool = pages.pool_size(candidates, self.settings.pool, k)
            add("expected_explored", setting.randomise * (1.0 - 1.0 / math.perm(pool, k)))

    def failed_open(self, asked: Asked) -> bytes:
        """The order as received, stored nowhere and evidence of nothing."""
        setting = PolicySetting("logging", 0.0, 0.0, self.setting.epoch)
        order, out, by = self.ordered(msgspec.structs.replace(asked, own=None), setting)
        drawn = pages.draw(order.tolist(), asked.k, len(asked.items), 0.0, self.random.random)
        self.metrics.add("fail_open")
        return encode(
            RankAnswer(
                f"unstored-{new_impression(asked.at)}",
                asked.query,
                "logging",
                None,
                self.state.as_of,
                0.0,
                pages.pool_size(len(asked.items), self.settings.pool, asked.k),
                len(asked.items),
                False,
                1.0,
                self._placed(asked, drawn, out, by, False),
                True,
            )
        )

    # feedback

    async def feedback(self, raw: Any) -> bytes:
        """The receipt of a feedback, once it is on disk."""
        body, now = decoded(FEEDBACK, raw), time.time()
        clicks = tuple(dict.fromkeys(text_of(item, f"clicks[{i}]") for i, item in enumerate(body.clicks)))
        given = Given(
            event=text_of(body.event, "event"), impression=text_of(body.impression, "impression"), clicks=clicks,
            reward=body.reward, at=moment(body.at, now), digest=digest_of(raw, self.secret),
        )  # fmt: skip
        try:
            receipt, _ = await self.store.give(given)
        except Conflict:
            raise Refused(409, "conflict", "this event came before with another body", "event") from None
        except UnknownImpression:
            raise Refused(404, "unknown_impression", "there is no such impression", "impression") from None
        except NotOnPage as error:
            raise invalid(f"item {error.item[:80]!r} is not on that page", "clicks") from None
        except Unstorable as error:
            raise invalid(f"this cannot be stored: {error}") from None
        except Away as error:
            raise away(error) from None
        self._receive(receipt, len(clicks))
        return encode(FeedbackAnswer(receipt.duplicate, receipt.late, receipt.counted, receipt.sequence))

    def _receive(self, receipt: Any, clicks: int) -> None:
        add = self.metrics.add
        if receipt.duplicate:
            add("duplicates")
            return
        self.state.has(receipt.sequence)
        add("feedback")
        add("clicks", receipt.counted)
        add("clicks_again", clicks - receipt.counted)
        if receipt.late:
            add("late")

    # what is said of it

    def gauges(self) -> dict[str, tuple[str, float]]:
        """Numbers of this worker, beside the counters that all share."""
        return {"model": ("The version of the prior that serves.", float(self.state.prior.version or 0))}

    def explained(self, query: str, most: int) -> list[dict[str, Any]]:
        """How the items that are known of a query stand now, as in an answer."""
        items = list(self.state.queries.get(query, ()))[: self.settings.max_items]
        if not items:
            return []
        asked = Asked(query=query, items=items, own=None, k=min(most, len(items), len(self.curve)), at=0.0)
        order, out, by = self.ordered(asked, self.setting)
        pool = pages.pool_size(len(items), self.settings.pool, asked.k)
        drawn = pages.draw(order[:pool].tolist(), asked.k, pool, self.setting.randomise, lambda: 1.0)
        return [msgspec.to_builtins(each) for each in self._placed(asked, drawn, out, by, False)]

    def base_page(self, query: str, name: str) -> list[str]:
        """The base page of a query by a policy, of the items that are known of the query."""
        items = list(self.state.queries.get(query, ()))
        if not items:
            return []
        asked = Asked(query=query, items=items, own=None, k=min(self.settings.k, len(items)), at=0.0)
        order, out, _ = self.ordered(asked, replace(self.setting, name=name))
        if isinstance(self.policies.get(name), Directory):  # what it does not rank stands where it came: here, anywhere
            order = order[out[order, SCORE] > len(items)]
        return [items[place] for place in order[: asked.k]]


def _again(kept: Page, items: Sequence[str], randomise: float, pool: int) -> Drawn:
    """A kept page, with the chances it had."""
    place = {item: i for i, item in enumerate(items)}
    explored = not pages.is_base(kept.item_propensities, randomise, pool)
    return Drawn([place[item] for item in kept.items], kept.propensity, kept.item_propensities, explored)
