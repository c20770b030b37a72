"""What `sharpen` has to say about an input it has nevertheless used."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Iterable

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class SharpenWarning(UserWarning):
    """What `sharpen` has to say about an input it has nevertheless used."""


def warn(messages: Iterable[str]) -> None:
    """Told at the caller's line: the first one that is not of this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(
        _PACKAGE
    ):
        level, frame = level + 1, frame.f_back
    for message in messages:
        warnings.warn(message, SharpenWarning, stacklevel=level)
