"""The comparisons of layers: who takes part, and what the problem is."""

from __future__ import annotations

from .layers import PEERS
from .limited_layers import LIMITED_PEERS
from .limited_problem import LimitedProblem
from .problem import Problem

KINDS = {"plain": (PEERS, Problem.load), "limited": (LIMITED_PEERS, LimitedProblem.load)}
