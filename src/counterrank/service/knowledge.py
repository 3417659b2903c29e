"""What one worker knows: evidence, priors and the policy setting, kept up to date with what others write."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence

from counterrank.errors import InputError
from counterrank.service.bodies import Refused
from counterrank.service.events import Away, Change, PolicySetting, Reload
from counterrank.service.policies import Policies
from counterrank.service.prior import Prior
from counterrank.service.settings import Settings
from counterrank.service.shared import Shared
from counterrank.service.state import State
from counterrank.service.store import Store

log = logging.getLogger("counterrank.service")
PAUSE = 0.2  # seconds between looks at what others did
STEP = 10_000  # events taken in at a time


class Knowledge:
    """The state of one worker, the setting it ranks by, and how both follow the store."""

    def __init__(self, settings: Settings, store: Store, shared: Shared) -> None:
        self.settings, self.store, self.shared = settings, store, shared
        self.curve = settings.curve()
        self.state = State(self.curve)
        self.policies = Policies(settings.policies)
        self.setting = PolicySetting(settings.policy, settings.exploration, settings.randomise)
        self.ready = self.store_away = False
        self.items_version = self._model = 0
        self._following = asyncio.Lock()
        self._meanwhile: list[Change] | None = None

    async def begin(self) -> None:
        """Load the evidence, and know all that has happened."""
        self.store.listen(self._own)
        await self._reload()
        await self.refresh()
        await self.follow()
        await self.follow_model()
        self.ready = True

    def _own(self, changes: Sequence[Change]) -> None:
        """What this worker's events changed, before they are answered."""
        if self._meanwhile is not None:
            self._meanwhile += changes
        self.state.apply(each for each in changes if each.sequence > self.state.loaded)

    async def _reload(self) -> None:
        """Another state from the store; what this worker writes meanwhile is added to it."""
        self._meanwhile = []
        fresh, version = await asyncio.to_thread(self._fresh)
        meanwhile, self._meanwhile = self._meanwhile, None
        fresh.apply(each for each in meanwhile if each.sequence > fresh.loaded)
        if fresh.prior is not self.state.prior:  # another was taken in meanwhile
            fresh.believe(self.state.prior)
        self.state, self.items_version = fresh, version  # features that were put meanwhile are followed again

    def _fresh(self) -> tuple[State, int]:
        """Evidence as it is folded, and all events since: ours too; and the version of the features in it."""
        fresh = State(self.curve, self.state.prior)
        version, features = self.store.features_since(0)
        fresh.put(features)
        fresh.load(self.store.load())
        last = self.store.last()
        while fresh.as_of < last:
            until = min(fresh.as_of + STEP, last)
            changes = self.store.follow(fresh.as_of, STEP, fresh.generation)
            fresh.apply(each for each in changes if each.sequence <= until)
            fresh.as_of = until
        fresh.loaded = last
        return fresh, version

    async def follow(self) -> None:
        """Take in what other workers wrote: one at a time, or it would be counted twice."""
        async with self._following:
            await self._follow()

    async def _follow(self) -> None:
        while True:
            since = self.state.as_of
            try:
                reached, changes = await asyncio.to_thread(self.store.others, since, STEP, self.state.generation)
            except Reload:
                await self._reload()
                continue
            self.state.apply(changes)
            self.state.reached(reached)
            if reached - since < STEP:
                return

    async def follow_items(self) -> None:
        """Take in features that were put."""
        version, features = await asyncio.to_thread(self.store.features_since, self.items_version)
        if version > self.items_version:
            self.items_version = version
            self.state.put(features)

    async def follow_model(self) -> None:
        """Take in another version of the prior, all of it at once; one that is damaged changes nothing."""
        serving = (await asyncio.to_thread(self.store.numbers)).get("model", 0)
        if serving == self._model:
            return
        found = await asyncio.to_thread(self._prior, serving)
        self._model = serving  # which is looked at once, also if it is damaged
        if found is not None and found.version != self.state.prior.version:
            self.state.believe(found)

    def _prior(self, serving: int) -> Prior | None:
        """This version, found whole; where nothing serves here yet, else the last whole one before it."""
        versions = [serving] if serving else []
        if self.state.prior.version is None:
            versions += sorted((m.version for m in self.store.models() if m.version < serving), reverse=True)
        for version in versions:
            found = self.store.model(version)
            try:
                return None if found is None else Prior.of_files(found.files, str(version))
            except InputError as error:
                log.error("model", extra={"fields": {"version": version, "error": str(error)}})
        return None

    async def watch(self) -> None:
        """Follow other workers, features, models and the setting for ever; a store that is away is tried again."""
        while True:
            await asyncio.sleep(PAUSE)
            try:
                numbers = self.store.glance()
                if numbers is None:
                    numbers = await asyncio.to_thread(self.store.numbers)
                await self._catch_up(numbers)
                self.store_away = False
            except Away:
                self.store_away = True
            except Exception:
                log.exception("watch")

    async def _catch_up(self, numbers: Mapping[str, int]) -> None:
        """Take in what these numbers of the store say is new."""
        if not self._all_ours(numbers):
            await self.follow()
        if numbers["epoch"] > self.setting.epoch:
            self.adopt(await asyncio.to_thread(self.store.setting))
        if numbers["items_version"] > self.items_version:
            await self.follow_items()
        if numbers["model"] != self._model:
            await self.follow_model()

    def _all_ours(self, numbers: Mapping[str, int]) -> bool:
        """Whether nobody else wrote anything: then nothing has to be read."""
        state = self.state
        if self._following.locked() or numbers["generation"] != state.generation:
            return False
        reached = self.store.mine(state.as_of, numbers["sequence"])
        if reached is None:
            return False
        state.reached(reached)
        return True

    async def refresh(self) -> None:
        """The policy setting as it stands in the store."""
        with contextlib.suppress(Away):
            self.adopt(await asyncio.to_thread(self.store.setting))

    def adopt(self, setting: PolicySetting, *, read: bool = False) -> None:
        """Rank by this setting from now on. Where none was ever put, by that of the start.

        A policy directory is read anew, as it is where the setting was put, unless it was `read` just now.
        """
        if setting.epoch > self.setting.epoch:
            try:
                if not read:
                    self.policies.find(setting.name)
            except Refused as error:
                log.error("policy", extra={"fields": {"name": setting.name, "error": str(error)}})
            self.setting = setting
            self.shared.raise_epoch(setting.epoch)
