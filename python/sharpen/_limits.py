"""sharpen.Limits: what a portfolio is held to besides its number of names."""

from __future__ import annotations

import json
import operator
import os
from typing import Any, Iterable, Mapping, Optional, Union

from . import _core, _settings
from ._core import InputError

Numbers = Union[float, Mapping[Any, float]]


class Limits:
    """Limits on the weights of a portfolio, for every function that chooses one.

        limits = sharpen.Limits(long_only=True, max_weight=0.05,
                                groups={"XOM": "Energy", "AAPL": "Tech"},
                                rows=["Energy <= 0.3", "Tech >= 0.1"])
        sharpen.solve(prices, k=20, limits=limits)

    Parameters
    ----------
    long_only : bool
        No weight below zero.
    min_weight, max_weight : float or dict
        Bounds of every weight, or of some by asset.
    min_held : float or dict
        A name that is held has at least this weight (in absolute value).
    max_gross : float
        Largest sum of the absolute weights.
    min_net, max_net : float
        Bounds of the sum of the weights.
    groups : dict, Series, DataFrame or path
        Group of each asset, or a list of groups; a DataFrame (or CSV file) with columns ``asset``,
        ``group`` and perhaps ``date``, from which on a line counts.
    coefficients : DataFrame, dict or path
        Exposures: one row for each asset (the index, or a column ``asset``), one column for each
        name; perhaps ``date``. A dict has those by asset for each name.
    rows : list of str
        ``"Energy <= 0.3"``, ``"0.1 <= Tech <= 0.4"``, ``"A + 2 * B <= 0.1"``, ``"beta <= 1.1"``:
        names are assets, groups, columns of coefficients, ``net`` or ``beta``.
    names : dict
        Most names of a group that are held, or a pair (least, most).
    beta_against : str
        Asset that ``beta`` is measured against; equal weights by default.
    holdings : dict or Series
        Weights held now, for ``max_turnover``.
    max_turnover : float
        Largest sum of the absolute changes from the holdings.

    Limits are compared by what they say, and can be pickled. ``to_toml`` writes what ``sharpen
    --limits FILE`` reads, ``from_toml`` reads it.
    """

    def __init__(
        self,
        *,
        long_only: bool = False,
        min_weight: Optional[Numbers] = None,
        max_weight: Optional[Numbers] = None,
        min_held: Optional[Numbers] = None,
        max_gross: Optional[float] = None,
        min_net: Optional[float] = None,
        max_net: Optional[float] = None,
        groups: Any = None,
        coefficients: Any = None,
        rows: Iterable[str] = (),
        names: Optional[Mapping[str, Any]] = None,
        beta_against: Optional[str] = None,
        holdings: Any = None,
        max_turnover: Optional[float] = None,
    ) -> None:
        if isinstance(rows, str) or not hasattr(rows, "__iter__"):
            raise TypeError(
                f"rows is of type {type(rows).__name__}; give a list of texts such as "
                "['Energy <= 0.3']"
            )
        totals = {"max_gross": max_gross, "min_net": min_net, "max_net": max_net}
        totals["max_turnover"] = max_turnover
        by_asset = {"min_weight": min_weight, "max_weight": max_weight, "min_held": min_held}
        lines = [f"long_only = {_flag('long_only', long_only)}"]
        lines += [f"{key} = {_number(key, v)}" for key, v in totals.items() if v is not None]
        lines += [
            f"{key} = {_number(key, v)}"
            for key, v in by_asset.items()
            if v is not None and not hasattr(v, "items")
        ]
        if beta_against is not None:
            lines.append(f"beta_against = {_text(beta_against)}")
        lines.append(f"rows = [{', '.join(_text(row) for row in rows)}]")
        for key, value in (("groups", groups), ("coefficients", coefficients)):
            if value is not None:
                lines.append(f"{key} = {_table(key, value)}")
        if holdings is not None:
            pairs = ((str(a), _number("holdings", w)) for a, w in _items("holdings", holdings))
            lines.append(f"holdings = {{ {', '.join(f'{_text(a)} = {w}' for a, w in pairs)} }}")
        if names is not None:
            lines.append(f"names = {{ {', '.join(_names(g, n) for g, n in names.items())} }}")
        own: dict[str, list[str]] = {}
        for key, word in (("min_weight", "min"), ("max_weight", "max"), ("min_held", "min_held")):
            if hasattr(by_asset[key], "items"):
                for asset, value in by_asset[key].items():  # type: ignore[union-attr]
                    own.setdefault(str(asset), []).append(f"{word} = {_number(key, value)}")
        for asset, parts in own.items():
            lines += [f"[weights.{_text(asset)}]", *parts]
        self._toml = _core.limits_text("\n".join(lines) + "\n")

    @classmethod
    def from_text(cls, text: str) -> "Limits":
        """Limits from what ``to_toml`` gives, or from the name of a file of it."""
        found = cls.__new__(cls)
        found._toml = _core.limits_text(text) if "\n" in text else _core.limits_of_file(text)
        return found

    @classmethod
    def from_toml(cls, file: Any) -> "Limits":
        """Limits from a file, as ``--limits`` reads it."""
        return cls.from_text(os.fspath(file))

    def to_toml(self) -> str:
        """Text that ``--limits`` reads from a file; groups and all else are in it."""
        return self._toml

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Limits) and self._toml == other._toml

    def __hash__(self) -> int:
        return hash(self._toml)

    def __repr__(self) -> str:
        return "Limits(\n" + "".join(f"    {line}\n" for line in self._toml.splitlines()) + ")"


