"""What the functions that are commands of the program have in common."""

from __future__ import annotations

import json
import math
from typing import Any, Dict

from . import _settings, _threads
from ._warnings import warn as warn


def texts(function: str, given: Dict[str, Any], command: str = "") -> Dict[str, str]:
    """Keyword arguments as settings of a command, that of the same name unless another is given."""
    command = command or function
    given = dict(given)
    if "from_" in given:
        given["from"] = given.pop("from_")
    k = given.get("k")
    if k is not None and (isinstance(k, bool) or not (isinstance(k, str) or _is_whole(k))):
        raise TypeError(f"k = {k!r} is neither a count such as 5 nor a share such as '10%'")
    out = _settings.texts(function, command, given)
    if _threads.get_threads() and "threads" in _settings.table(command):
        out.setdefault("threads", str(_threads.get_threads()))
    return out


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__")


def figures(text: str) -> Dict[str, Any]:
    """An answer in JSON; a number that was not computed is NaN."""
    found: Dict[str, Any] = json.loads(text)
    command = found.get("command")
    for key in ("schema_version", "command", "warnings"):
        found.pop(key, None)
    # Settings that are texts, such as files, have no number to be missing either.
    texts = _settings.names_of_kind(command, "text") if command else ()
    return {key: value if key in texts else _number(key, value) for key, value in found.items()}


def _number(key: str, value: Any) -> Any:
    if isinstance(value, list) and key.endswith("_ci"):
        return tuple(math.nan if v is None else v for v in value)
    if isinstance(value, dict) and key in _GROUPS:
        return {name: _number(name, inner) for name, inner in value.items()}
    if isinstance(value, list) and key in _GROUPS:
        return [_number(key, inner) for inner in value]
    if value is not None or key.endswith("_date") or key in _NO_NUMBERS:
        return value
    return math.nan


_GROUPS = ("costs", "cost_curve", "equal_weights")  # that hold numbers
_NO_NUMBERS = ("best_left_out", "age_days", "validation_from", "cost_bps", "trained_to")
