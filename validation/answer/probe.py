"""Where to look: arrival rates around the place at which goodput falls, found by short runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from qtheory.basics.errors import ConfigError
from qtheory.system.scenario import Scenario

from .ask import sweep
from .point import build
from .study import Study

__all__ = ["find_rates"]

_GOOD_FRAC, _BAD_FRAC = 0.9, 0.5
_MOST_PROBES = 12
_N_RATES = 9
_FEWEST, _MOST = 50, 2000  # requests of a probe
_ALIKE_FRAC = 0.05  # goodput as good as at the smallest rates

Shares = Sequence[float]


def find_rates(
    scenario: Scenario, schedulers: Sequence[str], *, progress: Callable[[int, int], None] | None = None
) -> list[float]:
    """Nine equally spaced rates, from goodput above 0.9 with every scheduler to below 0.5 with every one.

    From the scenario's rate (the profile's, if it has none) the rate is doubled and halved, at most 12
    probes of one run of at most 2,000 requests each. If a scheduler is never above 0.9 the lowest rate is the
    largest one at which all are about as good as they get.

    Parameters
    ----------
    scenario : Scenario
    schedulers : sequence of str
    progress : callable, optional
        Called with the number of probes done and of those that may be needed.

    Returns
    -------
    list of float
        Requests per second, increasing.

    Raises
    ------
    ConfigError
        If goodput stays above 0.5, so that no rate is too high, or the load has no rate.

    Examples
    --------
    >>> rates = find_rates(Scenario(hardware="rtx3050", requests=50), ["chunked"])
    >>> len(rates), rates == find_rates(Scenario(hardware="rtx3050", requests=50), ["chunked"])
    (9, True)
    """
    workload = build(scenario, Study()).workload
    if workload.why_no_rate is not None:
        raise ConfigError(f"trace: {scenario.trace}: {workload.why_no_rate} to sweep")
    start_rps = workload.offered_rps
    seen: dict[float, Shares] = {}
    rate_rps: float | None = start_rps
    while rate_rps is not None and len(seen) < _MOST_PROBES:
        runs = sweep(_short(scenario, rate_rps), schedulers, [rate_rps], study=Study(n_replications=1))
        seen[rate_rps] = [run.result.goodput_frac for run in runs]
        if progress is not None:
            progress(len(seen), _MOST_PROBES)
        rate_rps = _next(seen)
    low, high = _bracket(seen)
    return [round(low + (high - low) * index / (_N_RATES - 1), 12) for index in range(_N_RATES)]


def _short(scenario: Scenario, rate_rps: float) -> Scenario:
    """The scenario with few enough requests; a trace is as long as it is."""
    if scenario.trace is not None:
        return scenario
    workload = build(replace(scenario, rate_rps=rate_rps), Study()).workload
    wanted = workload.n_requests or math.ceil(min(rate_rps * (workload.duration_s or 0.0), _MOST))
    return replace(
        scenario,
        duration_s=None,
        requests=min(wanted if workload.n_requests else max(wanted, _FEWEST), _MOST),
    )


def _next(seen: dict[float, Shares]) -> float | None:
    """The rate to try next, None if there is one that is low enough and one that is high enough."""
    if not any(max(shares) < _BAD_FRAC for shares in seen.values()):
        return 2 * max(seen)
    if not any(min(shares) > _GOOD_FRAC for shares in seen.values()):
        return min(seen) / 2
    return None


def _bracket(seen: dict[float, Shares]) -> tuple[float, float]:
    bad = [rate for rate, shares in seen.items() if max(shares) < _BAD_FRAC]
    if not bad:
        raise ConfigError(
            f"rates: none given, and goodput stays above {100 * _BAD_FRAC:g} % up to {max(seen):g} req/s "
            "with these limits; give --rates 2,4,8"
        )
    good = [rate for rate, shares in seen.items() if min(shares) > _GOOD_FRAC]
    if not good:
        best = [max(column) for column in zip(*seen.values(), strict=True)]
        good = [
            rate
            for rate, shares in seen.items()
            if all(share >= most - _ALIKE_FRAC for share, most in zip(shares, best, strict=True))
        ] or [min(seen)]
    low = max((rate for rate in good if rate < max(bad)), default=min(seen) / 2)
    return low, min(rate for rate in bad if rate > low)
