"""Joint laws of prompt and output: rounding, caps, correlation, pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from qtheory.basics.errors import ConfigError
from qtheory.laws import Constant, Exponential, Gamma, Lognormal, Pareto, Uniform
from qtheory.system.workload import LawLengths, PairLengths

INDEPENDENT = LawLengths(
    prompt=Lognormal(mean=1000, cv=1), output=Gamma(mean=20, cv=1.2), max_prompt_tokens=8192
)
RELATED = LawLengths(
    prompt=Lognormal(mean=1000, cv=1),
    output=Gamma(mean=200, cv=0.8),
    rank_correlation=-0.6,
    max_output_tokens=600,
)
PAIRS = PairLengths(prompt_tokens=[100, 300, 5000, 20], output_tokens=[10, 50, 7, 900])
every_kind = pytest.mark.parametrize(
    "lengths", [INDEPENDENT, RELATED, PAIRS], ids=["independent", "related", "pairs"]
)


@every_kind
def test_samples_are_whole_tokens_with_the_stated_means(lengths):
    n = 60_000
    prompts, outputs = lengths.sample(np.random.default_rng(4), n)
    for tokens, mean, law in (
        (prompts, lengths.mean_prompt_tokens, lengths.prompt_law),
        (outputs, lengths.mean_output_tokens, lengths.output_law),
    ):
        assert tokens.dtype == np.int64
        assert tokens.min() >= 1
        assert abs(tokens.mean() - mean) <= 4 * tokens.std() / math.sqrt(n)
        assert law.mean == pytest.approx(mean, rel=1e-12)


@every_kind
def test_joint_moments_agree_with_samples(lengths):
    n = 60_000
    prompts, outputs = (column.astype(float) for column in lengths.sample(np.random.default_rng(8), n))
    for i, j in ((1, 1), (2, 0), (0, 2), (2, 1)):
        products = prompts**i * outputs**j
        assert abs(products.mean() - lengths.moment(i, j)) <= 4 * products.std() / math.sqrt(n)
    assert lengths.moment(1, 0) == pytest.approx(lengths.mean_prompt_tokens, rel=1e-9)
    assert lengths.moment(0, 0) == 1.0


@every_kind
def test_a_longer_sample_starts_with_the_shorter_one(lengths):
    short, long = (lengths.sample(np.random.default_rng(2), n) for n in (7, 5000))
    assert all(a.tobytes() == b[:7].tobytes() for a, b in zip(short, long, strict=True))


@pytest.mark.parametrize("rho", [-0.9, -0.3, 0.0, 0.5, 1.0])
def test_the_rank_correlation_is_the_one_asked_for(rho):
    lengths = LawLengths(prompt=Lognormal(mean=1e5, cv=1), output=Gamma(mean=1e5, cv=1), rank_correlation=rho)
    n = 40_000
    found = spearmanr(*lengths.sample(np.random.default_rng(6), n)).statistic
    assert abs(found - rho) <= 4 / math.sqrt(n)


def test_a_correlated_moment_of_lognormals_has_its_closed_form():
    lengths = LawLengths(
        prompt=Lognormal(mean=3e4, cv=0.5), output=Lognormal(mean=2e4, cv=0.8), rank_correlation=0.4
    )
    r = 2 * math.sin(math.pi * 0.4 / 6)
    covariance = math.exp(r * math.sqrt(math.log(1.25) * math.log(1.64)))
    assert lengths.moment(1, 1) == pytest.approx(6e8 * covariance, rel=1e-6)


def test_caps_move_and_do_not_redraw():
    lengths = LawLengths(prompt=Exponential(mean=100), output=Exponential(mean=0.1), max_prompt_tokens=50)
    prompts, outputs = lengths.sample(np.random.default_rng(1), 4000)
    assert prompts.max() == 50
    p = math.exp(-0.495)
    assert abs(np.mean(prompts == 50) - p) <= 4 * math.sqrt(p * (1 - p) / 4000)
    assert np.mean(outputs == 1) > 0.99


def test_constant_lengths_are_constant():
    prompts, outputs = LawLengths(prompt=Constant(value=192), output=Constant(value=64)).sample(
        np.random.default_rng(0), 3
    )
    assert (prompts.tolist(), outputs.tolist()) == ([192] * 3, [64] * 3)


def test_pairs_stay_together():
    prompts, outputs = PAIRS.sample(np.random.default_rng(0), 500)
    seen = set(zip(prompts.tolist(), outputs.tolist(), strict=True))
    assert seen == set(zip(PAIRS.prompt_tokens, PAIRS.output_tokens, strict=True))


def test_pairs_from_arrays_equal_pairs_from_lists():
    again = PairLengths(
        prompt_tokens=np.array([100, 300, 5000, 20]), output_tokens=np.array([10, 50, 7, 900])
    )
    assert again == PAIRS
    assert hash(again) == hash(PAIRS)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PairLengths(prompt_tokens=[], output_tokens=[]), "prompt_tokens: give at least one"),
        (lambda: PairLengths(prompt_tokens=[1, 2], output_tokens=[1]), "output_tokens: 1 for 2 prompts"),
        (
            lambda: PairLengths(prompt_tokens=[1], output_tokens=[0]),
            "output_tokens: all must be whole numbers >= 1",
        ),
        (lambda: PairLengths(prompt_tokens=[1.5], output_tokens=[1]), "prompt_tokens: all must be whole"),
        (
            lambda: LawLengths(prompt=Constant(value=1), output=Exponential(mean=2), rank_correlation=0.5),
            "must be 0 as constant",
        ),
        (
            lambda: LawLengths(prompt=Gamma(mean=1, cv=1), output=Exponential(mean=2), rank_correlation=1.5),
            "rank_correlation: 1.5 is outside what is allowed, -1 .. 1",
        ),
        (
            lambda: LawLengths(
                prompt=Gamma(mean=1, cv=1), output=Exponential(mean=2), rank_correlation=-math.inf
            ),
            "rank_correlation: -inf is outside what is allowed, -1 .. 1",
        ),
        (
            lambda: LawLengths(prompt=Uniform(low=1e300, high=1e308), output=Constant(value=1)),
            r"prompt: uniform.* has a mean of 5e\+307 tokens; at most 1,000,000,000",
        ),
        (
            lambda: LawLengths(prompt=Constant(value=1), output=Uniform(low=0, high=1.5e9)),
            r"output: uniform.* has a largest value of 1.5e\+09 tokens",
        ),
        (
            lambda: LawLengths(prompt=Exponential(mean=1e-9), output=Constant(value=1)),
            "prompt: exponential.* has a mean of 1e-09 tokens; at least 0.001",
        ),
        (
            lambda: LawLengths(prompt=Pareto(alpha=1.01, low=1e6), output=Constant(value=1)).sample(
                np.random.default_rng(3), 10_000
            ),
            r"prompt: pareto.* gives a length of .* tokens, more than 1,000,000,000; cut it off with",
        ),
        (
            lambda: LawLengths(prompt=Constant(value=1), output=Constant(value=1), max_output_tokens=0),
            "max_output_tokens: 0 must be",
        ),
    ],
)
def test_impossible_lengths_are_refused(build, message):
    with pytest.raises(ConfigError, match=message):
        build()
