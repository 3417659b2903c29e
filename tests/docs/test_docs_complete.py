"""Everything that users can name is documented, and nothing else is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from pages import OPTION, PAGES, ROOT, anchors, name_of, section, without_blocks

from counterrank.cli import COMMANDS
from counterrank.cli import command as command_of
from counterrank.click import FITS
from counterrank.engine import ENGINES
from counterrank.estimate import ESTIMATORS
from counterrank.interval import INTERVALS
from counterrank.lab import REPRODUCTIONS
from counterrank.learning.asked import SPECIALS
from counterrank.learning.models import MODELS
from counterrank.learning.verdicts import GATES
from counterrank.log.foreign import FORMATS
from counterrank.log.problems import RowProblem
from counterrank.online import RANKERS
from counterrank.optimizing.optimize import OPTIMIZERS
from counterrank.optimizing.pessimistic.worth import CLICK_WORTHS
from counterrank.policy import POLICIES
from counterrank.posterior import BOUNDS, PRIORS
from counterrank.regress import PRIOR_MODELS, REGRESSIONS
from counterrank.simulate.world import USERS

INSTALL = re.compile(r"pip install '?([^\s']*\[[^\s']*)")
ELSEWHERE = {"--version", "--help", "--install-completion", "--show-completion"}


def options(command: str) -> tuple[set[str], set[str]]:
    """The options of a command, and the negative forms that Typer adds."""
    params = [p for p in command_of(command).params if p.param_type_name == "option"]
    names = {name for p in params for name in p.opts} - {"--help"}
    return names, {name for p in params for name in p.secondary_opts}


ALL_OPTIONS = ELSEWHERE.union(*(set().union(*options(command)) for command in COMMANDS))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_commands_page_lists_its_options_and_no_others(command: str) -> None:
    name = command.replace(" ", "-")
    page = ROOT / "docs" / "commands" / f"{name}.md"
    assert page.exists(), f"write docs/commands/{name}.md"
    rows = re.findall(r"^\| `(--[\w-]+)", section(page, "Options"), flags=re.M)
    assert len(rows) == len(set(rows)), "an option stands twice in the table"
    assert set(rows) == options(command)[0]
    for title in ("Example", "JSON", "Exit codes"):
        assert section(page, title).strip()
    assert f"(commands/{name}.md)" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_names_an_option_that_does_not_exist(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        pytest.skip("a changelog may name what is gone")
    text = page.read_text(encoding="utf-8").replace("--require-…", "")
    assert set(OPTION.findall(text)) <= ALL_OPTIONS


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_estimator_has_its_page_and_its_place_in_the_tables(estimator: str) -> None:
    page = ROOT / "docs" / "estimators" / f"{estimator}.md"
    assert page.exists(), f"write docs/estimators/{estimator}.md"
    titles = (
        "Formula", "Assumption", "When it is biased, and which way", "What its interval means", "Diagnostics",
        "By hand", "Reference",
    )  # fmt: skip
    for title in titles:
        assert section(page, title).strip()
    assert "# -> " in section(page, "By hand"), "give an example by hand, with its number"
    table = section(ROOT / "README.md", "Which estimator to believe")
    assert f"[`{estimator}`](docs/estimators/{estimator}.md)" in table
    assert f"(estimators/{estimator}.md)" in section(ROOT / "docs" / "index.md", "Estimators")


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("docs/policies.md", POLICIES),
        ("docs/data.md", FORMATS),
        ("docs/architecture.md", ENGINES),
        ("docs/commands/simulate.md", USERS | RANKERS | PRIOR_MODELS),
        ("docs/exploration.md", RANKERS | PRIOR_MODELS),
        ("docs/commands/clicks.md", FITS),
        ("docs/click-models.md", FITS),
        ("docs/models.md", MODELS),
        ("docs/intervals.md", INTERVALS),
        ("docs/commands/reproduce.md", REPRODUCTIONS),
        ("docs/commands/evaluate.md", ESTIMATORS),
        ("docs/commands/backtest.md", ESTIMATORS),
        ("docs/commands/optimize.md", OPTIMIZERS | REGRESSIONS | BOUNDS | PRIORS | CLICK_WORTHS),
        ("docs/commands/learn.md", MODELS | GATES | dict.fromkeys(SPECIALS)),
        ("docs/genspec.md", GATES),
        ("docs/pessimism.md", BOUNDS | PRIORS | CLICK_WORTHS),
    ],
)
def test_every_registry_name_is_mentioned(page: str, names: dict[str, object]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    missing = [name for name in names if not re.search(rf"`[^`\n]*(?<!\w){re.escape(name)}(?!\w)[^`\n]*`", text)]
    assert not missing


def test_every_column_that_a_row_can_be_bad_in_is_described() -> None:
    text = section(ROOT / "docs" / "data.md", "Bad rows")
    words = {problem: f"`{problem.name.lower()}`" for problem in RowProblem if problem}
    words |= {
        RowProblem.ITEM: "an item is missing", RowProblem.REPEATED: "repeats an item", RowProblem.LENGTH: "as long as",
        RowProblem.CLICK: "anything but 0 and 1", RowProblem.POSITIONS: "positions of an impression",
        RowProblem.DIFFERS: "its rows differ", RowProblem.LARGE: "beyond 10⁵⁰", RowProblem.RAGGED: "as many values as",
        RowProblem.ITEM_PROPENSITY: "anything but numbers in (0, 1]",
    }  # fmt: skip
    assert [problem for problem, word in words.items() if word not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_internal_links_resolve(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", without_blocks(page)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        aim = (page.parent / path).resolve() if path else page
        if not aim.exists() or (anchor and anchor not in anchors(aim)):
            broken.append(target)
    assert not broken


def test_extras_are_installed_in_one_way() -> None:
    """Pages and messages name the same command, and extras that there are."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    sources = [*PAGES, *(ROOT / "src").rglob("*.py")]
    found = {name for path in sources for name in INSTALL.findall(path.read_text(encoding="utf-8"))}
    assert found <= {f".[{name}]" for name in extras}


def test_the_readme_does_not_call_missing_what_is_there() -> None:
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    coming = " ".join(re.findall(r"[^.]*not there yet", text))
    assert not [name for name in [*COMMANDS, "click model"] if re.search(rf"\b{name}", coming)]
