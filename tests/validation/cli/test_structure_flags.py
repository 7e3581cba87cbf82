"""Prefix cache, prefixes, conversations, tenants and options of schedulers on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from validation.cli.app import main

SMALL = ["--hardware", "rtx3050", "--requests", "12", "--replications", "2"]
TENANTS = "tenant(share=1, ttft_slo_s=0.001) + tenant(share=1)"


def shown(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*words, "-q"]) == 0
    return capsys.readouterr().out


def line(text: str, name: str) -> str:
    return next((row[len(name) :].strip() for row in text.splitlines() if row.startswith(name)), "")


def test_a_scheduler_that_orders_by_prefix_finds_the_documents_of_rag(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = shown(["run", "--scheduler", "cache_aware", "--workload", "rag", *SMALL], capsys)
    assert line(text, "prefix cache") == "on for cache_aware, which orders by what is cached"
    assert line(text, "prompts begin with").startswith("shared(tokens=200) + shared(tokens=2000, n=1000")
    assert int(text.split("cached")[-1].split()[0].replace(",", "")) >= 2 * 11 * 192


def test_who_has_a_prefix_cache_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "--schedulers", "fcfs,sglang(cache_order=dfs-weight, max_skip=4)", *SMALL]
    said = line(shown(words, capsys), "prefix cache")
    assert said.startswith("on for sglang(cache_order=dfs-weight, max_skip=4), which")
    assert said.endswith("off for fcfs (--prefix-cache turns it on)")
    assert line(shown([*words, "--prefix-cache"], capsys), "prefix cache") == "on"
    assert line(shown([*words, "--no-prefix-cache"], capsys), "prefix cache") == "off"
    assert line(shown(["run", *SMALL], capsys), "prefix cache") == ""


def test_programs_get_hits_and_tenants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "case.toml"
    file.write_text(f'prefix_cache = true\nprefix = "shared(200, n=2)"\ntenants = "{TENANTS}"\n')
    words = ["run", "--scenario", str(file), "--scheduler", "fair", "--prompt", "300", *SMALL]
    data: dict[str, Any] = json.loads(shown([*words, "--format", "json"], capsys))
    (row,) = data["result"]
    assert 0 < row["cached_frac_low"] <= row["cached_frac"] < 192 / 300
    assert row["cached_tokens"] % 192 == 0
    assert [each["goodput_frac"] for each in row["tenants"]] == [0.0, 1.0]
    resolved = data["provenance"]["resolved"]
    assert resolved["prefix_cache"] == {"fair": True}
    assert resolved["tenants"] == ["tenant(share=1, ttft_slo_s=0.001)", "tenant(share=1)"]
    assert "By tenant\nscheduler" in shown(words, capsys)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--prefix", "shard(10)"], "--prefix: unknown 'shard' (did you mean 'shared'?)"),
        (["--conversations", "turns(3)"], "--conversations: turns: think_s is needed"),
        (["--tenants", "tenant()"], "--tenants: tenant: share is needed"),
        (["--scheduler", "chunked(budget=3)"], "--scheduler: chunked: unknown option 'budget'"),
        (["--scheduler", "fcfs(max_skip=3)"], "max_skip: scheduler 'fcfs' does not have this option"),
        (["--prefix-cach"], "--prefix-cach"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *words, *SMALL]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_info_tells_the_options_and_the_budget_of_a_scheduler(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(["info", "cache_aware"], capsys)
    assert "cache_order=lpm | dfs-weight" in line(text, "options")
    assert "client_weights=[NUMBER, ...]" in line(shown(["info", "fair"], capsys), "options")
    text = shown(["info", "fcfs"], capsys)
    assert "32,768" in line(text, "budget rule")
    assert "cache_order" not in line(text, "options")
    text = shown(["info", "fair(client_weights=[1, 2], budget_tokens=99)"], capsys)
    assert line(text, "budget tokens" if "budget tokens" in text else "budget").startswith("99")
    assert main(["info", "x" * 300]) == 2
    assert "unknown preset" in capsys.readouterr().err