def text(value: Any) -> str:
    """Of the setting `limits`: a path, or the text itself, which has a line break."""
    if isinstance(value, Limits):
        return value.to_toml()
    if isinstance(value, Mapping):
        return Limits(**value).to_toml()
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    raise TypeError(
        f"limits is of type {type(value).__name__}; give sharpen.Limits(...) or a TOML file"
    )


def groups_text(value: Any) -> str:
    """Of the setting `groups`: a path, or lines asset,group."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    return _lines("groups", value)


def _flag(name: str, value: Any) -> str:
    return _settings.text(name, value, "flag")


def _number(name: str, value: Any) -> str:
    if isinstance(value, str):
        return _text(value)  # such as 5%
    if isinstance(value, bool) or not hasattr(value, "__float__") or hasattr(value, "__len__"):
        raise TypeError(f"{name} is of type {type(value).__name__}; give a number, or a dict")
    found = float(value)
    if found != found or found in (float("inf"), float("-inf")):
        raise InputError(f"{name} = {found} is not a finite number; leave out what is not limited")
    return repr(found)


def _text(value: Any) -> str:
    """A string of TOML, which writes them as JSON does."""
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _names(group: Any, value: Any) -> str:
    if not isinstance(value, (tuple, list)):
        return f"{_text(group)} = {_count(group, value)}"
    if len(value) != 2:
        raise TypeError(f"names of {group}: give the most names, or a pair (least, most)")
    least, most = (None if end is None else _count(group, end) for end in value)
    ends = [f"{word} = {end}" for word, end in (("min", least), ("max", most)) if end is not None]
    return f"{_text(group)} = {{ {', '.join(ends)} }}"


def _count(group: Any, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"names of {group}: {value!r} is no whole number") from None


def _items(name: str, value: Any) -> Any:
    if hasattr(value, "items") and not hasattr(value, "columns"):  # a dict or a Series
        return value.items()
    raise TypeError(f"{name} is of type {type(value).__name__}; give a dict or a Series by asset")


def _table(name: str, value: Any) -> str:
    if isinstance(value, (str, os.PathLike)):
        return _text(os.fspath(os.path.abspath(value)))
    return _text(_lines(name, value))


def _lines(name: str, value: Any) -> str:
    """A CSV text: of a DataFrame as it is, of a mapping with one line for each group."""
    if hasattr(value, "columns"):
        frame = value if "asset" in value.columns else value.rename_axis("asset").reset_index()
        return str(frame.to_csv(index=False))
    if name == "coefficients":
        return _columns(value)
    lines = ["asset,group"]
    for asset, groups in _items(name, value):
        if not isinstance(groups, str) and not hasattr(groups, "__iter__"):
            raise TypeError(f"groups of {asset}: {groups!r} is no name; give a text or a list")
        found = [groups] if isinstance(groups, str) else list(groups)
        lines += [f"{_field(asset)},{_field(group)}" for group in found]
    return "\n".join(lines) + "\n"


def _columns(value: Any) -> str:
    """Of exposures by asset for each name; who is not among them has none."""
    tables = {key: dict(_items("coefficients", own)) for key, own in _items("coefficients", value)}
    assets = dict.fromkeys(asset for own in tables.values() for asset in own)
    lines = [",".join(["asset", *map(_field, tables)])]
    for asset in assets:
        values = (_number("coefficients", own.get(asset, 0.0)) for own in tables.values())
        lines.append(",".join([_field(asset), *values]))
    return "\n".join(lines) + "\n"


def _field(value: Any) -> str:
    return '"' + str(value).replace('"', '""') + '"'


_settings.writers.update(limits=text, groups=groups_text)
