"""The several kinds of lists that Arrow has, as one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def is_list(kind: pa.DataType) -> bool:
    """Whether values of this type are lists of some kind."""
    types = pa.types
    tests = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view)
    return any(test(kind) for test in tests)


def plain_lists(values: pa.Array) -> pa.Array:
    """Lists of any kind as a list array whose offsets can be read. (Arrow's own cast of list views loses values.)

    >>> plain_lists(pa.array([[1, 2], None, [3]], pa.list_view(pa.int8()))).to_pylist()
    [[1, 2], None, [3]]
    """
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        return values
    sizes = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int64())
    return pa.LargeListArray.from_arrays(offsets, values.flatten(), mask=values.is_null())
