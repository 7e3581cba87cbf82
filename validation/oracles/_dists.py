"""The laws of the table."""

from __future__ import annotations

from typing import Any

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws import (
    Constant,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    Law,
    Lognormal,
    Uniform,
    Weibull,
)

__all__ = ["law_of"]

_KEYS = {
    "exp": ("mean",),
    "det": ("mean",),
    "erlang": ("k", "mean"),
    "hyperexp2": ("p1", "mu1", "mu2"),
    "gamma": ("mean", "scv"),
    "lognormal": ("mean", "scv"),
    "uniform": ("low", "high"),
    "weibull": ("shape", "scale"),
}


def law_of(given: dict[str, Any]) -> Law:
    """The law of a distribution object such as ``{"dist": "gamma", "mean": 1, "scv": 2}``."""
    name = given.get("dist")
    checks.one_of("dist", str(name), _KEYS)
    missing = [key for key in _KEYS[str(name)] if key not in given]
    if missing:
        raise ConfigError(f"dist {name}: {missing[0]!r} is missing")
    if name == "exp":
        return Exponential(mean=given["mean"])
    if name == "det" or ("scv" in given and given["scv"] == 0):
        return Constant(value=given["mean"])
    if name == "erlang":
        return Erlang(k=given["k"], mean=given["mean"])
    if name == "hyperexp2":
        p1 = given["p1"]
        return Hyperexponential(probs=[p1, 1 - p1], means=[1 / given["mu1"], 1 / given["mu2"]])
    if name == "gamma":
        return Gamma(mean=given["mean"], cv=given["scv"] ** 0.5)
    if name == "lognormal":
        return Lognormal(mean=given["mean"], cv=given["scv"] ** 0.5)
    if name == "uniform":
        return Uniform(low=given["low"], high=given["high"])
    return Weibull(shape=given["shape"], scale=given["scale"])
