"""Laws from text, as on the command line and in scenario files."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import at_most

from .calls import Call, Value, parse_call
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
from .mixture import Mixture
from .pareto import Pareto
from .rounded import Rounded
from .shifted import Shifted
from .truncated import Truncated
from .uniform import Uniform
from .weibull import Weibull

__all__ = ["LAW_FORMS", "parse_law"]


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to write a law: its parameters (``?`` marks those that may be left out) and what makes it."""

    parameters: str
    build: Callable[..., Law]
    first: bool = False  # the first parameter may stand without its name

    @property
    def names(self) -> list[str]:
        return self.parameters.replace("?", "").split()

    @property
    def needed(self) -> set[str]:
        return {name for name in self.parameters.split() if not name.endswith("?")}


def _weibull(mean: float, shape: float) -> Law:
    checks.positive(mean=mean)
    Weibull(shape=shape, scale=1.0)  # raises if the shape is out of range
    return Weibull(shape=shape, scale=mean / math.gamma(1.0 + 1.0 / shape))


def _weibull_cv(mean: float, cv: float) -> Law:
    from scipy.optimize import brentq

    checks.positive(mean=mean, cv=cv)
    if not 1e-3 <= cv <= 100:
        raise ConfigError(f"cv: {cv:g} must be between 0.001 and 100")
    shape = brentq(lambda k: math.log(Weibull(shape=k, scale=1.0).scv) - 2.0 * math.log(cv), 0.05, 2000.0)
    return _weibull(mean, float(shape))


def _scv(law: Callable[..., Law]) -> Callable[..., Law]:
    def build(mean: float, scv: float) -> Law:
        checks.positive(scv=scv)
        return law(mean=mean, cv=math.sqrt(scv))

    return build


def _phases(mean: float, scv: float) -> Law:
    checks.positive(scv=scv)
    at_most(1e12, scv=scv)
    if scv < 1:
        raise ConfigError(f"SCV {scv:g} must be >= 1; below, use erlang or gamma")
    return fit_two_moments(mean, scv)


def _phases_cv(mean: float, cv: float) -> Law:
    checks.positive(cv=cv)
    at_most(1e6, cv=cv)
    return _phases(mean, cv**2)


def _rate(rate: float) -> Law:
    checks.positive(rate=rate)
    return Exponential(mean=1.0 / rate)


def _scale(shape: float, scale: float) -> Law:
    checks.positive(shape=shape, scale=scale)
    return Gamma(mean=shape * scale, cv=1.0 / math.sqrt(shape))


_FORMS: dict[str, list[_Form]] = {
    "constant": [_Form("value", Constant, first=True)],
    "exponential": [_Form("mean", Exponential), _Form("rate", _rate)],
    "erlang": [_Form("k mean", Erlang)],
    "gamma": [_Form("mean cv", Gamma), _Form("mean scv", _scv(Gamma)), _Form("shape scale", _scale)],
    "lognormal": [_Form("mean cv", Lognormal), _Form("mean scv", _scv(Lognormal))],
    "uniform": [_Form("low high", Uniform)],
    "weibull": [_Form("shape scale", Weibull), _Form("mean shape", _weibull), _Form("mean cv", _weibull_cv)],
    "hyperexponential": [
        _Form("probs means", Hyperexponential),
        _Form("mean cv", _phases_cv),
        _Form("mean scv", _phases),
    ],
    "pareto": [_Form("alpha low high?", Pareto)],
    "discrete": [_Form("values probs", Discrete)],
    "empirical": [_Form("values", Empirical, first=True)],
    "truncated": [_Form("law low? high?", Truncated, first=True)],
    "rounded": [_Form("law low? high?", Rounded, first=True)],
    "shifted": [_Form("law shift", Shifted, first=True)],
    "mixture": [_Form("laws weights", Mixture)],
}
_ALSO = {"deterministic": "constant", "det": "constant", "exp": "exponential", "hyperexp": "hyperexponential"}
_SMALLEST, _LARGEST = 1e-100, 1e100  # third powers of these fit into 64 bits
_NO_NUMBERS = {"nan", "inf", "infinity"}
_LISTS = {"probs", "means", "values", "laws", "weights"}

LAW_FORMS: dict[str, tuple[str, ...]] = {
    name: tuple(
        f"{name}(" + ", ".join(f"[{p[:-1]}]" if p.endswith("?") else p for p in form.parameters.split()) + ")"
        for form in forms
    )
    for name, forms in _FORMS.items()
}
"""Every law that `parse_law` knows, with the ways to write it; optional parameters in brackets."""


