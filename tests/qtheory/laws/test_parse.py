"""Laws from text: what is read, and what each mistake is told."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtheory.basics.errors import ConfigError
from qtheory.laws import (
    LAW_FORMS,
    Constant,
    Erlang,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    Truncated,
    parse_call,
    parse_law,
)


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("192", Constant(value=192)),
        ("constant(192)", Constant(value=192)),
        ("constant(value=0.5)", Constant(value=0.5)),
        ("deterministic(3)", Constant(value=3)),
        (" Exponential( mean = 0.5 ) ", Exponential(mean=0.5)),
        ("exponential(rate=4)", Exponential(mean=0.25)),
        ("erlang(k=3, mean=2)", Erlang(k=3, mean=2)),
        ("gamma(mean=1,cv=2)", Gamma(mean=1, cv=2)),
        ("gamma(mean=1,scv=4)", Gamma(mean=1, cv=2)),
        ("lognormal(mean=1e3,cv=0.8)", Lognormal(mean=1000.0, cv=0.8)),
        ("pareto(alpha=1.5,low=1)", Pareto(alpha=1.5, low=1)),
        (
            "truncated(lognormal(mean=1000,cv=1), low=1, high=8192)",
            Truncated(law=Lognormal(mean=1000, cv=1), low=1, high=8192),
        ),
        (
            "mixture(laws=[3, exponential(mean=1)], weights=[0.5, 0.5])",
            Mixture(laws=[Constant(value=3), Exponential(mean=1)], weights=[0.5, 0.5]),
        ),
    ],
)
def test_text_becomes_the_law_it_says(text, law):
    assert parse_law(text) == law


@pytest.mark.parametrize(
    ("text", "mean", "scv"),
    [
        ("gamma(shape=4,scale=0.5)", 2.0, 0.25),
        ("weibull(mean=3,shape=0.5)", 3.0, 5.0),
        ("weibull(mean=3,cv=1.5)", 3.0, 2.25),
        ("hyperexponential(mean=2,cv=3)", 2.0, 9.0),
        ("hyperexponential(mean=2,scv=4)", 2.0, 4.0),
        ("lognormal(mean=5,scv=2)", 5.0, 2.0),
    ],
)
def test_other_ways_to_write_parameters_give_the_moments_they_name(text, mean, scv):
    law = parse_law(text)
    assert (law.mean, law.scv) == (pytest.approx(mean), pytest.approx(scv))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lognorml(mean=1,cv=1)", "unknown law 'lognorml' (did you mean 'lognormal'?)"),
        ("gamma(men=1,cv=2)", "unknown parameter 'men' (did you mean 'mean'?)"),
        ("gamma(mean=1)", "got mean; gamma(mean, cv) or gamma(mean, scv)"),
        ("gamma", "got nothing"),
        ("gamma(mean=nan,cv=1)", "mean: 'nan' is not a finite number"),
        ("gamma(mean=1e999,cv=1)", "mean: inf is not a finite number"),
        ("gamma(mean=-1,cv=1)", "mean: -1 must be > 0"),
        ("gamma(mean=0,cv=1)", "mean: 0 must be > 0"),
        ("gamma(mean=1,mean=2,cv=1)", "mean is given twice"),
        ("gamma(mean='a',cv=1)", "neither a number nor"),
        ("gamma(mean=1+1,cv=2)", "'1 + 1' is neither a number nor"),
        ("gamma(mean=True,cv=1)", "'True' is neither a number nor"),
        ("gamma(mean=[1],cv=1)", "one number is needed, not a list"),
        ("gamma(1,2)", "write the parameters by name: gamma(mean, cv)"),
        ("gamma(mean=1,cv=2", "cannot be read"),
        ("nan", "'nan' is not a finite number"),
        ("inf", "'inf' is not a finite number"),
        ("-5", "value: -5 must be > 0"),
        ("0", "value: 0 must be > 0"),
        ("", "cannot be read"),
        ("[1, 2]", "is a list"),
        ("__import__('os').getcwd()", "neither a number nor"),
        ("gamma(**{})", "'**' is not allowed"),
        ("erlang(k=2.5,mean=1)", "k: 2.5 must be a whole number"),
        ("hyperexponential(mean=1,cv=0.5)", "SCV 0.25 must be >= 1"),
        ("weibull(mean=1,cv=1000)", "cv: 1000 must be between"),
        ("gamma(mean=1,cv=1e7)", "gamma: cv: 1e+07 is outside what is allowed, 1e-06 .. 1e+06"),
        ("lognormal(mean=1,cv=1e-7)", "lognormal: cv: 1e-07 is outside"),
        ("lognormal(mean=1,cv=1e300)", "lognormal: cv: 1e+300 must be 0 or in 1e-100 .. 1e+100"),
        ("exponential(mean=1e-320)", "exponential: mean: 9.99989e-321 must be 0 or in"),
        ("mixture(laws=[1, 2], weights=[1e308, 1e308])", "mixture: weights: 1e+308 must be 0 or in"),
        ("hyperexponential(mean=1,cv=1e50)", "hyperexponential: cv: 1e+50 is too large; at most 1e+06"),
        ("hyperexponential(mean=1,scv=1e50)", "hyperexponential: scv: 1e+50 is too large; at most 1e+12"),
        ("weibull(mean=1,shape=1e-3)", "weibull: shape: 0.001 is outside what is allowed, 0.02 .. 2000"),
        ("pareto(alpha=1e-9,low=1,high=2)", "pareto: alpha: 1e-09 is outside what is allowed, 0.01 .. 1000"),
        ("x" * 5000 + "(mean=1)", "xxx...; one of constant"),
        ("pareto(alpha=1,low=1,high=inf)", "high: 'inf' is not a finite number"),
        ("truncated(constant(5),low=10,high=20)", "holds 0 in [10, 20]"),
        ("mixture(laws=[1], weights=1)", "weights: a list in brackets is needed"),
        ("constant(value=" + "9" * 400 + ")", "value: inf is not a finite number"),
        ("(" * 250 + "1" + ")" * 250, "cannot be read"),
        (192, "is not a text"),
    ],
)
def test_a_mistake_is_told_in_one_line_with_its_place(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_law(text, where="prompt")
    said = str(caught.value)
    assert said.startswith("prompt: ")
    assert "\n" not in said
    assert message in said


@given(st.text(max_size=30))
def test_no_text_does_anything_but_become_a_law_or_an_error(text):
    try:
        law = parse_law(text)
    except ConfigError:
        return
    assert parse_law(str(law)) == law


@given(st.floats(1e-100, 1e100), st.floats(1e-6, 1e6))
def test_numbers_keep_all_their_digits(mean, cv):
    law = Gamma(mean=mean, cv=cv)
    assert parse_law(str(law)) == law


def test_every_form_names_a_law_that_is_known():
    for name, forms in LAW_FORMS.items():
        assert all(form.startswith(f"{name}(") for form in forms)
        with pytest.raises(ConfigError, match="got nothing"):
            parse_law(f"{name}()")


def test_calls_keep_names_apart_from_numbers():
    call = parse_call("Closed(64, think_s=[1, 2])", where="arrivals")
    assert (call.name, call.args, call.named) == ("closed", (64,), {"think_s": (1, 2)})


@pytest.mark.parametrize(
    "text",
    [
        "gamma(mean=1e3,cv=1e-6)",
        "gamma(mean=1e3,cv=1e6)",
        "lognormal(mean=1e3,cv=1e-6)",
        "lognormal(mean=1e3,cv=1e6)",
        "weibull(mean=1e3,shape=2000)",
        "weibull(mean=1e-90,shape=2000)",
        "weibull(mean=1e3,shape=0.02)",
        "pareto(alpha=1000,low=1,high=1e100)",
        "pareto(alpha=0.01,low=1e-100,high=1e100)",
        "pareto(alpha=3,low=1,high=1.0000001)",
    ],
)
def test_at_the_ends_of_the_ranges_there_are_still_probabilities(text):
    law = parse_law(text)
    points = np.array([law.ppf(q) for q in (0.01, 0.5, 0.99)] + [1e-99, 1.0, 1e99])
    assert np.all((law.sf(points) >= 0) & (law.sf(points) <= 1))
    assert law.sf(points) + law.cdf(points) == pytest.approx(np.ones(6), abs=1e-9)
    assert math.isfinite(law.mean)
