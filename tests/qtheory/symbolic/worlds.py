"""Queues in which everything that a derivation speaks of is known: values of letters and functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from qtheory.queues.batch import UnlimitedBatchQueue

__all__ = ["WORLDS", "World"]

LAM, RHO = sp.Rational(3, 5), sp.Rational(3, 5)  # one server of rate 1, so the load is the rate
SERVICE = {"mean_service_s": 1, "service_second_s2": 2, "service_third_s3": 6}
POINTS = {"n": 1, "j": 2, "x": sp.Rational(7, 10), "s": sp.Rational(1, 1000), "z": sp.Rational(1, 2), "b": 7}
AWAY = 2  # vacations are exponential with this rate


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Values of parameters by name, of other letters by glyph, and functions by name."""

    values: dict[str, Any]
    letters: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)


def _sum_to(top: int, load: float) -> float:
    return sum(load**k / math.factorial(k) for k in range(top + 1))


def _many(n: int) -> float:
    """P(n present) in M/M/3 with load 2."""
    empty = 1 / (_sum_to(2, 2.0) + 2.0**3 / 6 / (1 - 2 / 3))
    return empty * 2.0 ** min(n, 3) / math.factorial(min(n, 3)) * (2 / 3) ** max(n - 3, 0)


def _present(u: Any) -> Any:
    """Two customers: one there from 0 to 2, one from 1 to 3."""
    return sp.Piecewise((1, u < 1), (2, u < 2), (1, u < 3), (0, True))


def _virtual(x: Any) -> Any:
    """Density of the wait in M/M/1 with exponential vacations."""
    y = sp.Symbol("y_virtual", positive=True)
    late = sp.integrate(LAM * (1 - RHO) * sp.exp(-(1 - LAM) * (x - y)) * AWAY * sp.exp(-AWAY * y), (y, 0, x))
    return (1 - RHO) * AWAY * sp.exp(-AWAY * x) + late


def _wait(s: Any) -> Any:
    return (1 - RHO) * (1 + s) / (1 - LAM + s)


def _busy(s: Any) -> Any:
    total = LAM + 1 + s
    return (total - sp.sqrt(total**2 - 4 * LAM)) / (2 * LAM)


def _batch() -> World:
    queue = UnlimitedBatchQueue(rate_rps=0.6, base_s=1.5, slope_s=1.0)
    answer = queue.solve()
    mean = answer.mean_batch_size
    came = sum(answer.batch_pmf(b) * math.exp(-0.6 * (1.5 + b)) for b in range(1, 200))
    seen = {"E[B]": mean, "E[B²]": answer.mean_batch_seen * mean, "M": answer.mean_batch_seen, "q": came}
    return World(
        values={"rate_rps": 0.6, "base_s": 1.5, "slope_s": 1.0},
        letters=seen | {"T": answer.mean_response_s},
    )


def _steps_law(n: int) -> Any:
    """Negative binomial: rate 3/5, one step in the mean, steps of 1/2 + n seconds, so the exponent is 3/2."""
    return sp.rf(sp.Rational(3, 2), n) / sp.factorial(n) * RHO**n * (1 - RHO) ** sp.Rational(3, 2)


def _exponential(y: Any) -> Any:
    return sp.exp(-y)


EXPONENTIAL_LST = {"S": lambda s: 1 / (1 + s)}
MG1 = World(
    values={"rate_rps": LAM, **SERVICE},
    letters={"p0": 1 - RHO},
    functions=EXPONENTIAL_LST
    | {"f": lambda x: LAM * (1 - RHO) * sp.exp(-(1 - LAM) * x), "G": _exponential, "v": _wait},
)
MM1 = {"rate_rps": LAM, "service_rate_rps": 1}
MM3 = World(values={"rate_rps": 2, "service_rate_rps": 1, "n_servers": 3}, functions={"p": _many})
SPACE = sum(RHO**k for k in range(5))
MM1K = World(values=MM1 | {"capacity": 4}, functions={"p": lambda n: RHO**n / SPACE})
IDLE = (1 - RHO) / LAM
BUSY = World(values={"rate_rps": LAM, **SERVICE}, letters={"E[B]": sp.Rational(5, 2)})
CLASSES = {"urgent_rate_rps": 0.2, "urgent_mean_s": 0.5, "urgent_second_s2": 0.7}
CLASSES |= {"other_rate_rps": 0.3, "other_mean_s": 2.0, "other_second_s2": 9.0}
COBHAM = World(values=CLASSES, letters={"W1": 1.42 / 0.9})
FUNCTIONS_BUSY = EXPONENTIAL_LST | {"b": _busy}
BUSY_WORLD = World(values=BUSY.values, letters=BUSY.letters, functions=FUNCTIONS_BUSY)

