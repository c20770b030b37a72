"""Risk models for sharpen.torch: made once, indexed by a batch, carried to other processes."""

from __future__ import annotations

import time
import warnings
from typing import Any, Optional, Sequence

import numpy as np
import torch
from torch import Tensor

from . import _core, _data, _progress, _threads
from ._core import InputError
from ._solve import SharpenWarning
from ._torch_input import (
    differentiable,
    number,
    parts_of,
    unlabelled,
    wants_gradient,
    whole,
    whole_numbers,
)

_DATA = ("returns", "ends", "Sigmas")  # of a model's arguments; the others are settings
_LAYERS = 8  # set up at the same time on one model


class _Model:
    """A risk model, what it was made from, and the layers that were used on it last. ``Sigma`` is
    the tensor of its covariances, if the weights are to be differentiated in it."""

    def __init__(
        self,
        maker: str,
        arguments: dict[str, Any],
        progress: Optional[bool] = False,
        Sigma: Optional[Tensor] = None,
    ) -> None:
        self.maker = maker
        self.arguments = arguments
        self.Sigma = Sigma
        self.version = None if Sigma is None else Sigma._version
        with _progress.bar(progress) as report:
            self.core: _core.RiskModel = getattr(_core, maker)(
                **arguments,
                threads=_threads.get_threads(),
                report=_later(report) if progress is None else report,
            )
        self.layers: dict[Any, _core.Layer] = {}  # the one used last at the end
        self.latest: Any = None

    def __reduce__(self) -> Any:
        self.check_portable()
        return _Model, (self.maker, self.arguments)

    def check_portable(self) -> None:
        if self.Sigma is not None:
            raise InputError(
                "a Risk whose Sigma requires a gradient cannot be pickled: the gradient would be "
                "lost; make it from Sigma.detach(), or where it is used"
            )

    def differentiable(self) -> Optional[Tensor]:
        """What the gradient goes back to, if to anything but the signal."""
        if self.Sigma is not None and self.Sigma._version != self.version:
            raise InputError(
                "risk: its Sigma was changed in place; make the Risk again from what it is now"
            )
        return self.Sigma

    def layer(
        self, key: Any, settings: dict[str, str], assets: list[str], threads: int
    ) -> _core.Layer:
        """Every layer keeps the memory of its batches, so that only a few are kept. Several
        threads may call: at worst they set up the same layer twice."""
        found = self.layers.get(key)
        if found is None:
            found = _core.Layer(self.core, settings, assets, threads)
        elif key == self.latest:
            return found
        self.layers.pop(key, None)
        self.layers[key] = found
        self.latest = key
        for old in list(self.layers)[:-_LAYERS]:
            self.layers.pop(old, None)
        return found

    def part(self, samples: Any) -> dict[str, Any]:
        """What a model of these samples alone is made from: their covariances, or the rows of
        their windows and those after them. It has the same bits."""
        out = dict(self.arguments)
        if "Sigmas" in out:
            out["Sigmas"] = out["Sigmas"][samples]
            return out
        returns, lookback, stops = out["returns"], out["lookback"], out["ends"][samples]
        wanted = np.zeros(len(returns) + 1, dtype=bool)
        for stop in stops:
            wanted[stop - lookback : stop + 1] = True
        kept = np.flatnonzero(wanted[:-1])
        out["returns"] = returns[kept]
        out["ends"] = np.searchsorted(kept, stops - lookback).astype(np.int64) + lookback
        return out


