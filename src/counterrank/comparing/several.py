"""Several targets against one baseline: the more are asked about, the surer each answer must be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterrank.comparing.compare import compare
from counterrank.comparing.comparison import Comparison
from counterrank.errors import InputError
from counterrank.log import Reading, read_log
from counterrank.records import dataclass
from counterrank.result.answer import Answer
from counterrank.setting.options import check_confidence
from counterrank.words import counted, level, number

DECISIONS = {"target": "ship", "baseline": "do not ship", "undecided": "cannot tell"}


@dataclass(frozen=True, repr=False, kw_only=True)
class Comparisons(Answer):
    """Each target's comparison. `confidence` is that all of them hold together, `each` that of one (Bonferroni)."""

    listed = "decisions"
    comparisons: dict[str, Comparison]
    confidence: float
    each: float
    reading: Reading
    notes: list[str]

    def __getitem__(self, target: str) -> Comparison:
        return self.comparisons[target]

    def to_dict(self) -> dict[str, Any]:
        plain = ("estimator", "interval", "unit", "difference", "lower", "upper", "confidence", "verdict")
        short = [
            {"target": name} | {field: getattr(found, field) for field in plain} | {"trust": _trust(found)}
            for name, found in self.comparisons.items()
        ]
        own = [{"target": name, **found.to_dict()} for name, found in self.comparisons.items()]
        mine = {"confidence": self.confidence, "each": self.each, "decisions": short, "comparisons": own}
        return {**self.reading.to_dict(), **mine, "notes": self.notes}

    def headline(self) -> str:
        wins = [name for name, found in self.comparisons.items() if found.verdict == "target"]
        if not wins:
            return "Cannot tell, or do not ship: no target is certainly better than the baseline."
        best = max(wins, key=lambda name: self.comparisons[name].lower or 0.0)
        least = number(self.comparisons[best].lower)
        if len(wins) == 1:
            return f"Ship {best}: it is the one certain winner, by {least} or more."
        return f"Ship {best}: of {len(wins)} certain winners it has the highest lower bound, {least} more."

    def summary(self) -> str:
        first = next(iter(self.comparisons.values()))
        return f"{first.unit}: {counted(len(self.comparisons), 'target')}, {level(self.confidence)} for all together"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        header = ["target", "estimator", "difference", f"{level(self.each)} bounds", "decision", "trust"]
        return header, [
            [
                name,
                found.estimator,
                number(found.difference),
                f"{number(found.lower)} … {number(found.upper)}",
                DECISIONS[found.verdict],
                _trust(found) or "–",
            ]
            for name, found in self.comparisons.items()
        ]

    def remarks(self) -> list[str]:
        doubts = [f"{name}: {found.diagnosis.words()}" for name, found in self.comparisons.items() if found.diagnosis]
        return [*doubts, *self.notes, self.reading.line()]


def _trust(found: Comparison) -> str | None:
    return found.diagnosis.verdict if found.diagnosis is not None else None


def compare_all(log: Any, targets: Mapping[str, Any], baseline: Any = "logging", **options: Any) -> Comparisons:
    """`compare` each of several targets, by name, with the same baseline; `options` are those of `compare`.

    Each is asked with 1 − (1 − confidence)/targets, so that all answers hold together with `confidence`.

    >>> rows = {"query": ["q"] * 40, "items": [["a", "b"], ["b", "a"]] * 20, "clicks": [[1, 0], [0, 0]] * 20}
    >>> found = compare_all(rows, {"one": {"q": ["a", "b"]}, "two": {"q": ["b", "a"]}}, estimator="ip")
    >>> found.each, found["two"].confidence
    (0.975, 0.975)
    """
    if not targets:
        raise InputError("no targets came: give one or more, each with a name")
    confidence = check_confidence(options.pop("confidence", 0.95))
    source = read_log(log, cluster=options.pop("cluster", None))
    each = 1 - (1 - confidence) / len(targets)
    found: dict[str, Comparison] = {}
    for name, target in targets.items():
        found[name] = compare(source, target, baseline, confidence=each, **options)
        source = source.again(found[name].reading)
    first = next(iter(found.values()))
    many = counted(len(targets), "target")
    notes = [f"each of {many} is asked with {level(each)} confidence, so that all hold together"]
    return Comparisons(
        comparisons=found,
        confidence=confidence,
        each=each,
        reading=first.reading,
        notes=[*first.reading.notes, *notes] if len(targets) > 1 else list(first.reading.notes),
    )