WORLDS: dict[str, World] = {
    "littles_law": World(
        values={"rate_rps": 0.5, "mean_response_s": 2},
        letters={"h": 4, "j": 2},
        functions={"N": _present, "a": lambda i: i - 1, "d": lambda i: i + 1},
    ),
    "mm1_number": World(values=MM1, letters={"p0": 1 - RHO}, functions={"p": lambda n: (1 - RHO) * RHO**n}),
    "mm1_wait": World(values=MM1, functions={"w": _wait}),
    "mg1_wait": MG1,
    "mg1_wait_second_moment": MG1,
    "md1_wait": World(
        values={"rate_rps": LAM, "service_s": 1},
        letters={"p0": 1 - RHO},
        functions={
            "f": lambda x: LAM * (1 - RHO) * sp.exp(LAM * x),  # below one service
            "G": lambda x: sp.Integer(1),
            "S": lambda s: sp.exp(-s),
            "v": lambda s: (1 - RHO) * s / (s - LAM + LAM * sp.exp(-s)),
        },
    ),
    "vacations_wait": World(
        values={"rate_rps": LAM, **SERVICE, "mean_vacation_s": 0.5, "vacation_second_s2": 0.5},
        letters={"h": (1 - RHO) * AWAY},
        functions=EXPONENTIAL_LST
        | {
            "f": _virtual,
            "G": _exponential,
            "H": lambda x: sp.exp(-AWAY * x),
            "V": lambda s: AWAY / (AWAY + s),
            "w": lambda s: _wait(s) * AWAY / (AWAY + s),
        },
    ),
    "busy_period_mean": BUSY_WORLD,
    "busy_period_second_moment": BUSY_WORLD,
    "kingman_bound": World(
        values={"rate_rps": LAM, "scv_interval": 1, "mean_service_s": 1, "scv_service": 1},
        letters={
            "w": 1,
            "t": sp.Rational(-3, 2),
            "w_next": 0,
            "i": sp.Rational(1, 2),
            "E[i]": IDLE,
            "E[i²]": 2 * IDLE / LAM,
            "Var[i]": 2 * IDLE / LAM - IDLE**2,
            "E[t²]": 1 / LAM**2 + 1 + IDLE**2,
            "W": RHO / (1 - RHO),
        },
    ),
    "erlang_b": World(
        values={"rate_rps": 2, "service_rate_rps": 1, "n_servers": 3},
        letters={"B_less": 2.0 / _sum_to(2, 2.0)},
        functions={"p": lambda n: 2.0 ** int(n) / math.factorial(int(n)) / _sum_to(3, 2.0)},
    ),
    "erlang_c": MM3,
    "mmc_wait": World(values=MM3.values, letters={"Q": 8 / 9}, functions=MM3.functions),
    "mm1k_block": MM1K,
    "mm1k_number": MM1K,
    "cobham_urgent": COBHAM,
    "cobham_other": COBHAM,
    "processor_sharing": World(
        values={"rate_rps": LAM, "mean_service_s": 1, "size_s": POINTS["x"]},
        letters={"k": 1 / (1 - RHO)},
        functions={"g": lambda y: 1 / (1 - RHO), "G": _exponential},
    ),
    "batch_capacity": World(
        values={"base_s": 1.5, "slope_s": 0.5}, letters={"λ": 0.6, "b_next": 3.0 + math.exp(-3.0)}
    ),
    "batch_phi0": _batch(),
    "batch_phi1": _batch(),
    "step_server_capacity": World(
        values={"base_s": 1.5, "slope_s": 0.5, "mean_steps": 4, "max_running": 8},
        letters={"λ": 0.3},
        functions={"d": lambda n: n / (4 * (1.5 + 0.5 * n))},
    ),
    "step_server_number": World(
        values={"rate_rps": LAM, "mean_steps": 1, "base_s": sp.Rational(1, 2), "slope_s": 1},
        functions={"p": _steps_law, "P": lambda z: ((1 - RHO) / (1 - RHO * z)) ** sp.Rational(3, 2)},
    ),
}
