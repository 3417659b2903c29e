"""Figure 2: an old item and its twin that was never shown."""

from __future__ import annotations

import numpy as np

from counterrank.lab.result import PaperTable
from counterrank.online import RANKERS, Memory, Options

ITEMS = "ABCDEF"
SHOWN = (("cftopk", "concat"), ("cftopk", "none"), ("prior", "concat"), ("ucbrank", "none"), ("ebrank", "none"))


def toy(seed: int = 0) -> dict[str, tuple[int, int]]:
    """The ranks of A, which was shown, and of its twin G, which was not, by ranker."""
    rng = np.random.default_rng(seed)
    curve = 1 / np.log2(np.arange(2, 7))
    memory = Memory(positions=5, names=["x"])
    for query in range(60):  # others, to learn from
        for item, x in zip(ITEMS, np.linspace(1.5, -1.0, 6), strict=True):
            memory.add(f"q{query}", item, [x + rng.normal() / 3])
        for _ in range(30):
            page = rng.permutation(6)[:5]
            chance = (0.1 + 0.8 / (1 + np.exp(2 * page - 3))) * curve
            memory.record(f"q{query}", [ITEMS[i] for i in page], (rng.random(5) < chance).astype(int).tolist())
    for item, x in zip(ITEMS, np.linspace(1.5, -1.0, 6), strict=True):
        memory.add("toy", item, [x])
    memory.add("toy", "G", [1.5])
    for turn in range(40):
        memory.record("toy", list(ITEMS[:5]), [int(turn % (i + 2) == 0) for i in range(5)])
    out = {}
    for name, behaviour in SHOWN:
        ranker = RANKERS[name](Options(examination=curve, behaviour=behaviour))
        ranker.learn(memory)
        order = ranker.rank(memory, "toy", rng)
        label = name if behaviour == "none" else f"{name}, {behaviour}"
        out[label] = (order.index("A") + 1, order.index("G") + 1)
    return out


def toy_table(found: dict[str, tuple[int, int]]) -> PaperTable:
    rows = [[name, str(old), str(new)] for name, (old, new) in found.items()]
    return PaperTable("Figure 2: ranks of A and of its twin G, never shown, among 7", ["ranker", "A", "G"], rows)