class Risk:
    """Covariances for a batch: one sample per row, factored once and shared by every part of it.

    ``risk[idx]`` takes an integer, a slice, a list, an array or a tensor of integers or booleans,
    and gives the samples in that order without factoring anything again. Picklable: pickling
    carries the returns or covariances of the samples, and unpickling factors them again, to the
    same bits. A data set should therefore return the number i of a sample, and the loop take
    ``risk[i]``; one that returns ``risk[i]`` itself works with a DataLoader, too.
    """

    def __init__(self, model: _Model, index: Tensor) -> None:
        """Use ``from_windows`` or ``from_covariance``."""
        self._model = model
        self._index = index  # (B), int64, C order, on the CPU: the samples of the model
        self.n: int = model.core.n

    @classmethod
    def from_windows(
        cls,
        returns: Any,
        lookback: int,
        *,
        shrinkage: float = 0.10,
        form: str = "auto",
        score: Optional[str] = None,
        ends: Optional[Any] = None,
        progress: Optional[bool] = None,
    ) -> "Risk":
        """One sample for each row of ``returns`` (T, n) that has ``lookback`` rows before it.

        Sample i is the shrunk covariance of rows i to i + lookback - 1, and belongs to the
        decision whose result is row i + lookback: ``targets[i]``, which it has not seen. There
        are T - lookback samples. ``ends`` asks for other windows: sample i then ends before row
        ``ends[i]``; ``ends=[T]`` is the window for the next, unknown row.

        ``score`` prepares for one score of the layer only, ``"symmetric"`` or ``"cholesky"``;
        both by default. ``progress``: a bar, as for ``sharpen.train``; None shows it once factoring
        has taken a while. Ctrl-C stops it between two samples.
        """
        if wants_gradient(returns):
            raise InputError(
                "returns requires a gradient, and windows have none: give returns.detach(), or "
                "covariances computed by PyTorch to Risk.from_covariance"
            )
        cells = np.array(_data.table(returns, "returns").values)  # may change under our feet
        rows = cells.shape[0]
        length = whole("lookback", lookback)
        if length < 2:
            raise InputError(f"lookback = {length} is outside [2, inf): a covariance needs 2 rows")
        bad = np.argwhere(~np.isfinite(cells))
        if len(bad):
            row, column = (int(i) for i in bad[0])
            raise InputError(
                f"returns[{row}, {column}] is {cells[row, column]}; give finite numbers"
            )
        try:
            _core.check_returns(cells)
        except InputError as error:
            what = str(error).partition(";")[0]
            raise InputError(f"{what}; give simple returns, p[1:] / p[:-1] - 1") from None
        if ends is None:
            if rows <= length:
                raise InputError(
                    f"returns has {rows} rows; a window of lookback = {length} and the row after "
                    f"it need {length + 1}: give more rows, a shorter lookback, or ends=[{rows}] "
                    "for a window without the row after it"
                )
            stops = np.arange(length, rows, dtype=np.int64)
        else:
            stops = whole_numbers(ends, "ends")
            wrong = stops[(stops < length) | (stops > rows)]
            if len(wrong):
                raise InputError(f"ends: {wrong[0]} is outside [{length}, {rows}]")
        lower, root = parts_of(score)
        arguments = dict(
            returns=cells,
            lookback=length,
            ends=stops,
            shrinkage=number("shrinkage", shrinkage),
            form=form,
            lower=lower,
            root=root,
        )
        return cls(_Model("risk_from_windows", arguments, progress), _count(len(stops)))

    @classmethod
    def from_covariance(
        cls,
        Sigma: Any,
        *,
        shrinkage: float = 0.0,
        score: Optional[str] = None,
        progress: Optional[bool] = None,
    ) -> "Risk":
        """Samples from covariances (n, n) or (B, n, n), shrunk like a window's if asked for.

        An (n, n) that is no covariance raises; one among (B, n, n) is a sample of status
        ``invalid_input``, whose weights are NaN, and a ``SharpenWarning`` that names it.

        A tensor that requires a gradient gets one from the weights of a ``SparseTangent``, in the
        symmetric part that alone counts here: dL/dSigma is symmetric, and so is what an entry on
        one side of the diagonal gets. Jitter counts as a constant.
        """
        wanted = differentiable(Sigma)
        cells = _data.array(unlabelled(Sigma), "Sigma")
        each = cells.ndim == 3
        if cells.ndim == 2:
            cells = cells[None]
        cells = np.array(_data.floats(cells, 3, "Sigma"))
        if cells.shape[1] != cells.shape[2] or cells.shape[1] == 0 or cells.shape[0] == 0:
            raise InputError(f"Sigma has shape {np.shape(Sigma)}; give (n, n) or (B, n, n)")
        lower, root = parts_of(score)
        arguments = {
            "Sigmas": cells,
            "shrinkage": number("shrinkage", shrinkage),
            "lower": lower,
            "root": root,
            "each": each,
        }
        try:
            model = _Model("risk_from_covariances", arguments, progress, wanted)
        except InputError as error:
            message = str(error)
            raise InputError(
                message if message.startswith("shrinkage") else f"Sigma: {message}"
            ) from None
        refused = model.core.refused
        if refused:
            cells[list(refused)] = 0.0  # no covariance either, and known to be none
            first = min(refused)
            warnings.warn(
                f"Sigma[{first}]: {refused[first]}. {len(refused)} of {len(cells)} samples have "
                "status invalid_input",
                SharpenWarning,
                stacklevel=2,
            )
        return cls(model, _count(len(cells)))

    @staticmethod
    def collate(parts: Sequence["Risk"]) -> "Risk":
        """One Risk with the samples of all ``parts``, in their order: for a ``collate_fn`` of
        one's own; PyTorch's default one does it by itself.

        Nothing is factored again where all are parts of one Risk. Others must be made alike.
        """
        if not parts or not all(isinstance(part, Risk) for part in parts):
            raise TypeError("Risk.collate: give one Risk or more, and nothing else")
        model = parts[0]._model
        if all(part._model is model for part in parts):
            return Risk(model, torch.cat([part._index for part in parts]))
        return _joined(parts)

    def __reduce__(self) -> Any:
        self._model.check_portable()
        index = self._index.numpy()
        used, positions = np.unique(index, return_inverse=True)
        if len(used) == self._model.core.samples:
            return _restored, (self._model, index)
        if len(used) == 0:
            used = np.zeros(1, dtype=np.int64)  # a model has samples, if nobody asks for them
        return _restored_part, (self._model.maker, self._model.part(used), positions)

    def __copy__(self) -> "Risk":
        return Risk(self._model, self._index)

    def __deepcopy__(self, memo: Any) -> "Risk":
        return Risk(self._model, self._index)  # nothing in it ever changes

    def __len__(self) -> int:
        return int(self._index.shape[0])

    def __getitem__(self, index: Any) -> "Risk":
        if isinstance(index, Risk):
            raise TypeError("risk cannot be indexed by a Risk")
        return Risk(self._model, self._picked(index))

    def _picked(self, index: Any) -> Tensor:
        size = len(self)
        if isinstance(index, Tensor):
            if index.device.type != "cpu":
                raise InputError(f"risk: the index is on device {index.device}; give index.cpu()")
            if index.dtype == torch.bool or not index.dtype.is_floating_point:
                picked = index
            else:
                raise TypeError(f"risk: an index of dtype {index.dtype}; give whole numbers")
        elif isinstance(index, slice):
            return self._index[torch.from_numpy(np.arange(size, dtype=np.int64)[index].copy())]
        elif isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            picked = torch.tensor([int(index)], device="cpu")
        else:
            cells = np.asarray(index)
            if cells.size == 0:
                return self._index[:0]
            if cells.dtype.kind not in "iub":
                raise TypeError(f"risk: an index of type {type(index).__name__}")
            picked = torch.from_numpy(np.array(cells if cells.dtype == bool else cells.astype(
                np.int64)))
        if picked.dtype == torch.bool:
            if picked.shape != (size,):
                raise IndexError(f"risk: a mask of shape {tuple(picked.shape)} for {size} samples")
            return self._index[picked]
        picked = picked.reshape(-1).to(torch.int64)
        if len(picked) and (int(picked.min()) < -size or int(picked.max()) >= size):
            raise IndexError(f"risk: an index is outside its {size} samples")
        return self._index[picked]

    @property
    def targets(self) -> Tensor:
        """(B, n) float64: the returns of the row after each window. Rows that are not known yet
        are NaN. Only for windows."""
        data, ends = self._of_windows("targets")
        out = np.full((len(ends), self.n), np.nan)
        known = ends < len(data)
        out[known] = data[ends[known]]
        return torch.from_numpy(out)

    @property
    def windows(self) -> Tensor:
        """(B, lookback, n) float64: the returns each sample was made from. Only for windows."""
        data, ends = self._of_windows("windows")
        lookback = self._model.arguments["lookback"]
        return torch.from_numpy(data[(ends - lookback)[:, None] + np.arange(lookback)])

    def _of_windows(self, what: str) -> tuple[Any, Any]:
        if "returns" not in self._model.arguments:
            raise AttributeError(f"{what}: this Risk comes from covariances, not from windows")
        arguments = self._model.arguments
        return arguments["returns"], arguments["ends"][self._index.numpy()]

    @property
    def form(self) -> str:
        """dense or low-rank."""
        return self._model.core.form

    @property
    def statuses(self) -> list[str]:
        """(B): ok, or invalid_input where a covariance could not be formed."""
        every = self._model.core.statuses
        return [every[i] for i in self._index.tolist()]

    def __repr__(self) -> str:
        return f"<sharpen.torch.Risk: {len(self)} samples of {self.n} assets, {self.form}>"


