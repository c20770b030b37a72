"""sharpen.doctor: what is wrong with a panel."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _commands, _core, _panels, _settings

_COLUMNS = (
    "rule suspect ticker date last_date size ratio may_be_real question done how decided "
    "modes.report modes.adjust modes.missing modes.halt modes.drop-asset modes.drop-day modes.error"
).split()


@_settings.documented("doctor")
def doctor(
    prices: Any = None, *, returns: Any = None, gross: bool = False, **settings: Any
) -> Any:
    """What is wrong with a panel, and what each way of cleaning would do about it: gaps, splits,
    misprints, frozen prices, holidays.

    ``prices`` (or ``returns``, with ``gross=True`` of 1 + r) is a panel as for ``solve``. A
    DataFrame with a row for each finding, by the keys of ``sharpen doctor --json``;
    ``modes.adjust`` is what ``on_suspect="adjust"`` would do, and ``done`` what was done. Its
    ``attrs`` hold the other keys: ``assets``, ``rows``, ``missing_cells``, ``cleaned`` and so on;
    ``summary`` counts by rule and asset, and says what each ``on_suspect`` would leave and which
    dates keep most names; ``findings_left_out`` says how many more there are of a rule with more
    than 1,000 findings.

    ``decide="decisions.toml"`` writes a file that proposes a decision about each; every function
    that takes prices takes the file as ``decisions="decisions.toml"``.
    """
    pandas = _panels.need_pandas("doctor")
    given = _commands.texts("doctor", settings)
    source = _panels.source("doctor", prices, returns, gross, given)
    text = _core.doctor({**given, **source.settings}, source.panel)
    found = _commands.figures(text)
    _commands.warn([_core.in_python_words(told) for told in json.loads(text)["warnings"]])
    frame = pandas.json_normalize(found.pop("findings"))
    frame = frame.reindex(columns=[*_COLUMNS, *(c for c in frame if c not in _COLUMNS)])
    for column in ("date", "last_date"):
        frame[column] = source.index(list(frame[column]))
    labels = list(source.names([name for name in frame["ticker"] if not pandas.isna(name)]))
    tickers = np.empty(len(frame), dtype=object)
    for i, name in enumerate(frame["ticker"]):
        tickers[i] = None if pandas.isna(name) else labels.pop(0)
    frame["ticker"] = pandas.Series(tickers, index=frame.index, dtype=object)  # None stays None
    frame.attrs.update(found)
    return frame
