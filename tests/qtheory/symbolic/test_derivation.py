"""Expansions, elasticities and substitutions of derivations."""

from __future__ import annotations

import math

import pytest
import sympy as sp

from qtheory.basics.errors import ConfigError, UnstableError
from qtheory.queues.multi import erlang_c
from qtheory.symbolic import derivations, derive

VALUES: dict[str, float] = {
    "rate_rps": 0.3,
    "service_rate_rps": 0.9,
    "urgent_rate_rps": 0.2,
    "other_rate_rps": 0.15,
    "mean_service_s": 1.3,
    "service_second_s2": 2.9,
    "service_third_s3": 11.0,
    "service_s": 1.7,
    "mean_vacation_s": 0.4,
    "vacation_second_s2": 0.7,
    "urgent_mean_s": 0.8,
    "other_mean_s": 1.9,
    "urgent_second_s2": 1.1,
    "other_second_s2": 6.0,
    "n_servers": 3,
    "capacity": 4,
    "max_running": 6,
    "scv_interval": 0.6,
    "scv_service": 1.4,
    "base_s": 0.7,
    "slope_s": 1.1,
    "mean_steps": 1.6,
    "size_s": 0.9,
    "mean_response_s": 5.0,
}
# Named here: deriving takes seconds, which each process of the tests would spend before its first test.
WITHOUT_LOAD = ("littles_law", "batch_capacity", "step_server_capacity")
WITH_LOAD = [name for name in derivations() if name not in WITHOUT_LOAD]
UNLIMITED = ("erlang_b", "mm1k_block", "mm1k_number")
LIMITED = [name for name in WITH_LOAD if name not in UNLIMITED]
WITHOUT_RATE = ("cobham_urgent", "cobham_other", "batch_capacity", "step_server_capacity")


def _values(name: str, **other: float) -> dict[str, float]:
    return {x.name: VALUES[x.name] for x in derive(name).parameters} | other


def _whole(name: str) -> dict[str, float]:
    return {x.name: VALUES[x.name] for x in derive(name).parameters if x.is_whole}


def _at_load(name: str, load: float) -> float:
    """The result with all arrival rates changed so that the load is this."""
    derivation, values = derive(name), _values(name)
    symbols = {derivation.symbol(key): value for key, value in values.items()}
    now = float(
        dict(derivation.where)[derivation.load].subs(symbols).subs(dict(derivation.where)).subs(symbols)
    )
    rates = {x.name: values[x.name] * load / now for x in derivation.parameters if x.is_arrival_rate}
    return derivation.substitute(values | rates).value


def _series(name: str, *, about: float, order: int, load: float) -> float:
    derivation = derive(name)
    found = derivation.expand("load", about=about, order=order, values=_whole(name))
    put = {derivation.symbol(key): value for key, value in _values(name).items()}
    return float(found.subs({derivation.symbol("load"): load}).subs(put))


@pytest.mark.parametrize("name", derivations())
def test_the_lists_of_this_file_are_those_of_the_derivations(name: str) -> None:
    assert (derive(name).load is None) == (name in WITHOUT_LOAD)
    assert derive(name).is_limited == (name not in UNLIMITED)
    assert ("rate_rps" in _values(name)) == (name not in WITHOUT_RATE)


@pytest.mark.parametrize("name", WITH_LOAD)
def test_what_an_expansion_in_light_traffic_leaves_out_is_of_the_next_order(name: str) -> None:
    order = 2
    large, small = (
        _at_load(name, step) - _series(name, about=0, order=order, load=step) for step in (2e-3, 1e-3)
    )
    scale = abs(_at_load(name, 0.5))
    if abs(large) > 1e-13 * scale:  # else the series is the function
        assert math.log2(large / small) == pytest.approx(round(math.log2(large / small)), abs=0.05)
        assert math.log2(large / small) > order + 0.9
    else:
        assert abs(small) <= 1e-13 * scale


