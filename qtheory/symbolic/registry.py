"""All derivations by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType

from qtheory.basics import checks

from .derivation import Derivation
from .proofs import (
    batch_capacity,
    batch_phi0,
    batch_phi1,
    busy_period_mean,
    busy_period_second_moment,
    cobham_other,
    cobham_urgent,
    erlang_b,
    erlang_c,
    kingman_bound,
    littles_law,
    md1_wait,
    mg1_wait,
    mg1_wait_second_moment,
    mm1_number,
    mm1_wait,
    mm1k_block,
    mm1k_number,
    mmc_wait,
    processor_sharing,
    step_server_capacity,
    step_server_number,
    vacations_wait,
)

__all__ = ["derivations", "derive"]

_MODULES: tuple[ModuleType, ...] = (
    littles_law,
    mm1_number,
    mm1_wait,
    mg1_wait,
    mg1_wait_second_moment,
    md1_wait,
    vacations_wait,
    busy_period_mean,
    busy_period_second_moment,
    kingman_bound,
    erlang_b,
    erlang_c,
    mmc_wait,
    mm1k_block,
    mm1k_number,
    cobham_urgent,
    cobham_other,
    processor_sharing,
    batch_capacity,
    batch_phi0,
    batch_phi1,
    step_server_capacity,
    step_server_number,
)
_DERIVATIONS: dict[str, Callable[[], Derivation]] = {
    module.__name__.rpartition(".")[2]: module.derivation for module in _MODULES
}


def derivations() -> tuple[str, ...]:
    """Names of all derivations, the simple ones first.

    Examples
    --------
    >>> derivations()[:3]
    ('littles_law', 'mm1_number', 'mm1_wait')
    """
    return tuple(_DERIVATIONS)


@cache
def derive(name: str) -> Derivation:
    """The derivation of this name, worked out once.

    Parameters
    ----------
    name : str
        One of `derivations`.

    Raises
    ------
    ConfigError
        If there is none of this name.

    Examples
    --------
    >>> print(derive("md1_wait").formula_text)
    W = D·ρ/(2·(1 - ρ))
    """
    checks.one_of("derivation", name, _DERIVATIONS)
    return _DERIVATIONS[name]()
