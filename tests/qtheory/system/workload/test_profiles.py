"""Profiles: names, sources, and how well the pairs stand for the data that they are from."""

from __future__ import annotations

import csv
import tomllib
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp, spearmanr

from qtheory.basics.errors import ConfigError
from qtheory.system import workload as package
from qtheory.system.workload import DEFAULT_PROFILE, LawLengths, PairLengths, find_profile, profile_names

DATA = {
    "chat": ("azure_llm_2023_conv.csv", "ContextTokens", "GeneratedTokens"),
    "summarize": ("lengths_arxiv_summarization.csv", "input_tokens", "output_tokens"),
    "reasoning": ("lengths_mlperf_deepseek-r1.csv", "input_tokens", "output_tokens"),
}


def test_the_names_are_the_five_promised_ones_and_chat_is_the_default():
    assert profile_names() == ["chat", "rag", "code", "summarize", "reasoning"]
    assert DEFAULT_PROFILE == "chat"


@pytest.mark.parametrize("name", profile_names())
def test_every_value_has_a_source_and_a_source_has_its_value(name):
    content = resources.files(package).joinpath("profiles.toml").read_text(encoding="utf-8")
    values = tomllib.loads(content)[name]
    assert set(values["source"]) == set(values) - {"source", "aliases", "meaning"}
    assert all(text.strip() for text in values["source"].values())


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_makes_requests(name):
    requests = find_profile(name).workload(n_requests=200).generate(np.random.default_rng(1))
    assert len(requests) == 200
    assert requests.ttft_slo_s[0] == find_profile(name).slo.ttft_s


def test_spellings_are_forgiven_and_unknown_names_are_told_the_nearest():
    assert find_profile("summarise") is find_profile("summarization") is find_profile(" Summarize ")
    with pytest.raises(ConfigError, match=r"unknown 'reasonin' \(did you mean 'reasoning'\?\)"):
        find_profile("reasonin")


def test_chat_has_the_limits_of_the_mlperf_chat_server():
    assert (find_profile("chat").slo.ttft_s, find_profile("chat").slo.tpot_s) == (2.0, 0.2)


def test_rag_prompts_have_about_four_thousand_tokens_and_short_answers():
    rag = find_profile("rag").lengths
    assert isinstance(rag, LawLengths)
    assert rag.mean_prompt_tokens == pytest.approx(4000, rel=0.01)
    assert rag.mean_output_tokens < 200


def test_code_has_the_published_medians():
    code = find_profile("code").lengths
    assert code.prompt_law.ppf(0.5) == pytest.approx(1500, rel=0.05)
    assert code.output_law.ppf(0.5) == pytest.approx(13, abs=1)


@pytest.mark.parametrize("name", DATA)
def test_pairs_are_512_and_the_chat_table_names_its_licence(name):
    lengths = find_profile(name).lengths
    assert isinstance(lengths, PairLengths)
    assert len(lengths) == 512
    text = resources.files(package).joinpath("data", f"{name}_pairs.csv").read_text(encoding="utf-8")
    assert any(licence in text for licence in ("CC-BY 4.0", "MIT", "Apache-2.0"))


@pytest.mark.shared
@pytest.mark.parametrize("name", DATA)
def test_the_pairs_stand_for_the_whole_data(name, shared: Path):
    file, *names = DATA[name]
    with (shared / "data" / "traces" / file).open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    whole = [np.array([int(row[column]) for row in rows]) for column in names]
    lengths = find_profile(name).lengths
    few = [np.array(lengths.prompt_tokens), np.array(lengths.output_tokens)]
    for all_tokens, tokens in zip(whole, few, strict=True):
        assert tokens.mean() == pytest.approx(all_tokens.mean(), rel=0.006)
        assert tokens.std() / tokens.mean() == pytest.approx(all_tokens.std() / all_tokens.mean(), rel=0.031)
        assert ks_2samp(tokens, all_tokens).statistic <= 0.015
    assert spearmanr(*few).statistic == pytest.approx(spearmanr(*whole).statistic, abs=0.008)
    assert set(zip(*(c.tolist() for c in few), strict=True)) <= set(
        zip(*(c.tolist() for c in whole), strict=True)
    )
