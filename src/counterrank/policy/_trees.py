"""Trees as LightGBM writes them, read and walked by ourselves: a text that lies cannot do more than be refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.records import dataclass

_CATEGORICAL, _DEFAULT_LEFT, _ZERO_IS_MISSING = 1, 2, 4  # bits of LightGBM's decision_type
_NEAR_ZERO = 1.0000000180025095e-35  # what LightGBM takes for zero, a 32-bit number there


@dataclass(frozen=True, kw_only=True)
class Trees:
    """Σ over trees of the leaf that a row falls into: LightGBM's raw score.

    Nodes of all trees stand one after the other; a child is the number of a node, or ~(the number of a leaf).
    """

    names: list[str]
    roots: Codes  # (T,)
    feature: Codes
    threshold: NDArray[np.float64]
    decision: Codes
    left: Codes
    right: Codes
    leaves: NDArray[np.float64]

    @classmethod
    def read(cls, text: str) -> Trees:
        """From LightGBM's own text. Categories, linear leaves and several classes are not for ranking."""
        sections = list(_sections(text))
        head = sections[0] if sections else {}
        if "tree" not in head or "max_feature_idx" not in head:
            raise InputError("this is not the text of a LightGBM model")
        if head.get("num_class", "1") != "1" or head.get("num_tree_per_iteration", "1") != "1":
            raise InputError("the model has several classes: expected one score for each item")
        size = _whole(head["max_feature_idx"]) + 1
        names = head.get("feature_names", "").split()
        if len(names) != size or len(set(names)) < size:
            raise InputError(f"the model has {size} features, but {len(set(names))} distinct names of them")
        roots, columns, leaves = [], [np.empty((5, 0))], [np.empty(0)]
        nodes = ends = 0
        for tree in sections[1:]:
            split, values = _tree(tree, size)
            moved = [np.where(child < 0, child - ends, child + nodes) for child in split[3:]]
            columns.append(np.stack([*split[:3], *moved]))
            roots.append(nodes if len(split[0]) else ~ends)
            leaves.append(values)
            nodes, ends = nodes + len(split[0]), ends + len(values)
        feature, threshold, decision, left, right = np.concatenate(columns, axis=1)
        return cls(
            names=names,
            roots=np.array(roots, dtype=np.int64),
            feature=feature.astype(np.int64),
            threshold=np.ascontiguousarray(threshold),
            decision=decision.astype(np.int64),
            left=left.astype(np.int64),
            right=right.astype(np.int64),
            leaves=np.concatenate(leaves),
        )

    def score(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N,) the score of each row of features (N, F), which are finite."""
        out = np.zeros(len(values))
        _walk(
            np.ascontiguousarray(values), self.roots, self.feature, self.threshold, self.decision, self.left,
            self.right, self.leaves, out,
        )  # fmt: skip
        return out


def _sections(text: str) -> Iterator[dict[str, str]]:
    """The head and each tree as name = value."""
    found: dict[str, str] = {}
    for raw in text.split("\n"):
        line = raw.strip()
        if line == "end of trees":
            break
        name, _, value = line.partition("=")
        if name == "Tree":
            yield found
            found = {}
        elif line:
            found.setdefault(name, value)
    else:
        raise InputError("the LightGBM text is cut off: it does not say where its trees end")
    yield found


def _tree(tree: dict[str, str], features: int) -> tuple[list[NDArray[Any]], NDArray[np.float64]]:
    """Feature, threshold, decision, left and right of each node, and the values of the leaves."""
    leaves = _whole(tree.get("num_leaves", ""))
    if tree.get("num_cat", "0") != "0" or tree.get("is_linear", "0") != "0":
        raise InputError("the model splits by categories or has linear leaves: expected plain numeric trees")
    values = _numbers(tree, "leaf_value", leaves)
    if not np.isfinite(values).all():
        raise InputError("a leaf of the LightGBM text has a value that is not finite")
    names = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
    split = [_numbers(tree, name, leaves - 1) for name in names]
    feature, threshold, decision, left, right = split
    node = np.arange(leaves - 1)
    sound = (feature >= 0) & (feature < features) & ~np.isnan(threshold) & (decision >= 0) & (decision < 16)
    for column in (feature, decision, left, right):
        sound &= column == np.floor(column)
    for child in (left, right):  # a child comes after its node, so that every walk ends
        sound &= np.where(child >= 0, (child > node) & (child < leaves - 1), child >= -leaves)
    if not sound.all() or (decision.astype(np.int64) & _CATEGORICAL).any():
        raise InputError(f"node {int(np.argmin(sound))} of a tree of the LightGBM text makes no sense")
    return split, values


def _numbers(tree: dict[str, str], name: str, size: int) -> NDArray[np.float64]:
    words = tree.get(name, "").split()
    if size < 0 or len(words) != size:
        raise InputError(f"a tree of the LightGBM text has {len(words)} numbers as {name}: expected {max(size, 0)}")
    try:
        return np.array([float(word) for word in words])
    except ValueError:
        raise InputError(f"{name} of a tree of the LightGBM text is not all numbers") from None


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InputError(f"the LightGBM text has {text[:20]!r} where a count was expected")
    return int(text)


@njit(nogil=True)
def _walk(
    values: Any, roots: Any, feature: Any, threshold: Any, decision: Any, left: Any, right: Any, leaves: Any, out: Any
) -> None:  # pragma: no cover
    for r in range(len(values)):
        total = 0.0
        for t in range(len(roots)):
            node = roots[t]
            while node >= 0:
                x, kind = values[r, feature[node]], decision[node]
                if (kind >> 2) & 3 == 1 and -_NEAR_ZERO <= x <= _NEAR_ZERO:
                    goes_left = kind & _DEFAULT_LEFT != 0
                else:
                    goes_left = x <= threshold[node]
                node = left[node] if goes_left else right[node]
            total += leaves[~node]
        out[r] = total
