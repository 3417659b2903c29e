"""`njit`: functions that run as machine code, which Numba makes once and which is kept.

To import Numba takes half a second, and it is needed only where something must be compiled: `kept` finds what was
compiled by the types of the arguments, `machine` runs it, and only where nothing is kept `function` asks Numba. A wheel
brings code along (`ahead`), so that a first run need not compile.
"""

from counterrank.compiled.ahead import collect
from counterrank.compiled.folders import place
from counterrank.compiled.function import Compiled, before_compiling, made, njit

__all__ = ["Compiled", "before_compiling", "collect", "made", "njit", "place"]
