"""Arrivals and services as the letters of a name have them, in every form that a model may take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

from .model import KendallModel
from .notation import Notation, Slot

if TYPE_CHECKING:
    from qtheory.laws import Law

__all__ = ["arrival_values", "service_values"]

_WORDS = {
    "M": "exponential",
    "D": "constant",
    "E": "Erlang",
    "H": "hyperexponential",
    "PH": "phase-type",
}


def service_values(model: KendallModel, notation: Notation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that follows from what is said of the services; lists where the model has classes."""
    names = [name for name in ("service_rate_rps", "mean_service_s", "service_s", "service") if name in given]
    phases = _phases(notation.service_phases, given)
    if not model.is_each("service"):
        side = _service({name: given[name] for name in names}, notation.service, phases)
        return side | _scv("service", model, side, given)
    sides = [
        _service({name: given[name][k] for name in names}, notation.service, phases)
        for k in range(len(given[names[0]]))
    ]
    return {name: [side[name] for side in sides] for name in (sides[0] if sides else ())}


def _scv(
    name: str, model: KendallModel, side: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, float]:
    """Squared coefficient of variation, given or of the law, for the models that work with it."""
    key = f"scv_{name}"
    if key in given or not model.by_moments or name not in side:
        return {key: given[key]} if key in given else {}
    try:
        return {key: side[name].scv}
    except ConfigError:
        raise ConfigError(f"{name}: {side[name]} has no variance, which {model.name} is made from") from None


def _service(given: Mapping[str, Any], letter: str, phases: Slot) -> dict[str, Any]:
    rate_rps, mean_s = given.get("service_rate_rps"), given.get("mean_service_s", given.get("service_s"))
    for name, value in given.items():
        if name != "service":
            checks.positive(**{name: value})
    law = given.get("service")
    if law is not None:
        _check_letter("service", law, letter, phases)
        wanted_s = mean_s if rate_rps is None else 1.0 / rate_rps
        if wanted_s is not None:
            law = law.scaled(wanted_s / law.mean)
        mean_s = law.mean if mean_s is None else mean_s
        phases = getattr(law, "k", phases)
    if mean_s is None:
        mean_s = 1.0 / given["service_rate_rps"]
    if law is None:
        law = _law_of_letter(letter, mean_s, phases)
    made = {
        "service_rate_rps": 1.0 / mean_s if rate_rps is None else rate_rps,
        "mean_service_s": mean_s,
        "service_s": mean_s,
        "service_phases": phases,
    }
    return made if law is None else made | {"service": law}


def arrival_values(model: KendallModel, notation: Notation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that follows from what is said of the arrivals."""
    letter, rate_rps = notation.arrivals, given.get("rate_rps")
    if "rate_rps" in model.each:
        for rate in rate_rps or ():
            checks.positive(rate_rps=rate)
        return {"rate_rps": rate_rps}
    if rate_rps is not None:
        checks.positive(rate_rps=rate_rps)
    if letter in ("MAP", "MMPP"):
        return {"arrivals": _process(given, rate_rps)}
    interval, phases = given.get("interval"), _phases(notation.arrival_phases, given)
    if interval is not None:
        _check_letter("interval", interval, letter, phases)
        if rate_rps is not None:
            interval = interval.scaled(1.0 / (rate_rps * interval.mean))
        phases = getattr(interval, "k", phases)
        rate_rps = 1.0 / interval.mean if rate_rps is None else rate_rps
    elif rate_rps is not None:
        interval = _law_of_letter(letter, 1.0 / rate_rps, phases)
    side = {"rate_rps": rate_rps, "arrival_phases": phases}
    side |= {} if interval is None else {"interval": interval}
    return side | _scv("interval", model, side, given)


def _process(given: Mapping[str, Any], rate_rps: float | None) -> Any:
    """Markovian arrivals, stretched to a rate if one is given."""
    from qtheory.laws.map_process import MarkovianArrivals

    if "arrivals" in given:
        process = given["arrivals"]
    elif "without" in given:
        process = MarkovianArrivals(without=given["without"], with_arrival=given["with_arrival"])
    else:
        process = MarkovianArrivals.modulated_poisson(
            rates_rps=given["rates_rps"], leave_per_s=given["leave_per_s"]
        )
    return process if rate_rps is None else process.scaled(process.rate_rps / rate_rps)


def _phases(slot: Slot, given: Mapping[str, Any]) -> Slot:
    return given.get("n_phases") if slot == "k" else slot


def _law_of_letter(letter: str, mean_s: float, phases: Slot) -> Law | None:
    """The law that a letter and a mean decide; None if they do not."""
    from qtheory.laws import Constant, Erlang, Exponential

    if letter == "M":
        return Exponential(mean=mean_s)
    if letter == "D":
        return Constant(value=mean_s)
    if letter == "E" and isinstance(phases, int):
        checks.integer(n_phases=phases)
        return Erlang(k=phases, mean=mean_s)
    return None


def _check_letter(name: str, law: Law, letter: str, phases: Slot) -> None:
    """Raise unless the law is one that the letter stands for."""
    from qtheory.laws import Constant, Erlang, Exponential, Hyperexponential
    from qtheory.laws.phase_type import PhaseType

    if letter == "PH":
        PhaseType.of(law)
        return
    kind = {"M": Exponential, "D": Constant, "E": Erlang, "H": Hyperexponential}.get(letter)
    if kind is None:
        return
    if not isinstance(law, kind):
        raise ConfigError(
            f"{name}: {law} is not {_WORDS[letter]}, as {letter} in the name says; write G for any law"
        )
    number = len(law.probs) if isinstance(law, Hyperexponential) else getattr(law, "k", phases)
    if isinstance(phases, int) and number != phases:
        raise ConfigError(f"{name}: {law} has {number} phases, not {phases} as the name says")
