"""A measured row by theory."""

from __future__ import annotations

from dataclasses import replace

from qtheory.basics.errors import ConfigError, ConvergenceError, UnstableError
from qtheory.predict import Prediction, predict, predict_closed_loop, predict_replicas
from qtheory.system.replica import ReplicaSpec
from qtheory.system.scenario import Scenario
from qtheory.system.workload import Workload
from qtheory.system.workload.from_scenario import workload_of

from .drain import drain_s
from .expected import gated
from .loads import scenario_of
from .measured import Row
from .served import Fitted, ServedRow
from .sweep import Sweep
from .warm import WarmPrefix, without

__all__ = ["predict_row"]

_NEAR = 0.98  # of the limit: above it a client with a cap is a closed loop


def predict_row(sweep: Sweep, row: Row, fitted: Fitted) -> ServedRow:
    """Approximation: what theory says of a row.

    An open load is a steady state below the limit; above it a closed loop if the client has a cap, else the
    fluid of a finite run. A warm prefix cache takes its whole blocks off each prompt; they are attended to
    all the same, as `WarmPrefix` has it.

    Parameters
    ----------
    sweep : Sweep
    row : Row
    fitted : Fitted
        What serves.

    Raises
    ------
    ServingError
        If theory has no answer (says why).

    Examples
    --------
    >>> from .manifest import SHIPPED, read_manifest
    >>> from .measured import read_rows
    >>> sweep = read_manifest(SHIPPED / "kubecon.toml")[0]
    >>> served = predict_row(sweep, read_rows(sweep)[2], Fitted())
    >>> round(served.throughput_rps, 2), served.tpot_s < 0.012
    (61.79, True)
    """
    scenario = scenario_of(sweep, row)
    spec = fitted.replica(scenario)
    cached = _cached_tokens(sweep, spec)
    scenario = without(scenario, cached)
    warm = WarmPrefix(device=spec.step_time, cached_tokens=cached) if cached else spec.step_time
    spec = replace(spec, prefix_cache=False, step_time=warm)
    workload = workload_of(replace(scenario, client_cap=0))
    spec = gated(spec, workload, n_requests=_at_once(row, scenario))
    if row.load == "closed_concurrency":
        said = _closed(scenario, spec, workload, row.in_flight or 1)
    else:
        said = _open(scenario, spec, workload)
    wait = said.p50_ttft_s if row.ttft_of == "p50" else said.mean_ttft_s
    return ServedRow(
        throughput_rps=_throughput(sweep, scenario, spec, workload, said),
        ttft_s=None if wait is None else wait + fitted.outside_s,
        tpot_s=_token_time(row, workload, said),
    )


def _cached_tokens(sweep: Sweep, spec: ReplicaSpec) -> int:
    """Tokens of each prompt that a warm cache has: whole blocks of the text that prompts share."""
    if sweep.cached_tokens or not spec.prefix_cache:
        return sweep.cached_tokens
    return sweep.shared_prefix_tokens // spec.block_tokens * spec.block_tokens


def _at_once(row: Row, scenario: Scenario) -> int | None:
    """Requests of a run that are all there at its start."""
    return scenario.requests if row.load == "offline" else None


def _closed(scenario: Scenario, spec: ReplicaSpec, workload: Workload, clients: int) -> Prediction:
    if scenario.replicas == 1:
        return predict_closed_loop(spec, workload, concurrency=clients)
    raise ConfigError(f"replicas: theory has no closed loop of {scenario.replicas} replicas")


def _open(scenario: Scenario, spec: ReplicaSpec, workload: Workload) -> Prediction:
    rate = scenario.rate_rps or workload.offered_rps
    if scenario.replicas > 1:
        return predict_replicas(
            spec, workload, n_replicas=scenario.replicas, router=scenario.router, rate_rps=rate
        )
    tier = "numeric"
    try:
        said = predict(spec, workload, rate_rps=rate, tier=tier)
    except ConvergenceError:
        tier, said = "closed", None
    except UnstableError:
        said = None
    if tier == "closed":
        try:
            said = predict(spec, workload, rate_rps=rate, tier=tier)
        except UnstableError:
            said = None
    if said is not None and (said.load_frac < _NEAR or not scenario.client_cap):
        return said
    if scenario.client_cap:
        return predict_closed_loop(spec, workload, concurrency=scenario.client_cap)
    return predict(spec, workload, rate_rps=rate, tier="closed", n_requests=scenario.requests)


def _throughput(
    sweep: Sweep, scenario: Scenario, spec: ReplicaSpec, workload: Workload, said: Prediction
) -> float:
    """Requests per second; of a finite run over the time until its last answer."""
    if said.in_flight is not None:
        return said.rate_rps
    if not sweep.ends or said.mean_e2e_s is None or said.mean_ttft_s is None:
        return min(said.rate_rps, said.limit_rps)
    n, decode_s = scenario.requests or 1, said.mean_e2e_s - said.mean_ttft_s
    if said.rate_rps < said.limit_rps:
        return n / (n / said.rate_rps + decode_s)
    limit = said.limit_rps
    return n / drain_s(
        workload.lengths, spec.step_time, n_requests=n, limit_rps=limit, in_flight=limit * decode_s
    )


def _token_time(row: Row, workload: Workload, said: Prediction) -> float | None:
    if row.tpot_of == "ratio":
        if said.mean_e2e_s is None or said.mean_ttft_s is None:
            return None
        outputs = workload.lengths.mean_output_tokens
        return float((said.mean_e2e_s - said.mean_ttft_s) / (outputs - 1))
    by_name = {
        "mean": said.mean_tpot_s,
        "p50": said.p50_tpot_s,
        "mean_itl": said.mean_itl_s,
        "p50_itl": said.p50_itl_s,
    }
    return by_name[row.tpot_of]
