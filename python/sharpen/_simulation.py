"""sharpen.simulate: a market whose expected returns are known."""

from __future__ import annotations

from typing import Any

from . import _commands, _core, _panels, _settings


@_settings.documented("simulate")
def simulate(*, expected: bool = False, **settings: Any) -> Any:
    """Daily prices of a simulated market, a DataFrame of dates by assets.

    Keyword arguments are the settings of ``sharpen simulate``: ``assets``, ``days``, ``seed``,
    ``predictability``, ``signal_life``, ``factors``, ``start_date``. The same settings give the same
    prices on every machine, those that the command line writes.

    With ``expected=True`` a pair: the prices, and the expected return of every day and asset given
    the days before (a row less than the prices), which no real market tells.
    """
    pandas = _panels.need_pandas("simulate")
    given = _commands.texts("simulate", settings)
    expected = _panels.switch("expected", expected)
    dates, names, prices, means = _core.simulate(given)
    index = pandas.DatetimeIndex(pandas.to_datetime(dates), name="date")
    frame = pandas.DataFrame(prices, index=index, columns=names)
    if not expected:
        return frame
    return frame, pandas.DataFrame(means, index=index[1:], columns=names)
