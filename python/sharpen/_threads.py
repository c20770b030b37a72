"""How many threads calls use that do not say so themselves. Results have the same bits for any."""

from __future__ import annotations

import operator

from ._core import InputError

_count = 0


def set_threads(count: int) -> None:
    """Use at most ``count`` threads from now on; 0 stands for one per core, the default."""
    global _count
    _count = checked(count)


def get_threads() -> int:
    """What ``set_threads`` was given last; 0 stands for one per core."""
    return _count


def checked(count: int) -> int:
    if isinstance(count, bool):
        raise TypeError("threads is a bool; give a whole number")
    try:
        found = operator.index(count)
    except TypeError:
        raise TypeError(
            f"threads is of type {type(count).__name__}; give a whole number"
        ) from None
    if not 0 <= found <= 1024:
        raise InputError(f"threads = {found} is outside [0, 1024]; 0 means one per core")
    return found
