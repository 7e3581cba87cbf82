"""Probability laws: describe, fit and sample."""

from __future__ import annotations

from ._atoms import Atomic
from .calls import Call, parse_call, spell
from .constant import Constant
from .discrete import Discrete
from .empirical import Empirical
from .erlang import Erlang
from .exponential import Exponential
from .fit import fit_two_moments
from .gamma import Gamma
from .hyperexponential import Hyperexponential
from .law import Law
from .lognormal import Lognormal
from .map_process import MarkovianArrivals
from .max_of import MaxOf
from .mixture import Mixture
from .pareto import Pareto
from .parse import LAW_FORMS, parse_law
from .phase_type import Coxian, PhaseType
from .rounded import Rounded
from .shifted import Shifted
from .truncated import Truncated
from .uniform import Uniform
from .weibull import Weibull

__all__ = [
    "LAW_FORMS",
    "Atomic",
    "Call",
    "Constant",
    "Coxian",
    "Discrete",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "Hyperexponential",
    "Law",
    "Lognormal",
    "MarkovianArrivals",
    "MaxOf",
    "Mixture",
    "Pareto",
    "PhaseType",
    "Rounded",
    "Shifted",
    "Truncated",
    "Uniform",
    "Weibull",
    "fit_two_moments",
    "parse_call",
    "parse_law",
    "spell",
]
