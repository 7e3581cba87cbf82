"""Specifications of schedulers."""

from __future__ import annotations

import math

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.scheduler import CHOICES, SCHEDULERS, SchedulerSpec


@pytest.mark.parametrize(
    ("name", "given", "is_whole"), [("disaggregated", None, True), ("chunked", None, False)]
)
def test_prompts_are_whole_by_default_or_as_said(name, given, is_whole):
    assert SchedulerSpec(name=name, chunked_prefill=given).whole_prompts is is_whole
    for said in (True, False):
        assert SchedulerSpec(name=name, chunked_prefill=said).whole_prompts is not said


def test_a_misspelt_scheduler_gets_the_nearest_name():
    with pytest.raises(ConfigError, match="did you mean 'priority'"):
        SchedulerSpec(name="prority")


@pytest.mark.parametrize("option", CHOICES)
def test_every_word_is_checked_with_the_nearest_spelling(option):
    word = CHOICES[option][-1]
    assert SchedulerSpec(**{option: word}).options() == {option: word}
    with pytest.raises(ConfigError, match=f"{option}: unknown '{word}x'.*did you mean '{word}'"):
        SchedulerSpec(**{option: word + "x"})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("budget_tokens", 0),
        ("budget_tokens", 1.5),
        ("max_seqs", -1),
        ("long_prefill_threshold_tokens", -1),
        ("watermark_frac", -0.1),
        ("watermark_frac", 1.0),
        ("watermark_frac", math.nan),
        ("starvation_limit_s", 0.0),
        ("chunked_prefill", "no"),
        ("max_skip", 0),
        ("sharing_tokens", -1),
        ("max_queue", 0.5),
        ("prompt_weight", -1.0),
        ("output_weight", math.inf),
        ("client_weights", (1.0, 0.0)),
        ("client_weights", 2.0),
        ("victim", 3),
    ],
)
def test_a_number_out_of_range_is_refused_by_name(option, value):
    with pytest.raises(ConfigError, match=option):
        SchedulerSpec(**{option: value})


def test_options_not_given_are_left_to_the_scheduler():
    assert SchedulerSpec(name="fcfs").options() == {}
    assert all(SchedulerSpec(name=name).options() == {} for name in SCHEDULERS)


def test_schedulers_of_whole_prompts_are_known():
    assert [name for name in SCHEDULERS if SchedulerSpec(name=name).whole_prompts] == [
        "fcfs",
        "static",
        "orca",
        "vllm-v0",
        "disaggregated",
    ]
    assert SchedulerSpec(name="chunked", chunked_prefill=False).whole_prompts