@pytest.mark.parametrize("name", LIMITED)
def test_what_an_expansion_in_heavy_traffic_leaves_out_is_of_the_next_order(name: str) -> None:
    order = 1
    large, small = (
        _at_load(name, 1 - step) - _series(name, about=1, order=order, load=1 - step) for step in (2e-3, 1e-3)
    )
    if abs(large) > 1e-11 * abs(_at_load(name, 1 - 2e-3)):
        assert math.log2(large / small) > order + 0.9


@pytest.mark.parametrize("name", [name for name in derivations() if name not in WITHOUT_RATE])
def test_expansions_in_the_rate_agree_with_finite_differences(name: str) -> None:
    derivation, h = derive(name), 1e-4
    others = {key: value for key, value in _values(name).items() if key != "rate_rps"}
    series = derivation.expand("rate_rps", about=0.3, order=2, values=others)
    rate = derivation.symbol("rate_rps")
    low, mid, high = (derivation.substitute(others | {"rate_rps": 0.3 + d}).value for d in (-h, 0.0, h))
    assert float(series.subs(rate, 0.3)) == pytest.approx(mid, rel=1e-12)
    slope = float(series.diff(rate).subs(rate, 0.3))
    bend = float(series.diff(rate, 2).subs(rate, 0.3))
    assert slope == pytest.approx((high - low) / (2 * h), rel=1e-5)
    assert bend == pytest.approx((high - 2 * mid + low) / h**2, rel=1e-4, abs=1e-6 * abs(slope))


@pytest.mark.parametrize("name", derivations())
def test_elasticities_agree_with_finite_differences(name: str) -> None:
    values, step = _values(name), 1e-5
    found = derive(name).elasticities(values)
    assert set(found) == {x.name for x in derive(name).parameters if not x.is_whole}
    for key, elasticity in found.items():
        up, down = (
            math.log(derive(name).substitute(values | {key: values[key] * factor}).value)
            for factor in (1 + step, 1 - step)
        )
        wanted = (up - down) / (math.log1p(step) - math.log1p(-step))
        assert elasticity == pytest.approx(wanted, abs=1e-7 * max(1.0, abs(wanted)))


def test_heavy_traffic_of_mg1_is_known() -> None:
    found = derive("mg1_wait").expand("load", about=1, order=0)
    service, second = sp.symbols("E[S] E[S^2]", positive=True)
    load = derive("mg1_wait").symbol("load")
    assert sp.simplify(found - second / (2 * service) * (1 / (1 - load) - 1)) == 0


def test_light_traffic_of_erlang_c_starts_with_the_power_of_the_servers() -> None:
    found = derive("erlang_c").expand("load", about=0, order=3, values={"n_servers": 3})
    load = derive("erlang_c").symbol("load")
    assert found == sp.Rational(9, 2) * load**3  # a^3 / 3! with a = 3 rho


def test_both_bounds_of_the_batch_server_meet_in_the_same_heavy_traffic_slope() -> None:
    base, slope = (derive("batch_phi1").symbol(key) for key in ("base_s", "slope_s"))
    load = derive("batch_phi1").symbol("load")
    leading = derive("batch_phi1").expand("load", about=1, order=0).coeff(1 / (1 - load))
    assert sp.simplify(leading - (3 * base / 2 + 3 * slope / 4)) == 0


def test_the_formula_is_shown_with_its_numbers() -> None:
    shown = derive("mmc_wait").substitute({"rate_rps": 8.0, "service_rate_rps": 1.0, "n_servers": 10})
    assert shown.text == "W = C/(-λ + μ·c) = 0.40918/(-8 + 1·10) = 0.20459"
    assert shown.where[0] == "a = λ/μ = 8/1 = 8"
    assert shown.where[2].endswith("= 1/(8^10/((1 - 0.8)·10!) + sum[k=0..10 - 1](8^k/k!)) = 0.000276572")
    assert shown.latex == r"W = \frac{C}{- \lambda + \mu c} = \frac{0.40918}{- 8 + 1 \cdot 10} = 0.20459"
    assert (shown.quantity, shown.exactness) == ("mean_wait_s", "exact")


