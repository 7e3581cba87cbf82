"""Why a queueing model gives the number that it gives: its formula with the numbers in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qtheory.basics.errors import ConfigError

from .derivation import Derivation
from .registry import derive
from .step import Substitution

if TYPE_CHECKING:
    from qtheory.laws.law import Law

__all__ = ["Explanation", "explain"]

Case = tuple[str, dict[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One number of a model: formula, numbers, and what moves it.

    Parameters
    ----------
    derivation : Derivation
        Where the formula comes from.
    values : dict of str to float
        The parameters.

    Examples
    --------
    >>> from qtheory.queues.single import MM1
    >>> print(explain(MM1(rate_rps=8.0, service_rate_rps=10.0))[0].text())
    mean number present: 4 (exact)
      L = ρ/(1 - ρ) = 0.8/(1 - 0.8) = 4
      ρ = λ/μ = 8/10 = 0.8
      1 % more of λ: +5 %, μ: -5 %
    """

    derivation: Derivation
    values: dict[str, float]

    @property
    def substitution(self) -> Substitution:
        """The formula with the numbers in it."""
        return self.derivation.substitute(self.values)

    @property
    def elasticities(self) -> dict[str, float]:
        """Per cent of the result for each per cent of a parameter."""
        return self.derivation.elasticities(self.values)

    def text(self) -> str:
        """What it is, the formula, and what moves it most, the strongest first."""
        shown, answer = self.substitution, self.derivation.answer
        unit = f" {answer.unit}" if answer.unit else ""
        glyphs = {letter.name: letter.glyph for letter in self.derivation.parameters}
        effects = [item for item in self.elasticities.items() if item[1]] if shown.value else []
        strongest = sorted(effects, key=lambda item: -abs(item[1]))
        moves = ", ".join(f"{glyphs[name]}: {value:+.3g} %" for name, value in strongest)
        lines = [f"{answer.meaning}: {shown.value:.6g}{unit} ({shown.exactness})", shown.text, *shown.where]
        return "\n  ".join([*lines, f"1 % more of {moves}"] if moves else lines)


def explain(model: object) -> tuple[Explanation, ...]:
    """The numbers of a queueing model that have a closed form here.

    Parameters
    ----------
    model : object
        A model of `qtheory.queues`, with its parameters.

    Raises
    ------
    ConfigError
        If there is no closed form for this model.
    UnstableError
        From the explanations, if there is no steady state.

    Examples
    --------
    >>> from qtheory.queues.multi import MMc
    >>> [one.derivation.name for one in explain(MMc(rate_rps=8.0, service_rate_rps=1.0, n_servers=10))]
    ['erlang_c', 'mmc_wait']
    """
    cases = _cases()
    if type(model) not in cases:
        known = ", ".join(kind.__name__ for kind in cases)
        raise ConfigError(f"model: no formula is derived for {type(model).__name__}; there is for {known}")
    found = tuple(cases[type(model)](model))
    if not found:
        raise ConfigError(f"model: no formula is derived for {model!r}")
    return tuple(Explanation(derivation=derive(name), values=values) for name, values in found)


def _cases() -> dict[type, Callable[[Any], Iterable[Case]]]:
    """The kinds of model, each with the derivations that apply to one of it."""
    from qtheory.queues import batch, multi, priority, single

    return {
        single.MM1: lambda q: ((name, _rates(q)) for name in ("mm1_number", "mm1_wait")),
        single.MD1: lambda q: [("md1_wait", {"rate_rps": q.rate_rps, "service_s": q.service_s})],
        single.MG1: lambda q: [*_waits(q), *_busy(q)],
        single.MultipleVacations: _vacations,
        single.BusyPeriod: lambda q: _busy(q) if q.initial is None else (),
        single.GG1: _kingman,
        multi.MMc: lambda q: ((name, _rates(q, "n_servers")) for name in ("erlang_c", "mmc_wait")),
        multi.MMcK: _limited,
        multi.StepServer: _steps,
        priority.NonpreemptivePriority: _classes,
        priority.ProcessorSharing: _sharing,
        batch.UnlimitedBatchQueue: _batches,
    }


def _rates(model: Any, *others: str) -> dict[str, float]:
    return {name: getattr(model, name) for name in ("rate_rps", "service_rate_rps", *others)}


def _moments(rate_rps: float, law: Law, most: int) -> dict[str, float]:
    """The rate and the first moments of the service."""
    names = ("mean_service_s", "service_second_s2", "service_third_s3")[:most]
    return {"rate_rps": rate_rps} | {name: law.moment(k) for k, name in enumerate(names, 1)}


def _waits(model: Any) -> Iterable[Case]:
    yield "mg1_wait", _moments(model.rate_rps, model.service, 2)
    try:
        third = _moments(model.rate_rps, model.service, 3)
    except ConfigError:  # no third moment, so no second one of the wait
        return
    yield "mg1_wait_second_moment", third


def _busy(model: Any) -> Iterable[Case]:
    yield "busy_period_mean", _moments(model.rate_rps, model.service, 1)
    yield "busy_period_second_moment", _moments(model.rate_rps, model.service, 2)


def _vacations(model: Any) -> Iterable[Case]:
    away = {"mean_vacation_s": model.vacation.mean, "vacation_second_s2": model.vacation.moment(2)}
    yield "vacations_wait", _moments(model.rate_rps, model.service, 2) | away


def _kingman(model: Any) -> Iterable[Case]:
    names = ("rate_rps", "scv_interval", "mean_service_s", "scv_service")
    if model.formula == "kingman_bound":
        yield "kingman_bound", {name: getattr(model, name) for name in names}


def _limited(model: Any) -> Iterable[Case]:
    if model.capacity == model.n_servers:
        yield "erlang_b", _rates(model, "n_servers")
    if model.n_servers == 1:
        yield "mm1k_block", _rates(model, "capacity")
        yield "mm1k_number", _rates(model, "capacity")


def _steps(model: Any) -> Iterable[Case]:
    if model.step_s is not None:
        return
    own = {name: getattr(model, name) for name in ("mean_steps", "base_s", "slope_s")}
    if model.max_running is not None:
        yield "step_server_capacity", own | {"max_running": model.max_running}
    elif model.capacity is None:
        yield "step_server_number", own | {"rate_rps": model.rate_rps}


def _classes(model: Any) -> Iterable[Case]:
    if len(model.rate_rps) != 2:
        return
    values: dict[str, float] = {}
    for name, rate, law in zip(("urgent", "other"), model.rate_rps, model.service, strict=True):
        values |= {f"{name}_rate_rps": rate, f"{name}_mean_s": law.mean, f"{name}_second_s2": law.moment(2)}
    yield "cobham_urgent", values
    yield "cobham_other", values


def _sharing(model: Any) -> Iterable[Case]:
    mean = model.service.mean  # the response is linear in the size, so that of the mean size is the mean
    yield "processor_sharing", {"rate_rps": model.rate_rps, "mean_service_s": mean, "size_s": mean}


def _batches(model: Any) -> Iterable[Case]:
    step = {"base_s": model.base_s, "slope_s": model.slope_s}
    if model.slope_s > 0:
        yield "batch_capacity", step
    yield "batch_phi0", step | {"rate_rps": model.rate_rps}
    yield "batch_phi1", step | {"rate_rps": model.rate_rps}
