"""sharpen.train and sharpen.predict: models, and the portfolios they lead to."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Optional, Union

import numpy as np

from . import _commands, _core, _data, _panels, _progress, _settings
from ._core import InputError

PathLike = Union[str, "os.PathLike[str]"]


class Model:
    """A trained model. Its file is the program's: what one writes the other reads.

    ``Model.load(path)`` reads one; models can be pickled.
    """

    def __init__(self, core: _core.Model, warnings: Optional[List[str]] = None) -> None:
        if not isinstance(core, _core.Model):
            raise TypeError("a Model comes from sharpen.train(...) or sharpen.Model.load(path)")
        self._core = core
        self._facts: Dict[str, Any] = json.loads(core.json())
        self.warnings: List[str] = list(warnings or [])

    @classmethod
    def load(cls, path: PathLike) -> "Model":
        """The model in a file that ``save`` or ``sharpen train`` wrote."""
        return cls(_core.Model.read(_panels.path_text(path, "path")))

    def save(self, path: PathLike) -> None:
        """Writes the model, whole or not at all."""
        self._core.write(_panels.path_text(path, "path"))

    @property
    def assets(self) -> List[str]:
        """The assets it knows, in its order."""
        return list(self._facts["tickers"])

    @property
    def settings(self) -> Dict[str, Any]:
        """What it was trained with, by the names of the command line."""
        return dict(self._facts["settings"])

    @property
    def info(self) -> Dict[str, Any]:
        """Dates, samples and parameters."""
        left_out = ("k", "tickers", "members", "settings")
        return {key: value for key, value in self._facts.items() if key not in left_out}

    @property
    def members(self) -> Any:
        """A DataFrame with a row for each network: epochs run, the best one, its validation."""
        pandas = _panels.need_pandas("members")
        frame = pandas.DataFrame(self._facts["members"])
        frame.index.name = "member"
        return frame

    def predict(self, prices: Any = None, **arguments: Any) -> "Prediction":
        """``sharpen.predict(self, prices, ...)``."""
        return predict(self, prices, **arguments)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return self._core.content() == other._core.content()

    def __hash__(self) -> int:
        return hash(self._core.content())

    def __reduce__(self) -> Any:
        return _model_of, (self._core.content(), self.warnings)

    def __repr__(self) -> str:
        facts = self._facts
        return (
            f"<sharpen.Model: {len(facts['members'])} networks of {facts['parameters']} parameters "
            f"for {facts['n']} assets, trained on {facts['from']} to {facts['to']}>"
        )


def _model_of(content: bytes, warnings: List[str]) -> Model:
    return Model(_core.Model(content), warnings)


@_settings.documented("train")
def train(
    prices: Any = None,
    *,
    returns: Any = None,
    gross: bool = False,
    out: Optional[PathLike] = None,
    progress: Optional[bool] = None,
    **settings: Any,
) -> Model:
    """Networks that expect returns, trained to decide (``framework="dfl"``) or to predict
    (``"pfl"``).

    ``prices`` is a panel as for ``solve``: a DataFrame, an array, or the name of a CSV file;
    ``returns=`` takes simple returns instead, with ``gross=True`` 1 + r. The other keyword
    arguments are the settings of ``sharpen train`` with underscores: ``preset``, ``k``,
    ``lookback``, ``alpha``, ``ensemble``, ``epochs``, ``seed``, ``threads`` and so on.

    With ``out`` the model is also written to that file, and its epochs are kept beside it until it
    is done: after Ctrl-C, ``resume=True`` goes on. The same data, settings and seed give the same
    bits as the command line. ``progress`` shows a bar: True, False, or None for where tqdm is
    installed.
    """
    given = _commands.texts("train", settings)
    if out is not None:
        given["out"] = _panels.path_text(out, "out")
    elif given.get("resume") == "true":
        raise InputError("resume has no meaning here; it goes with out")
    source = _panels.source("train", prices, returns, gross, given)
    with _progress.bar(progress) as report:
        core, messages = _core.train({**given, **source.settings}, source.panel, report)
    _commands.warn(messages)
    return Model(core, messages)


class Prediction:
    """The portfolio that a model leads to for the period after the panel's last row."""

    def __init__(self, core: _core.Predicted, source: _panels.Source) -> None:
        self._columns = source.table.columns if source.table is not None else None
        self._mu = np.asarray(core.mu)
        self.figures: Dict[str, Any] = _commands.figures(core.json())
        self.warnings: List[str] = core.warnings
        self._labels = source.names(core.names)
        self.names: List[Any] = list(self._labels)  # as the panel calls them
        self.array = np.asarray(core.weights, dtype=source.dtype)

    @property
    def weights(self) -> Any:
        """A pandas Series over the model's assets, and those beside them that are held and cannot
        be traded today (an array of the first where pandas is not installed)."""
        found = self._series(self.array, "weight")
        kept = self.figures.get("kept", [])
        if not kept or isinstance(found, np.ndarray):
            return found
        labels = _data.relabelled([row["asset"] for row in kept], self._columns)
        for label, row in zip(labels, kept):
            found[label] = row["weight"]
        return found

    @property
    def mu(self) -> Any:
        """What the members expect together, per period."""
        return self._series(self._mu, "mu")

    def _series(self, values: Any, name: str) -> Any:
        try:
            import pandas
        except ImportError:
            return values.copy()
        return pandas.Series(values.copy(), index=self._labels, name=name)

    @property
    def holdings(self) -> Any:
        """A DataFrame with a row for each name held: weight, what the members hold, and with
        ``explain=True`` why."""
        return self._frame("holdings", ["weight", "held_by", "member_mean", "member_sd"])

    @property
    def trades(self) -> Any:
        """A DataFrame with a row for each name to trade, from the weights held before, with what
        that gains and costs as shares of the wealth."""
        return self._frame("trades", ["from", "to", "trade", "gain", "cost"])

    @property
    def left_undone(self) -> Any:
        """A DataFrame with a row for each name that would be traded if that were free, and is not:
        what that would gain and cost, and why (``cost`` or ``room``)."""
        return self._frame("left_undone", ["from", "to", "reason", "gain", "cost"])

    def _frame(self, key: str, columns: List[str]) -> Any:
        return _panels.frame_by_asset(self.figures, key, columns, self._columns)

    @property
    def date(self) -> str:
        """The last row used."""
        return str(self.figures["date"])

    @property
    def status(self) -> str:
        return str(self.figures["status"])

    @property
    def sharpe(self) -> float:
        """Expected Sharpe ratio per period."""
        return float(self.figures["sharpe"])

    @property
    def agreement(self) -> float:
        """How much the members agree: 1 if all say the same, 0 if they cancel."""
        return float(self.figures["agreement"])

    def __repr__(self) -> str:
        held = [(n, float(w)) for n, w in zip(self.names, self.array) if w != 0.0]
        lines = [
            f"<sharpen.Prediction after {self.date}: {len(held)} of {len(self.names)} assets, "
            f"{self.status}, agreement {self.agreement:.2f}>"
        ]
        most = sorted(held, key=lambda item: -abs(item[1]))[:10]
        width = max((len(str(name)) for name, _ in most), default=0)
        lines += [f"  {name!s:<{width}}  {weight:+.4f}" for name, weight in most]
        if len(held) > len(most):
            lines.append(f"  and {len(held) - len(most)} more")
        return "\n".join(lines)