def test_a_number_below_what_a_float_holds_is_still_shown() -> None:
    shown = derive("erlang_c").substitute({"rate_rps": 950.0, "service_rate_rps": 1.0, "n_servers": 1000})
    waits = erlang_c(n_servers=1000, load=950.0)
    log_empty = math.log(waits * 0.05) + math.lgamma(1001) - 1000 * math.log(950.0)
    digits, _, power = shown.where[2].rpartition(" = ")[2].partition("e")
    assert math.log(float(digits)) + int(power) * math.log(10) == pytest.approx(log_empty, abs=1e-5)
    assert shown.value == pytest.approx(waits, rel=1e-9)


def test_a_bound_is_shown_as_one() -> None:
    shown = derive("kingman_bound").substitute(_values("kingman_bound"))
    assert shown.text.startswith("W ≤ (ca² + cs²·ρ^2)/(2·λ·(1 - ρ)) = ")
    assert r"\le" in shown.latex
    assert shown.exactness == "bound"


def test_powers_of_ten_are_in_brackets_in_latex() -> None:
    shown = derive("littles_law").substitute({"rate_rps": 1e-9, "mean_response_s": 2.0})
    assert shown.latex.endswith(r"\left(1 \cdot 10^{-9}\right) \cdot 2 = \left(2 \cdot 10^{-9}\right)")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rate_rps": 1.0}, "mm1_wait: service_rate_rps is missing; give rate_rps, service_rate_rps"),
        ({"rate": 1.0}, r"mm1_wait: parameter: unknown 'rate' \(did you mean 'rate_rps'\?\)"),
        ({"rate_rps": 0.0, "service_rate_rps": 1.0}, "rate_rps: 0.0 must be > 0"),
        ({"rate_rps": math.nan, "service_rate_rps": 1.0}, "rate_rps: nan is not a finite number"),
    ],
)
def test_values_that_cannot_be_used_are_named(values: dict[str, float], message: str) -> None:
    for ask in (derive("mm1_wait").substitute, derive("mm1_wait").elasticities):
        with pytest.raises(ConfigError, match=message):
            ask(values)


def test_a_whole_number_must_be_whole() -> None:
    with pytest.raises(ConfigError, match=r"n_servers: 2\.5 must be a whole number"):
        derive("erlang_b").substitute({"rate_rps": 1.0, "service_rate_rps": 1.0, "n_servers": 2.5})


def test_an_overload_is_named_where_there_is_no_steady_state() -> None:
    with pytest.raises(UnstableError, match=r"mm1_wait: the load is 1, not below 1"):
        derive("mm1_wait").substitute({"rate_rps": 1.0, "service_rate_rps": 1.0})
    full = {"rate_rps": 2.0, "service_rate_rps": 1.0, "capacity": 1}
    assert derive("mm1k_block").substitute(full).value == pytest.approx(2 / 3)


def test_a_division_by_zero_is_refused() -> None:
    with pytest.raises(ConfigError, match="divides by zero"):
        derive("batch_capacity").substitute({"base_s": 1.0, "slope_s": 0.0})
    with pytest.raises(ConfigError, match="divides by zero"):
        derive("step_server_number").expand("load", about=0, order=1, values={"slope_s": 0.0})


def test_a_result_of_zero_has_no_elasticities() -> None:
    with pytest.raises(ConfigError, match="mean_wait_s is 0 at these values"):
        derive("kingman_bound").elasticities(_values("kingman_bound", scv_interval=0.0, scv_service=0.0))


def test_a_series_needs_numbers_for_whole_numbers_and_a_known_name() -> None:
    with pytest.raises(ConfigError, match="erlang_c: n_servers needs a value"):
        derive("erlang_c").expand("load", about=0, order=2)
    with pytest.raises(ConfigError, match=r"unknown 'lode' \(did you mean 'load'\?\)"):
        derive("mm1_wait").expand("lode", about=0, order=2)
    with pytest.raises(ConfigError, match="order: -1 must be a whole number >= 0"):
        derive("mm1_wait").expand("load", about=0, order=-1)


def test_an_unknown_derivation_is_named() -> None:
    with pytest.raises(ConfigError, match=r"unknown 'mm1_weight' \(did you mean 'mm1_wait'\?\)"):
        derive("mm1_weight")
