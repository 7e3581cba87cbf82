"""What the single-server models share: the stability check and the self-check of results."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.laws.constant import Constant
from qtheory.laws.law import Law

__all__ = ["all_atoms_of", "atoms_of", "check_little", "has_moment", "require_stable"]

Floats = NDArray[np.float64]
_ROUNDING = 4e-16  # of a product of two numbers


def atoms_of(law: Law) -> tuple[Floats, Floats] | None:
    """Values and probabilities of a law that is a list of atoms, else None."""
    atoms = getattr(law, "atoms", None)
    if not callable(atoms):
        return None
    values, probs = atoms()
    return np.asarray(values, dtype=float), np.asarray(probs, dtype=float)


def all_atoms_of(law: Law) -> tuple[Floats, Floats] | None:
    """The same, a constant being one atom."""
    return (np.array([law.mean]), np.ones(1)) if isinstance(law, Constant) else atoms_of(law)


def has_moment(law: Law, k: int) -> bool:
    """Whether E[X^k] is finite."""
    try:
        law.moment(k)
    except ConfigError:
        return False
    return True


def require_stable(
    rate_rps: float, work_s: float, *, way_out: str = "lower the rate or shorten the service"
) -> None:
    """Raise `UnstableError` unless the work of a second takes less than a second, rounding aside."""
    if rate_rps * work_s >= 1.0 - _ROUNDING:
        raise UnstableError(
            f"rate_rps={rate_rps:g} is not below {1 / work_s:g}, what the server can do "
            f"(load {rate_rps * work_s:g}); {way_out}"
        )


def check_little(rate_rps: float, mean_s: float, mean_number: float, *, rtol: float = 1e-7) -> None:
    """Raise `ConvergenceError` unless number = rate x time (Little's law) within ``rtol``."""
    wanted = rate_rps * mean_s
    if abs(wanted - mean_number) > rtol * max(wanted, mean_number) + 1e-300:
        raise ConvergenceError(
            f"Little's law is violated: {mean_number:.9g} present against {wanted:.9g} = rate x time; "
            "the numerical solution is off"
        )
