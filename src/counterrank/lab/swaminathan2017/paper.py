"""The numbers that the paper prints: table 2, and tables 3 to 5."""

from __future__ import annotations

FIGURE2 = ("5-0", "10-0", "5-10")  # the panels, as slots-alpha
SIZES = (200, 600, 2000, 6000, 20_000, 60_000, 200_000, 600_000)
TINY = 1e-8  # what the paper prints as < 10⁻⁸
P_WIPS: dict[str, tuple[float, ...]] = {
    "5-0": (TINY,) * 8, "10-0": (TINY,) * 8, "5-10": (TINY, 1.0e-8, *(TINY,) * 6),
}  # fmt: skip
P_DM: dict[str, tuple[float | None, ...]] = {  # None where DM is better
    "5-0": (None, None, None, None, 7.3e-2, 5.6e-3, 6.0e-5, TINY),
    "10-0": (None, None, None, None, None, None, 6.1e-2, 7.3e-4),
    "5-10": (None, None, None, None, None, None, 4.4e-4, 7.5e-5),
}
LOGGER = (0.273, 0.285, 0.289, 0.273, 0.259)  # by fold; the mean of uniform logging over the training parts
LEARNT: dict[str, dict[str, tuple[float, ...]]] = {  # test NDCG by fold: tables 3, 4 and 5
    "tree": {
        "sup-rel": (0.455, 0.426, 0.415, 0.470, 0.480),
        "sup-gain": (0.461, 0.427, 0.420, 0.469, 0.489),
        "pi-opt": (0.473, 0.421, 0.426, 0.469, 0.492),
    },
    "lasso": {
        "sup-rel": (0.466, 0.427, 0.425, 0.468, 0.492),
        "sup-gain": (0.459, 0.427, 0.423, 0.462, 0.486),
        "pi-opt": (0.467, 0.413, 0.413, 0.484, 0.517),
    },
    "ridge": {
        "sup-rel": (0.456, 0.418, 0.418, 0.460, 0.487),
        "sup-gain": (0.455, 0.416, 0.417, 0.457, 0.486),
        "pi-opt": (0.451, 0.418, 0.413, 0.454, 0.476),
    },
}
AVERAGE: dict[str, dict[str, float]] = {  # as printed
    "tree": {"sup-rel": 0.449, "sup-gain": 0.453, "pi-opt": 0.456},
    "lasso": {"sup-rel": 0.456, "sup-gain": 0.451, "pi-opt": 0.459},
    "ridge": {"sup-rel": 0.448, "sup-gain": 0.446, "pi-opt": 0.442},
}
LOGGER_AVERAGE = 0.276
CURVE = {1000: 0.450, 10_000: 0.451, 100_000: 0.456}  # section 4.2: PI-OPT with trees by n; SUP has 0.453
