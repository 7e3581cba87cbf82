"""Scenario files: what is read, what wins, and what is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.config import load_scenario
from qtheory.system.scenario import Scenario
from qtheory.system.workload import workload_of

TOML = 'hardware = "h100"\ntp = 2\nrate_rps = 3\nttft_slo_s = inf\n'
EXPECTED = Scenario(hardware="h100", tp=2, rate_rps=3.0, ttft_slo_s=float("inf"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.toml", TOML.encode()),
        ("a.toml", b"\xef\xbb\xbf" + TOML.replace("\n", "\r\n").encode()),
        ("a.scenario", TOML.encode()),
        ("a.json", b'{"hardware": "h100", "tp": 2, "rate_rps": 3, "ttft_slo_s": Infinity}'),
        ("a", b'\xef\xbb\xbf\r\n{"hardware": "h100",\r\n"tp": 2, "rate_rps": 3, "ttft_slo_s": Infinity}'),
    ],
)
def test_a_scenario_is_read_from_toml_and_json(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert load_scenario(path) == load_scenario(str(path)) == EXPECTED


def test_a_whole_number_stands_for_any_number(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"rate_rps": 3}')
    rate = load_scenario(path).rate_rps
    assert rate == 3.0
    assert isinstance(rate, float)


def test_without_a_file_there_are_the_defaults() -> None:
    assert load_scenario() == Scenario()


def test_flags_win_over_the_file_and_leave_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(TOML)
    changed = load_scenario(path, {"rate_rps": 9.0, "seed": 4})
    assert (changed.rate_rps, changed.seed, changed.hardware, changed.tp) == (9.0, 4, "h100", 2)


def test_what_a_scenario_has_changed_makes_it_again(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(EXPECTED.changed()))
    assert load_scenario(path) == EXPECTED


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("rates_rps = 3", "rates_rps: unknown key (did you mean 'rate_rps'?)"),
        ("Hardware = 'a100'", "Hardware: unknown key (did you mean 'hardware'?)"),
        ("tp = 'two'", "tp: 'two' is not a whole number"),
        ("tp = 2.0", "tp: 2 is not a whole number"),
        ("tp = true", "tp: True is not a whole number"),
        ("rate_rps = '3'", "rate_rps: '3' is not a number"),
        ("rate_rps = false", "rate_rps: False is not a number"),
        ("hardware = 3", "hardware: 3 is not a string"),
        ("[workload]\nname = 'chat'", "workload: {'name': 'chat'} is not a string"),
        ("prompt = " + str([0] * 99), "prompt: [0, 0, 0"),
        ("rate_rps = -1", "rate_rps: -1.0 must be > 0"),
        ("rate_rps = nan", "rate_rps: nan is not a finite number"),
        ("memory_frac = 90", "memory_frac: 90.0 must be above 0 and at most 1"),
        (f"rate_rps = {10**400}", "rate_rps: 1e+400 is too large for any quantity"),
        (f"kv_blocks = {10**30}", "kv_blocks: 1e+30 is too large; at most 1,000,000,000"),
        ("prompt = true", "prompt: True is not a string"),
        ("rate_rps = ", "not valid TOML"),
        ("hardware = " + "[" * 20_000 + "]" * 20_000, "not valid TOML: nested too deeply"),
        ('{"hardware": ' + "[" * 20_000 + "]" * 20_000 + "}", "not valid JSON: nested too deeply"),
        ('{"trace": "\\ud800"}', "'\\ud800' is half a character; write the whole one"),
        ('{"tp": 1, "tp": 2}', "not valid JSON: key 'tp' is given twice; leave one out"),
        ('{"rate_rps": 3', "not valid JSON"),
        ("", "is empty"),
        ("# nothing yet", None),
    ],
)
def test_a_faulty_file_is_one_line_with_file_key_and_value(
    tmp_path: Path, content: str, said: str | None
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    if said is None:  # a file of comments says nothing, so everything has its default
        assert load_scenario(path) == Scenario()
        return
    with pytest.raises(ConfigError) as caught:
        load_scenario(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {said}")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 150


def test_a_file_must_hold_whatever_the_flags_say(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("rate_rps = -1")
    with pytest.raises(ConfigError, match=r"mine.toml: rate_rps: -1"):
        load_scenario(path, {"rate_rps": 2.0})


def test_a_flag_out_of_range_is_not_blamed_on_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("rate_rps = 1")
    with pytest.raises(ConfigError, match=r"^seed: -1 must be"):
        load_scenario(path, {"seed": -1})


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_scenario(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="is a folder; give a TOML or JSON file"):
        load_scenario(tmp_path)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not a text file"):
        load_scenario(path)


def test_a_plain_number_stands_for_a_law_of_lengths(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("prompt = 1000.5\noutput = 300")
    lengths = workload_of(load_scenario(path)).lengths
    assert (lengths.mean_prompt_tokens, lengths.mean_output_tokens) == (1001.0, 300.0)


@pytest.mark.parametrize(
    ("key", "text", "there", "found"),
    [
        ("hardware", "card.toml", "card.toml", "{}/card.toml"),
        ("hardware", "card.toml", None, "card.toml"),
        ("hardware", "a100", "a100", "a100"),  # a preset, whatever stands beside the scenario
        ("model", "my/config.json", "my/config.json", "{}/my/config.json"),
        ("model", "my/model", "my/model/config.json", "{}/my/model"),
        ("step_time", "steps.csv", "steps.csv", "{}/steps.csv"),
        ("step_time", "linear(base_s=0.1)", None, "linear(base_s=0.1)"),
        ("trace", "requests", "requests", "{}/requests"),
        ("lengths", "pairs", "pairs", "{}/pairs"),
        ("lengths", "quantiles(q.csv, client=7)", "q.csv", "quantiles({}/q.csv, client=7)"),
        ("lengths", "quantiles(q.csv", "q.csv", "quantiles(q.csv"),
        ("arrivals", "profile('r.csv', cv=2)", "r.csv", "profile({}/r.csv, cv=2)"),
        ("arrivals", "profile(rates=[1], lengths_s=[2])", None, "profile(rates=[1], lengths_s=[2])"),
        ("arrivals", "gamma(cv=2)", None, "gamma(cv=2)"),
        ("workload", "chat", "chat", "chat"),
    ],
)
def test_files_are_looked_for_beside_the_scenario_first(
    key: str, text: str, there: str | None, found: str, tmp_path: Path
) -> None:
    if there is not None:
        (tmp_path / there).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / there).write_text("x")
    path = tmp_path / "a.json"
    path.write_text(json.dumps({key: text}))
    assert getattr(load_scenario(path), key) == found.format(tmp_path)


def test_an_absolute_name_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("x")
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"trace": str(tmp_path / "trace.csv")}))
    assert load_scenario(path).trace == str(tmp_path / "trace.csv")
