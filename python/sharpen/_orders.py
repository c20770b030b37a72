"""sharpen.orders: from what is held to today's orders."""

from __future__ import annotations

import csv
import io
import os
from typing import Any, Dict, List, Optional, Union

from . import _commands, _core, _data, _panels, _settings
from ._core import InputError
from ._learning import Model, PathLike


class Orders:
    """What to send today, and what is held after it (``docs/orders.md``)."""

    def __init__(self, core: _core.Orders, source: _panels.Source) -> None:
        self._columns = source.table.columns if source.table is not None else None
        self.figures: Dict[str, Any] = _commands.figures(core.json())
        self.warnings: List[str] = core.warnings
        self._orders_csv: str = core.orders_csv
        self._positions_csv: str = core.positions_csv

    @property
    def orders(self) -> Any:
        """A DataFrame with a row for each order: side, shares, price, value, cost, reason."""
        return self._frame("orders", ["side", "value", "cost", "from", "to", "gain", "reason"])

    @property
    def not_traded(self) -> Any:
        """A DataFrame of names that are held fast, or short of what was wanted, and why."""
        return self._frame("not_traded", ["from", "wanted", "gain", "cost", "reason"])

    @property
    def positions(self) -> Any:
        """A DataFrame of what is held after the orders, with a row ``cash``: what ``positions=`` of
        the next day takes. Its ``date`` says from when on names drift and cash earns."""
        pandas = _panels.need_pandas("positions")
        frame = pandas.read_csv(
            io.StringIO(self._positions_csv), dtype={"asset": str}, keep_default_na=False,
            na_values={"cost": [""], "date": [""]},
        )
        names = list(frame["asset"])
        labels = [*_data.relabelled(names[:-1], self._columns), names[-1]]
        return frame.drop(columns=["asset"]).set_axis(pandas.Index(labels, name="asset"))

    def _frame(self, key: str, columns: List[str]) -> Any:
        return _panels.frame_by_asset(self.figures, key, columns, self._columns)

    def orders_csv(self) -> str:
        """The text of ``orders.csv``."""
        return self._orders_csv

    def positions_csv(self) -> str:
        """The text of ``positions.csv``."""
        return self._positions_csv

    @property
    def date(self) -> str:
        """The day of the decision."""
        return str(self.figures["date"])

    @property
    def status(self) -> str:
        return str(self.figures["status"])

    @property
    def cash(self) -> float:
        """After the orders and their costs."""
        return float(self.figures["cash"])

    def __repr__(self) -> str:
        return (
            f"<sharpen.Orders after {self.date}: {len(self.figures['orders'])} orders, "
            f"{self.status}, cash {self.cash:.2f}>"
        )


@_settings.documented("predict")
def orders(
    prices: Any = None,
    *,
    returns: Any = None,
    gross: bool = False,
    positions: Any = None,
    continue_from: Optional[PathLike] = None,
    model: Union[Model, PathLike, None] = None,
    signal: Any = None,
    **settings: Any,
) -> Orders:
    """Today's orders, from what is held and the prices up to today.

    ``positions`` is a file ``asset,shares`` or ``asset,weight`` with a row ``cash``, or a dict,
    Series or DataFrame by asset with ``"cash"`` among them: shares, or weights where the Series or
    the column is called ``weight``; a column ``date`` says which day they are of.
    ``continue_from`` is the folder of a backtest, whose account and settings are gone on with.
    Without either everything is cash. ``framework`` says who decides (``"rolling"``,
    ``"historic"``, ``"signal"`` with ``signal``), or a ``model`` does. The other keyword arguments
    are the settings of ``sharpen predict`` with underscores: ``k``, ``capital``, ``lot``,
    ``min_order``, ``out_dir``, ``asof`` and so on.
    """
    given = _commands.texts("orders", settings, "predict")
    core: Optional[_core.Model] = None
    if isinstance(model, Model):
        core = model._core
    elif model is not None:
        given["model"] = _panels.path_text(model, "model")
    if signal is not None and "framework" not in given:
        given["framework"] = "signal"
    if continue_from is not None:
        given["continue"] = _panels.path_text(continue_from, "continue_from")
    held: Optional[str] = None
    if isinstance(positions, (str, os.PathLike)):
        given["positions"] = os.fspath(positions)
    elif positions is not None:
        held = _positions_text(positions)
    source = _panels.source("predict", prices, returns, gross, given)
    predictions: Optional[_core.Panel] = None
    if isinstance(signal, (str, os.PathLike)):
        given["signal"] = os.fspath(signal)
    elif signal is not None:
        predictions = _panels.matching(signal, "signal", source)
    found = _core.orders({**given, **source.settings}, core, source.panel, predictions, held)
    answer = Orders(found, source)
    _commands.warn(answer.warnings)
    return answer


def _positions_text(positions: Any) -> str:
    """As a file would have them."""
    if getattr(positions, "ndim", 1) == 2 and hasattr(positions, "to_csv"):
        named = "asset" in positions.columns  # as read from a file
        text: str = positions.to_csv(index=not named, index_label=None if named else "asset")
        return text
    kind = "weight" if getattr(positions, "name", None) == "weight" else "shares"
    try:
        amounts = _data.weights_by_asset(positions)
    except (InputError, TypeError) as error:
        raise type(error)(str(error).replace("previous", "positions")) from None
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("asset", kind), *amounts])
    return out.getvalue()