Risk.__module__ = "sharpen.torch"  # where users find it


def _restored(model: _Model, index: Any) -> Risk:
    return Risk(model, torch.from_numpy(np.array(index, dtype=np.int64)))


def _restored_part(maker: str, arguments: dict[str, Any], index: Any) -> Risk:
    return _restored(_Model(maker, arguments), index)


def _joined(parts: Sequence[Risk]) -> Risk:
    """Samples of several models in one of their own."""
    kinds = [
        {"n": part.n, "maker": part._model.maker}
        | {k: v for k, v in part._model.arguments.items() if k not in (*_DATA, "each")}
        for part in parts
    ]
    for i, kind in enumerate(kinds):
        for name, value in kind.items():
            if value != kinds[0].get(name):
                raise InputError(
                    f"risk: samples 0 and {i} cannot be in one batch: they differ in {name}, "
                    f"{kinds[0].get(name)} and {value}"
                )
    found = [part._model.part(part._index.numpy()) for part in parts]
    index = _count(sum(len(part) for part in parts))
    if "Sigmas" in found[0]:
        Sigmas = np.concatenate([one["Sigmas"] for one in found])
        arguments = {**found[0], "Sigmas": Sigmas}
        return Risk(_Model(parts[0]._model.maker, arguments, Sigma=_joined_Sigma(parts)), index)
    # A row that is unknown between two parts: it is what follows a part's last window.
    unknown = np.full((1, parts[0].n), np.nan)
    returns = np.concatenate([x for one in found for x in (one["returns"], unknown)])
    sizes = [len(one["returns"]) + 1 for one in found]
    starts = np.cumsum([0, *sizes[:-1]])
    ends = np.concatenate([one["ends"] + start for one, start in zip(found, starts)])
    return Risk(
        _Model(parts[0]._model.maker, {**found[0], "returns": returns, "ends": ends}), index
    )