@_settings.documented("predict")
def predict(
    model: Union[Model, PathLike],
    prices: Any = None,
    *,
    returns: Any = None,
    gross: bool = False,
    previous: Any = None,
    out: Optional[PathLike] = None,
    trades: Optional[PathLike] = None,
    **settings: Any,
) -> Prediction:
    """The portfolio for the period after the last row of ``prices``, from a ``Model`` or its file.

    ``previous`` holds the weights to trade from: a Series or dict by asset, or a file
    ``asset,weight``. ``out`` and ``trades`` are files to write, as the command line does; none of
    those that are read. The other keyword arguments are the settings of ``sharpen predict`` with
    underscores: ``k``, ``optimizer``, ``sizing``, ``capital``, ``asof``, ``max_age``, ``explain``
    and so on.
    """
    given = _commands.texts("predict", settings)
    if _core.asks_for_orders(given):
        raise InputError("these are settings of an account; sharpen.orders takes them")
    core: Optional[_core.Model] = None
    if isinstance(model, Model):
        core = model._core
    elif isinstance(model, (str, os.PathLike)):
        given["model"] = os.fspath(model)
    else:
        raise TypeError(f"model is of type {type(model).__name__}; give a Model or its file")
    held = None
    if isinstance(previous, (str, os.PathLike)):
        given["previous"] = os.fspath(previous)
    elif previous is not None:
        held = _data.weights_by_asset(previous)
    for name, file in (("out", out), ("trades", trades)):
        if file is not None:
            given[name] = _panels.path_text(file, name)
    source = _panels.source("predict", prices, returns, gross, given)
    found = _core.predict({**given, **source.settings}, core, source.panel, held)
    prediction = Prediction(found, source)
    _commands.warn(prediction.warnings)
    return prediction
