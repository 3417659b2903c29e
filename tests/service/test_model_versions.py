"""Versions of the model are policy directories: sealed, written out, judged, taken back, and refused where damaged."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from counterrank.cli import app
from counterrank.errors import InputError
from counterrank.policy import read_policy
from counterrank.policy.directory import sealed
from counterrank.policy.stored import Stored
from counterrank.regress import LinearPrior, Seen
from counterrank.service.prior import Prior
from counterrank.service.retrain import model_of, rollback, save_model
from counterrank.service.store import Store
from service.serving import worker

ITEMS = [f"item-{i}" for i in range(6)]
FEATURES = {item: {"height": float(i % 3), "weight": float(i), "same": 1.0} for i, item in enumerate(ITEMS)}


def prior(seed: int = 1) -> Prior:
    """A prior of three features, of which one never varied."""
    rng = np.random.default_rng(seed)
    x = np.array([list(FEATURES[item].values()) for item in ITEMS])
    model = LinearPrior()
    model.fit(Seen(x, rng.uniform(0, 4, len(ITEMS)), np.full(len(ITEMS), 9.0)))
    return Prior(None, (0.5, 3.0), ["height", "weight", "same"], model)


def alphas(given: Prior) -> dict[str, float]:
    x = np.array([list(FEATURES[item].values()) for item in ITEMS])
    return dict(zip(ITEMS, given.beliefs(x, given.names)[:, 0].tolist(), strict=True))


def damage(store: Store, version: int, name: str = "linear.json") -> None:
    """Change one digit of a file in the database."""
    with store.database.writing() as connection:
        text = "SELECT content FROM model_files WHERE version = ? AND name = ?"
        content = bytes(connection.exec_driver_sql(text, (version, name)).scalar_one())
        other = content.replace(b"0.", b"1.", 1)
        assert other != content
        connection.exec_driver_sql(
            "UPDATE model_files SET content = ? WHERE version = ? AND name = ?", (other, version, name)
        )


def run_cli(*words: Any, code: int = 0) -> Result:
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exit_code == code, result.output
    return result


def test_the_files_of_a_version_are_those_of_a_policy_directory(tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "store.db")) as store:
        store.add_model(prior().files(), {})
        found = store.model()
    assert found is not None
    seal = json.loads(found.files["policy.json"])
    assert {name: seal[name] for name in ("format", "version", "kind", "features")} == {
        "format": "counterrank-policy", "version": 1, "kind": "linear", "features": ["height", "weight", "same"],
    }  # fmt: skip
    assert seal["files"] == {"linear.json": hashlib.sha256(found.files["linear.json"]).hexdigest()}
    assert set(found.files) == {"policy.json", "linear.json"}


def test_a_version_that_is_written_out_ranks_as_the_prior_believes(tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "store.db")) as store:
        store.add_model(prior(1).files(), {})
        store.add_model(prior(2).files(), {})
        assert save_model(store, tmp_path / "now") == 2
        assert save_model(store, tmp_path / "before", 1) == 1
        with pytest.raises(InputError, match="choose from 1, 2"):
            save_model(store, tmp_path / "none", 7)
        kept = store.model(2)
    assert kept is not None
    assert {each.name: each.read_bytes() for each in (tmp_path / "now").iterdir()} == kept.files
    rows: dict[str, Any] = {"query": ["q"] * len(ITEMS), "item": ITEMS}
    rows |= {name: [FEATURES[item][name] for item in ITEMS] for name in ("height", "weight", "same")}
    for name, seed in (("before", 1), ("now", 2)):
        believed = alphas(prior(seed))
        ranked = read_policy(tmp_path / name, features=rows).rank("q")
        assert ranked == sorted(ITEMS, key=lambda item: -believed[item])


def test_a_prior_without_features_is_a_policy_that_sorts_nothing(tmp_path: Path) -> None:
    plain = Prior(None, (0.2, 4.0))
    assert Prior.of_files(plain.files(), "5") == Prior("5", (0.2, 4.0))
    with Store.open(str(tmp_path / "store.db")) as store:
        with pytest.raises(InputError, match="no model serves yet"):
            save_model(store, tmp_path / "model")
        store.add_model(plain.files(), {})
        save_model(store, tmp_path / "model")
    rows = {"query": ["q", "q"], "item": ["a", "b"], "x": [1.0, 2.0]}
    assert read_policy(tmp_path / "model", features=rows).probability("q", ["b", "a"]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "change",
    [
        lambda files: {**files, "policy.json": b"{}"},
        lambda files: {name: files[name] for name in files if name != "linear.json"},
        lambda files: {**files, "other": b""},
        lambda files: {**files, "linear.json": files["linear.json"] + b" "},
        lambda files: sealed(Stored("linear", {}, {"linear.json": files["linear.json"]}, prior().names)),
        lambda files: sealed(Stored("uniform", {}, {}, [])),
        lambda files: files | sealed(Stored("linear", {"prior": {"plain": [0, 1]}}, {"linear.json": b"{}"}, [])),
        lambda files: {},
    ],
)
def test_what_is_no_whole_prior_is_refused(change: Any) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Prior.of_files(change(prior().files()))


def test_a_damaged_version_never_serves(tmp_path: Path) -> None:
    with worker(tmp_path) as served:
        store = served.service.store
        for seed in (1, 2, 3, 4):
            store.add_model(prior(seed).files(), {})
        store.activate_model(2)
        served.run(served.service.follow_model())
        assert served.rank()["model"] == "2"
        damage(store, 3)
        store.activate_model(3)
        served.run(served.service.follow_model())
        assert served.rank()["model"] == "2"  # it serves on
        assert served.service._model == 3  # and the damaged one is not looked at again and again
        with pytest.raises(InputError, match="changed"):
            model_of(store, 3)
    with worker(tmp_path) as served:  # one that begins anew takes the last whole one before it
        assert served.rank()["model"] == "2"
        store.activate_model(4)
        served.run(served.service.follow_model())
        assert served.rank()["model"] == "4"
        with pytest.raises(InputError, match="changed"):
            rollback(store, 3)
        assert rollback(store) == 2  # past the damaged one
        served.run(served.service.follow_model())
        assert served.rank()["model"] == "2"


def test_models_by_commands(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    with worker(tmp_path, randomise=0.5) as served:
        registered = [{"id": item, "features": features} for item, features in FEATURES.items()]
        assert served.call("PUT", "/items", {"items": registered}).status == 200
        for turn in range(40):
            page = served.rank("q", ITEMS, k=3)
            served.feedback(page["impression"], f"e{turn}", [page["ranking"][turn % 3]["item"]])
        served.service.store.add_model(prior(1).files(), {})
        served.service.store.add_model(prior(2).files(), {})
    features = tmp_path / "features.csv"
    lines = [",".join(["q", item, *map(str, FEATURES[item].values())]) for item in ITEMS]
    features.write_text("\n".join(["query,item,height,weight,same", *lines]) + "\n", encoding="utf-8")
    wrote = run_cli("serve", "--store", url, "--save-model", tmp_path / "model", "--json")
    assert json.loads(wrote.stdout) == {"model": 2, "written": str(tmp_path / "model")}
    run_cli("log", "export", url, "--out", tmp_path / "log.parquet")
    judged = run_cli(
        "evaluate", tmp_path / "log.parquet", "--target", tmp_path / "model", "--features", features, "--json"
    )
    assert json.loads(judged.stdout)["impressions"] == 40
    assert json.loads(run_cli("serve", "--store", url, "--rollback", "--json").stdout) == {"model": 1}
    assert json.loads(run_cli("serve", "--store", url, "--rollback", "--model", "2", "--json").stdout) == {"model": 2}
    for words in (["--model", "1"], ["--rollback", "--model", "9"], ["--rollback", "--save-model", "x"]):
        assert run_cli("serve", "--store", url, *words, code=2).stderr
