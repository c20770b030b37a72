"""Keyword arguments as settings: the names of the command line with underscores."""

from __future__ import annotations

import operator
from typing import Any, Iterable

from . import _core


def texts(
    function: str, command: str, given: dict[str, Any], hidden: Iterable[str] = ()
) -> dict[str, str]:
    """Settings as the table reads them; None stands for the default.

    Raises TypeError for a name that the command does not have, or a value of the wrong type.
    """
    known = [name for name in _core.setting_names(command) if name not in set(hidden)]
    out: dict[str, str] = {}
    for name, value in given.items():
        if name not in known:
            hint = _core.did_you_mean(name, known)
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
        if value is not None:
            out[name.replace("_", "-")] = text(name, value)
    return out


def text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "true" if value else "false"
    if type(value).__name__ in ("datetime64", "Period"):  # before numbers: they count, too
        return str(value)[:10]
    if hasattr(value, "isoformat"):
        return str(value.isoformat())[:10]
    try:
        return str(operator.index(value))
    except TypeError:
        pass
    if isinstance(value, (list, tuple)) and _core.takes_list(name.replace("_", "-")):
        return _list(name, value)
    if hasattr(value, "__float__") and not hasattr(value, "__len__"):
        try:
            return repr(float(value))
        except (TypeError, ValueError):  # of a type that only looks like a number
            pass
    raise TypeError(f"{name} is of type {type(value).__name__}; give a number or a text")


def _list(name: str, values: Iterable[Any]) -> str:
    found = [str(value) for value in values]
    for item in found:
        if "," in item:
            raise TypeError(f"{name}: {item!r} has a comma, which separates names; rename it")
    return ",".join(found)
