"""Keyword arguments as settings: the names of the command line with underscores."""

from __future__ import annotations

import functools
import inspect
import operator
import os
from typing import Any, Callable, Iterable, Sequence, TypeVar

from . import _core

Function = TypeVar("Function", bound=Callable[..., Any])

_IN_LIMITS = "give limits=sharpen.Limits({}=...)"
# Words that users bring from other packages: what is there instead, or why it is not.
_WORDS = {
    "weight_bounds": "give min_weight=... and max_weight=...",
    "bounds": "give min_weight=... and max_weight=...",
    "device": "the CPU is all that is used",
    **{
        name: _IN_LIMITS.format(name)
        for name in ("rows", "min_held", "min_net", "max_net", "max_turnover", "coefficients")
    },
}
_OTHER_NAMES = {
    "lr": "learning_rate",
    "batch_size": "batch",
    "cost": "cost_bps",
    "costs": "cost_bps",
    "transaction_costs": "cost_bps",
    "start": "from_",
    "start_date": "from_",
    "end": "to",
    "end_date": "to",
    "cardinality": "k",
    "max_weights": "max_weight",
    "min_weights": "min_weight",
    "window": "lookback",
    "n_jobs": "threads",
    "random_state": "seed",
}


# Settings that objects of ours stand for as well, and how these are written.
writers: dict[str, Callable[[Any], str]] = {}


@functools.lru_cache(maxsize=None)
def table(command: str) -> dict[str, dict[str, Any]]:
    """The settings of a command that are keywords here, by their names in Python."""
    return {row["name"]: row for row in _core.settings_of(command) if row["keyword"]}


@functools.lru_cache(maxsize=None)
def names_of_kind(command: str, kind: str) -> frozenset[str]:
    """Of a command's settings, keywords here or not, those of a kind."""
    return frozenset(row["name"] for row in _core.settings_of(command) if row["kind"] == kind)


def texts(
    function: str,
    command: str,
    given: dict[str, Any],
    arguments: Iterable[str] = (),
) -> dict[str, str]:
    """Settings as the table reads them; None stands for the default.

    Raises TypeError for a name that the command does not have, or a value of the wrong type.
    `arguments` are the function's own, for those that are misspelt.
    """
    known = table(command)
    out: dict[str, str] = {}
    for name, value in given.items():
        if name not in known:
            names = [_in_python(name) for name in known]
            hint = _hint(function, name, names, [*_arguments_of.get(function, ()), *arguments])
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
        if value is not None:
            written = writers[name](value) if name in writers else value
            out[name.replace("_", "-")] = text(name, written, known[name]["kind"])
    return out


def _in_python(name: str) -> str:
    return "from_" if name == "from" else name


def _hint(function: str, name: str, known: Sequence[str], arguments: Sequence[str]) -> str:
    if name in _WORDS:
        return f"; {_WORDS[name]}"
    if _OTHER_NAMES.get(name) in [*known, *arguments]:
        return f"; did you mean {_OTHER_NAMES[name]}?"
    word = name.encode(errors="replace").decode()
    near = _core.did_you_mean(word, [*arguments, *known])
    return near or f"; settings of sharpen.{function}: {', '.join(known)}"


def is_sequence(value: Any) -> bool:
    """A list, tuple, array, Index, Series and the like: an order, and no text."""
    if isinstance(value, (str, bytes, dict, set, frozenset)) or not hasattr(value, "__iter__"):
        return False
    return hasattr(value, "__len__") and getattr(value, "ndim", 1) == 1


def text(name: str, value: Any, kind: str = "text") -> str:
    if isinstance(value, str) and (kind != "flag" or value in ("true", "false")):
        return value
    if isinstance(value, os.PathLike) and kind == "text":
        return str(os.fspath(value))
    if isinstance(value, dict) and name == "on_suspect":
        return ",".join(f"{kind}={way}" for kind, way in value.items())
    if is_sequence(value):
        if kind in ("list", "labels"):
            return list_text(name, value, kind)
        raise TypeError(f"{name} is of type {type(value).__name__}; give a number or a text")
    if kind == "labels" and hasattr(value, "__float__"):  # as text: 1.0 is not 1
        return str(value)
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "true" if value else "false"
    if kind == "flag":
        raise TypeError(f"{name} = {value!r} is neither True nor False")
    if type(value).__name__ == "datetime64":  # before numbers: it counts, too
        return str(value)[:10]
    if type(value).__name__ == "Period":  # up to its last day, as rows are called; from its first
        day = value if name == "to" else value.asfreq("D", how="start")
        return str(day.strftime("%Y-%m-%d"))
    if hasattr(value, "isoformat"):
        return str(value.isoformat())[:10]
    try:
        return str(operator.index(value))
    except TypeError:
        pass
    if hasattr(value, "__float__") and not hasattr(value, "__len__"):
        try:
            number = float(value)
        except (TypeError, ValueError):  # of a type that only looks like a number
            pass
        else:
            whole = kind in ("integer", "count_or_all", "list") and number.is_integer()
            return str(int(number)) if whole else repr(number)
    raise TypeError(f"{name} is of type {type(value).__name__}; give a number or a text")


def list_text(name: str, values: Iterable[Any], kind: str) -> str:
    """A list as the table reads it: separated by commas."""
    found = []
    for value in values:
        number = hasattr(value, "__float__") and not hasattr(value, "__len__")
        item = text(name, value, kind) if number and kind == "list" else str(value)
        if "," in item:
            raise TypeError(f"{name}: {item!r} has a comma, which separates names; rename it")
        found.append(item)
    return ",".join(found)


_arguments_of: dict[str, list[str]] = {}  # of every function that takes settings


def documented(command: str) -> Callable[[Function], Function]:
    """Gives a function the signature and the help of the settings it takes."""

    def add(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken = {p.name for p in own}
        _arguments_of[function.__name__] = [p.name for p in own]
        rows = {_in_python(n): row for n, row in table(command).items() if n not in taken}
        settings = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any
            )
            for name in sorted(rows)
        ]
        function.__signature__ = signature.replace(parameters=[*own, *settings])  # type: ignore
        lines = [f"    {name} : {_described(row)}" for name, row in rows.items()]
        doc = inspect.cleandoc(function.__doc__ or "")
        function.__doc__ = "\n".join([doc, "", "Settings, None for the default::", "", *lines, ""])
        return function

    return add


def _described(row: dict[str, Any]) -> str:
    values = f"; one of {', '.join(row['choices'])}" if row["choices"] else ""
    default = f" (default: {row['default']})" if row["default"] else ""
    return f"{row['text']}{values}{default}"
