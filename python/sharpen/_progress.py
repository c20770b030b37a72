"""How far long work is: a bar of tqdm's, in notebooks one of theirs."""

from __future__ import annotations

from typing import Any, Callable, Optional

Report = Callable[[str, float, float, str], None]


class Bar:
    """Called by the library with (stage, done, total, note); draws nothing before there is
    something to draw."""

    def __init__(self, make: Any, always: bool = False) -> None:
        self._make = make
        self._hidden = False if always else None  # None: shown on terminals and in notebooks
        self._bar: Any = None
        self._stage = ""

    def __call__(self, stage: str, done: float, total: float, note: str) -> None:
        if total <= 0.0:
            return
        if self._bar is None or stage != self._stage:
            self.close()
            layout = "{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}{postfix}]"
            self._bar = self._make(
                total=total, desc=stage, bar_format=layout, leave=False, disable=self._hidden
            )
            self._stage = stage
        self._bar.total = total
        if note:
            self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> Optional[Report]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _NoBar(Bar):
    def __init__(self) -> None:
        super().__init__(None)

    def __enter__(self) -> Optional[Report]:
        return None


def bar(progress: Optional[bool]) -> Bar:
    """True: a bar, which needs tqdm; None: a bar where tqdm is installed, on terminals and in
    notebooks; False: none."""
    if progress is not None and not isinstance(progress, bool):
        raise TypeError(f"progress is of type {type(progress).__name__}; give True, False or None")
    if progress is False:
        return _NoBar()
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if progress:
            raise ImportError("progress=True needs tqdm: pip install 'sharpen[progress]'") from None
        return _NoBar()
    return Bar(tqdm, progress is True)
