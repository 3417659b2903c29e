"""Which policy ranks and how much it explores: durable, numbered, and the same for all workers."""

from __future__ import annotations

import time
from dataclasses import replace

from sqlalchemy import Connection

from counterrank.service.database import Database
from counterrank.service.events import PolicySetting
from counterrank.service.schema import meta, settings


def current(connection: Connection) -> PolicySetting:
    """The setting as it stands; one without a name, of epoch 0, where none was ever put."""
    row = connection.execute(settings.select().order_by(settings.c.epoch.desc()).limit(1)).first()
    if row is None:
        return PolicySetting("", 0.0, 0.0)
    return PolicySetting(row.name, row.exploration, row.randomise, row.epoch, row.at)


def put(database: Database, setting: PolicySetting) -> PolicySetting:
    """The next setting, with its number and time. From now on pages made under an earlier one are refused."""
    with database.writing() as connection:
        put_in = replace(setting, epoch=current(connection).epoch + 1, at=time.time())
        connection.execute(
            settings.insert().values(
                epoch=put_in.epoch, name=put_in.name, exploration=put_in.exploration, randomise=put_in.randomise,
                at=put_in.at,
            )
        )  # fmt: skip
        connection.execute(meta.update().where(meta.c.name == "epoch").values(value=put_in.epoch))
    return put_in