def _joined_Sigma(parts: Sequence[Risk]) -> Optional[Tensor]:
    """The covariances of all samples, with the gradients of those that have one."""
    if all(part._model.Sigma is None for part in parts):
        return None
    every = []
    for part in parts:
        Sigma = part._model.differentiable()
        if Sigma is None:
            Sigma = torch.from_numpy(part._model.arguments["Sigmas"])
        every.append(Sigma.reshape(-1, part.n, part.n)[part._index])
    return torch.cat(every)


def _collated(batch: Any, *, collate_fn_map: Any = None) -> Risk:
    return Risk.collate(list(batch))


try:  # PyTorch's own way to teach its loaders a type
    from torch.utils.data._utils.collate import default_collate_fn_map
except ImportError:
    pass
else:
    default_collate_fn_map[Risk] = _collated


def _later(report: Optional[_progress.Report]) -> Optional[_progress.Report]:
    """Nothing to see where there is nothing to wait for."""
    start = time.monotonic()

    def told(stage: str, done: float, total: float, note: str) -> None:
        if report is not None and time.monotonic() - start > 0.5:
            report(stage, done, total, note)

    return None if report is None else told


def _count(size: int) -> Tensor:
    """0, 1, ... on the CPU, whatever device PyTorch has been told to make tensors on."""
    return torch.arange(size, device="cpu")
