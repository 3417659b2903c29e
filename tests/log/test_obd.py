"""Open Bandit Dataset: rows by hand, bad rows, and the counts of the real files."""

import datetime
import gzip
import os
from pathlib import Path

import pytest

from counterrank.errors import InputError
from counterrank.log.foreign import FORMATS
from counterrank.log.obd import read

DATA = os.environ.get("COUNTERRANK_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="COUNTERRANK_DATA is not set")
HEADER = ",timestamp,item_id,position,click,propensity_score,user_feature_0\n"
ROW = "0,2019-11-24 23:59:59.004101+00:00,007,2,1,0.25,u\n"


def write(folder: Path, text: str, name: str = "men.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_row_is_a_ranking_of_one_item(tmp_path):
    foreign = read([write(tmp_path, HEADER + ROW + "1,2019-11-25 00:00:00+00:00,14,1,0,1,u\n")])
    assert foreign.table.to_pylist() == [
        {"query": "2", "items": ["007"], "clicks": [1], "propensity": 0.25, "day": datetime.date(2019, 11, 24)},
        {"query": "1", "items": ["14"], "clicks": [0], "propensity": 1.0, "day": datetime.date(2019, 11, 25)},
    ]
    assert foreign.notes[0].startswith("2 rows, 1 click,")
    assert foreign.notes[0].endswith("pages cannot be rebuilt.")


def test_a_campaign_folder_without_its_item_context(tmp_path):
    write(tmp_path, ",item_id,item_feature_0\n0,0,1\n", "item_context.csv")
    with pytest.raises(InputError, match=r"only item_context\.csv"):
        read([tmp_path])
    (tmp_path / "men.csv.gz").write_bytes(gzip.compress((HEADER + ROW).encode()))
    assert FORMATS["obd"]([tmp_path]).table.num_rows == 1
    write(tmp_path, HEADER + ROW, "women.csv")
    foreign = read([tmp_path])
    assert foreign.table.num_rows == 2
    assert "several campaigns" in foreign.notes[1]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1,2019-11-25 00:00:00,14,1,2,0.5,u", "click came as '2', expected 0 or 1"),
        ("1,2019-11-25 00:00:00,14,1,0,0,u", "propensity_score came as '0', expected a number in"),
        ("1,2019-11-25 00:00:00,14,1,0,1.5,u", "propensity_score came as '1.5'"),
        ("1,2019-11-25 00:00:00,14,1,0,nan,u", "propensity_score came as 'nan'"),
        ("1,yesterday,14,1,0,0.5,u", "timestamp came as 'yesterday'"),
        ("1,2019-11-25 00:00:00,,1,0,0.5,u", "item_id came as ''"),
        ("1,2019-11-25 00:00:00,14,,0,0.5,u", "position came as ''"),
        ("1,2019-11-25 00:00:00,14", "expected 7 fields, not 3"),
    ],
)
def test_a_bad_row_is_named(tmp_path, row, said):
    path = write(tmp_path, f"{HEADER}{ROW}{row}\n")
    with pytest.raises(InputError) as caught:
        read([path])
    assert str(caught.value).startswith(f"{path}, line 3: ")
    assert said in str(caught.value)


def test_files_that_are_no_log(tmp_path):
    with pytest.raises(InputError, match="no column position, propensity_score"):
        read([write(tmp_path, "timestamp,item_id,click\n1,2,3\n")])
    with pytest.raises(InputError, match="empty"):
        read([write(tmp_path, "")])
    with pytest.raises(InputError, match="only a header"):
        read([write(tmp_path, HEADER)])
    with pytest.raises(InputError, match="does not apply"):
        read([write(tmp_path, HEADER + ROW)], time_unit="s")
    with pytest.raises(InputError, match="is no date"):
        read([write(tmp_path, HEADER + ROW.replace("11-24", "13-45"))])


@needs_data
@pytest.mark.parametrize("campaign", ["all", "men", "women"])
@pytest.mark.parametrize("policy", ["bts", "random"])
def test_real_files(policy, campaign):
    table = read([Path(str(DATA)) / "obd" / policy / campaign]).table
    assert table.num_rows == 10_000
    assert set(table["query"].to_pylist()) == {"1", "2", "3"}
    assert 38 <= sum(clicks[0] for clicks in table["clicks"].to_pylist()) <= 69
    assert 0 < min(table["propensity"].to_pylist()) <= max(table["propensity"].to_pylist()) <= 1