def parse_law(text: str, *, where: str = "law") -> Law:
    """Law from its text; ``str(law)`` gives one that reads back as an equal law.

    Parameters
    ----------
    text : str
        A number (constant), or one of `LAW_FORMS` with parameters by name, such as
        ``lognormal(mean=1000, cv=0.8)``; laws nest: ``truncated(gamma(mean=9, cv=2), high=50)``.
    where : str
        What the law is for, such as ``prompt``; begins the error message.

    Raises
    ------
    ConfigError
        If the text cannot be read, or a name or a number is not allowed; the text is never evaluated.

    Examples
    --------
    >>> parse_law("lognormal(mean=1000, cv=0.8)")
    Lognormal(mean=1000, cv=0.8)
    >>> print(parse_law("192"), parse_law("truncated(lognormal(mean=1000,cv=1), low=1, high=8192)"))
    constant(value=192) truncated(lognormal(mean=1000, cv=1), low=1, high=8192)
    >>> parse_law("lognormal(mean=1, cw=2)", where="prompt")
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: prompt: lognormal: unknown parameter 'cw' (did you mean 'cv'?);
    lognormal(mean, cv) or lognormal(mean, scv)
    """
    return _law(parse_call(text, where=where), where)


def _law(value: Value, where: str) -> Law:
    if isinstance(value, tuple):
        raise ConfigError(f"{where}: a list where a law is needed")
    if not isinstance(value, Call):
        value = Call("constant", (value,))
    name = _ALSO.get(value.name, value.name)
    forms = _FORMS.get(name)
    if name in _NO_NUMBERS:
        raise ConfigError(f"{where}: {checks.shown(value.name)} is not a finite number")
    if forms is None:
        hint = checks.nearest(name, [*_FORMS, *_ALSO])
        raise ConfigError(f"{where}: unknown law {checks.shown(name)}{hint}; one of {', '.join(_FORMS)}")
    given = _named(name, forms, value, where)
    form = _choose(name, forms, set(given), where)
    arguments: dict[str, Any] = {}
    for key, item in given.items():
        arguments[key] = _argument(key, item, f"{where}: {name}")
    try:
        return form.build(**arguments)
    except ConfigError as error:
        raise ConfigError(f"{where}: {name}: {error}") from None


def _named(name: str, forms: list[_Form], call: Call, where: str) -> dict[str, Value]:
    given = dict(call.named)
    if len(call.args) > int(forms[0].first):
        example = LAW_FORMS[name][0].replace("[", "").replace("]", "")
        raise ConfigError(f"{where}: {name}: write the parameters by name: {example}")
    if call.args:
        first = forms[0].names[0]
        if first in given:
            raise ConfigError(f"{where}: {name}: {first} is given twice")
        given = {first: call.args[0], **given}
    known = list(dict.fromkeys(p for form in forms for p in form.names))
    for key in given:
        if key not in known:
            hint = checks.nearest(key, known)
            forms_text = " or ".join(LAW_FORMS[name])
            raise ConfigError(f"{where}: {name}: unknown parameter {checks.shown(key)}{hint}; {forms_text}")
    return given


def _choose(name: str, forms: list[_Form], given: set[str], where: str) -> _Form:
    for form in forms:
        if form.needed <= given <= set(form.names):
            return form
    raise ConfigError(
        f"{where}: {name}: got {', '.join(sorted(given)) or 'nothing'}; {' or '.join(LAW_FORMS[name])}"
    )


def _argument(key: str, item: Value, where: str) -> object:
    if key == "law":
        return _law(item, where)
    if key in _LISTS:
        if not isinstance(item, tuple):
            raise ConfigError(f"{where}: {key}: a list in brackets is needed, such as [1, 2]")
        return tuple(_law(part, where) if key == "laws" else _number(key, part, where) for part in item)
    return _number(key, item, where)


def _number(key: str, item: Value, where: str) -> float:
    if isinstance(item, tuple):
        raise ConfigError(f"{where}: {key}: one number is needed, not a list")
    if isinstance(item, Call):
        raise ConfigError(f"{where}: {key}: {checks.shown(item.name)} is not a finite number")
    if math.isfinite(item) and item and not _SMALLEST <= abs(item) <= _LARGEST:
        raise ConfigError(
            f"{where}: {key}: {checks.shown(item)} must be 0 or in {_SMALLEST:g} .. {_LARGEST:g}"
        )
    return item
