"""Every wrong input gets exit code 2, one line that names it and what would be right, and leaves no trace.

A row: words behind ``sched-sim``, then what the line holds. Files stand in the current folder (conftest).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from validation.cli.app import main

FLAGS = [
    ("runn", "runn", "did you mean 'run'", "compare"),
    ("--rate 3", "--rate", "behind a command"),
    ("run --rte 3", "--rte", "did you mean '--rate'"),
    ("run --max-seq 3", "--max-seq", "did you mean '--max-seqs'"),
    ("compare --scheduler fcfs", "--scheduler", "did you mean '--schedulers'"),
    ("sweep --rate 3", "--rate:", "did you mean '--rates'"),
    ("trace trace_nan.csv --rates 3", "--rates", "unknown flag"),
    ("info --duration 3", "--duration", "unknown flag"),
    ("run --rate", "--rate", "value is missing"),
    ("run --hardware --tp 2", "--hardware", "value is missing"),
    ("run --rate 2 --rate 3", "--rate", "more than once"),
    ("run chunked", "'chunked'", "nothing is expected"),
    ("compare --schedulers fcfs,", "--schedulers", "empty entry"),
    ("compare --schedulers fcfs chunked", "'chunked'", "commas"),
    ("run --rate fast", "--rate", "'fast'", "requests per second"),
    ("run --duration 10s", "--duration", "'10s'", "seconds"),
    ("run --ttft-slo-s 200ms", "--ttft-slo-s", "'200ms'", "seconds"),
    ("run --memory-frac 90%", "--memory-frac", "'90%'", "between 0 and 1"),
    ("run --memory-frac 90", "--memory-frac", "90", "at most 1"),
    ("run --budget-tokens 2k", "--budget-tokens", "'2k'", "tokens"),
    ("run --tp 1.5", "--tp", "'1.5'", "whole number"),
    ("run --max-seqs true", "--max-seqs", "'true'", "whole number"),
    ("run --rate nan", "--rate", "nan", "finite"),
    ("run --rate inf", "--rate", "inf", "finite"),
    ("run --rate -2", "--rate", "-2", "> 0"),
    ("run --duration 0", "--duration", "0", "> 0"),
    ("plan --model qwen2.5-0.5b --hardware l4 --price l5=1", "--price: unknown 'l5'", "did you mean 'l4'"),
    ("run --requests 0", "--requests", "0", ">= 1"),
    ("run --seed -1", "--seed", "-1", ">= 0"),
    ("run --watermark-frac 1.5 --duration 1", "watermark", "1.5", "below 1"),
    ("run --tpot-slo-s 0", "--tpot-slo-s", "> 0"),
    ("run --hardware= --tp 2", "--hardware", "empty"),
    ("run --scheduler chuncked --duration 1", "--scheduler", "'chuncked'", "did you mean 'chunked'"),
    ("run --scheduler disagregated --duration 1", "--scheduler", "did you mean 'disaggregated'"),
    ("run --prefill-replicas 2 --duration 1", "--prefill-replicas", "'chunked'", "disaggregated"),
    ("run --scheduler disaggregated --decode-replicas 0", "--decode-replicas", ">= 1"),
    ("run --scheduler disaggregated --replicas 4", "--replicas", "4", "1 + 1"),
    ("run --scheduler disaggregated --load-delay-s 1", "--load-delay-s"),
    ("run --scheduler disaggregated --first-token prefill", "--first-token", "did you mean 'prefill_end'"),
    ("run --scheduler disaggregated --link-bytes-per-s 0", "--link-bytes-per-s", "> 0"),
    ("compare --schedulers fcfs,slow", "'slow'", "did you mean 'slo'"),
    ("compare --schedulers fcfs,fcfs", "--schedulers", "'fcfs'", "twice"),
    ("run --victim oldest --duration 1", "--victim", "'oldest'", "last_admitted"),
    ("run --admission no-evict --duration 1", "--admission", "'no-evict'", "did you mean 'no_evict'"),
    ("run --weights bf61 --duration 1", "--weights", "'bf61'", "did you mean 'bf16'"),
    ("run --kv-dtype int2 --duration 1", "--kv-dtype", "'int2'", "int8"),
    ("run --tp 3 --duration 1", "--tp", "3", "does not divide"),
    ("run --step-time rooflin --duration 1", "--step-time", "'rooflin'", "did you mean 'roofline'"),
    ("run --step-time linear(base=1) --duration 1", "--step-time", "'base'", "did you mean 'base_s'"),
    ("run --arrivals poison --duration 1", "--arrivals", "'poison'", "did you mean 'poisson'"),
    ("run --arrivals gamma(cv=-2) --duration 1", "--arrivals", "cv", "-2"),
    ("run --prompt lognormal(mean=1000,vc=1) --duration 1", "--prompt", "vc", "did you mean 'cv'"),
    ("run --prompt lognormal(mean=1000 --duration 1", "--prompt", "lognormal(mean=1000"),
    ("run --output uniform(low=5,high=2) --duration 1", "--output", "low", "high"),
    ("run --correlation 2 --prompt 100 --output 10 --duration 1", "correlation", "2", "-1"),
    ("run --workload chatt --duration 1", "--workload", "'chatt'", "did you mean 'chat'"),
    ("run --duration 1 --requests 5", "--duration", "requests=5", "one of the two"),
    ("run --kv-blocks 1 --requests 9", "none of the 45 requests", "kv_blocks=1"),
    ("compare --schedulers fcfs,orca --budget-tokens 2 --requests 3", "none of the 15", "budget_tokens=2"),
    ("run --max-model-len-tokens 2 --requests 3", "none of the 15 requests", "max_model_len_tokens=2"),
    ("run --prompt 200000 --output 10 --requests 3", "none of the 15", "200000 tokens and 10 to write"),
    ("run --no-records --windows 5 --duration 1", "--no-records", "timeline"),
    ("run --no-records --plot a.png --duration 1", "--no-records", "plot"),
    ("run --no-records --steady", "--no-records", "steady state"),
    ("run --no-records --records-out a.csv --duration 1", "--no-records", "a file of records"),
    ("run --no-records --budget-tokens 20 --duration 1", "records: must be kept", "budget_tokens=20"),
    ("trace trace_good.csv --schedulers fcfs --scheduler slo", "--schedulers", "--scheduler"),
    ("sweep --hardware rtx3050 --requests 9 --ttft-slo-s inf --tpot-slo-s inf", "rates", "stays above 50 %"),
    ("info chat --format toml", "--format", "chat", "toml"),
    ("info --format toml", "--format", "one hardware or model"),
    ("run --format toml", "--format", "'toml'", "table, json, csv"),
    ("run --rate 0.001 --duration 1", "no request arrives", "rate_rps"),
    ("run --rate 1e9 --duration 1e9", "1,000,000,000,000,000,000 requests", "lower the rate"),
    ("run --arrivals closed(concurrency=4) --rate 3 --requests 9", "--rate", "no rate"),
    ("run --trace trace_huge.csv --prompt 100", "--prompt", "trace"),
    ("run --speed 2 --duration 1", "--speed", "without a trace"),
    ("run --format xml", "--format", "'xml'", "table, json, csv"),
    ("sweep --min-rate 2 --max-rate 8", "--step", "missing"),
    ("sweep --min-rate 8 --max-rate 2 --step 1", "--max-rate", "below", "--min-rate"),
    ("sweep --min-rate 1 --max-rate 9 --step -1", "--step", "> 0"),
    ("sweep --rates 2,4 --step 2", "--rates", "--step"),
    ("sweep --rates 2,,4", "--rates", "empty entry"),
    ("sweep --rates 2,0", "--rates", "0", "> 0"),
    ("sweep --rates 2 --goodput-frac 90", "--goodput-frac", "90", "at most 1"),
    ("sweep --min-rate 1 --max-rate 1e300 --step 1e-300", "--step", "at most 1000"),
    (f"sweep --rates {','.join(map(str, range(1, 1002)))}", "--rates", "1001", "at most 1000"),
    ("sweep --rates 2 --arrivals closed(concurrency=4) --requests 9", "--arrivals: closed", "no rate to"),
    ("sweep --arrivals closed(concurrency=4) --requests 9", "--arrivals: closed", "no rate to sweep"),
    ("run --rate \u0663", "--rate", "not a number"),
    ("run --tp \u0662", "--tp", "whole number"),
    ("sweep --rates \u0662,3", "--rates", "not a number"),
    ("run --windows 10001 --duration 1", "--windows", "10001", "10,000"),
    ("trace", "FILE", "missing"),
    ("trace trace_nan.csv --speed fast", "--speed", "'fast'"),
    ("run --windows -1 --duration 1", "--windows", "-1"),
    ("run --replications 0", "--replications", "0", ">= 1"),
    ("run --replications two", "--replications", "'two'", "whole number"),
    ("run --level 95", "--level", "95", "between 0 and 1"),
    ("run --level 0", "--level", "0", "between 0 and 1"),
    ("run --level 1", "--level", "1", "between 0 and 1"),
    ("run --precision 0", "--precision", "0", "above 0"),
    ("run --precision 0.01 --replications 1", "--replications", "at least 2"),
    ("run --precision 0.01 --max-requests 1000", "--max-requests", "1000", "50,000 requests"),
    ("run --steady --stop-s 5", "--stop-s", "5", "whole runs"),
    ("compare --jobs 0 --duration 1", "--jobs", "0", ">= 1"),
    ("compare --resume --duration 1", "--resume", "needs --out"),
    ("compare --resume --out a.json --records-out r.csv", "--resume", "--records-out"),
    ("trace trace_nan.csv --replications 2", "--replications", "unknown flag"),
    ("validate scenario folder", "scenario", "did you mean 'scenarios'"),
    ("validate scenarios", "DIR", "missing"),
    ("validate scenarios lost", "lost", "no such folder"),
    ("validate scenarios folder", "folder", "no case"),
    ("validate scenarios trace_nan.csv", "trace_nan.csv", "is a file"),
]  # fmt: skip

FILES = [
    ("run --scenario lost.toml", "lost.toml", "no such file"),
    ("run --scenario folder", "folder", "is a folder"),
    ("run --scenario empty.toml", "empty.toml", "empty"),
    ("run --scenario cut.toml", "cut.toml", "not valid TOML"),
    ("run --scenario unknown.toml", "unknown.toml", "rates_rps", "did you mean 'rate_rps'"),
    ("run --scenario type.toml", "type.toml", "tp", "'two'", "whole number"),
    ("run --scenario bool.toml", "bool.toml", "max_seqs", "whole number"),
    ("run --scenario negative.toml", "negative.toml", "rate_rps", "-1", "> 0"),
    ("sweep --rates 2 --scenario nan.toml", "nan.toml", "duration_s", "nan"),
    ("run --scenario nested.toml", "nested.toml", "workload"),
    ("compare --scenario binary.toml", "binary.toml", "not a text file"),
    ("run --scenario list.json", "list.json", "table"),
    ("run --scenario cut.json", "cut.json", "JSON"),
    ("run --hardware l4os --duration 1", "--hardware", "'l4os'", "did you mean 'l40s'"),
    ("run --hardware lost.toml --duration 1", "lost.toml", "cannot be read"),
    ("info --hardware card_unknown.toml", "card_unknown.toml", "bandwith", "'bandwidth_bytes_per_s'"),
    ("info --hardware card_missing.toml", "card_missing.toml", "memory_bytes", "missing"),
    ("info --hardware card_nan.toml", "card_nan.toml", "memory_bytes", "nan"),
    ("info --hardware card_percent.toml", "card_percent.toml", "mfu_frac", "65"),
    ("run --model qwen2.5-0.6b --duration 1", "--model", "'qwen2.5-0.6b'", "did you mean 'qwen2.5-0.5b'"),
    ("run --model config_cut.json --duration 1", "config_cut.json", "JSON"),
    ("run --model config_missing.json --duration 1", "config_missing.json", "hidden_size"),
    ("run --model config_negative.json --duration 1", "config_negative.json", "vocab_size", "-1000"),
    ("info --model config_type.json", "config_type.json", "num_hidden_layers", "'two'"),
    ("info config_huge.json", "config_huge.json", "hidden_size", "64000000000"),
    ("info config_family.json", "config_family.json", "model_type", "'sundial'"),
    ("info rtx3055", "rtx3055", "did you mean 'rtx3050'"),
    ("info rtx3050 --tp 2", "rtx3050", "cannot be combined"),
    ("run --hardware rtx3050 --model llama-3.1-8b --duration 1", "llama-3.1-8b", "fit", "tp"),
    ("trace lost.csv", "lost.csv", "no such file"),
    ("trace folder", "folder", "is a folder"),
    ("trace trace_empty.csv", "trace_empty.csv", "empty"),
    ("trace trace_header.csv", "trace_header.csv", "no"),
    ("trace trace_unsorted.csv", "trace_unsorted.csv", "row", "sort"),
    ("trace trace_negative.csv", "trace_negative.csv", "arrival_s", "-1"),
    ("trace trace_nan.csv", "trace_nan.csv", "arrival_s", "nan"),
    ("trace trace_word.csv", "trace_word.csv", "prompt_tokens", "'many'"),
    ("trace trace_zero.csv", "trace_zero.csv", "output_tokens", "0"),
    ("trace trace_half.csv", "trace_half.csv", "prompt_tokens", "200.5"),
    ("trace trace_huge.csv", "trace_huge.csv", "prompt_tokens", "200000000000"),
    ("trace trace_column.csv", "trace_column.csv", "promt_tokens", "prompt_tokens"),
    ("trace trace_cut.csv", "trace_cut.csv", "line 4", "3 columns"),
    ("compare --trace trace_cut.csv.gz", "trace_cut.csv.gz", "gzip"),
    ("run --trace trace_binary.csv", "trace_binary.csv", "text"),
    ("run --trace there.json", "there.json"),
    ("run --step-time table.csv --duration 1", "table.csv", "column"),
    ("run --lengths trace_header.csv --duration 1", "trace_header.csv"),
    ("run --out lost/a.json", "--out", "lost/a.json", "does not exist"),
    ("run --out there.json", "--out", "there.json", "--force"),
    ("run --out half.json --duration 1", "half.json.partial", "--resume", "--force"),
    ("run --out half.json --resume --duration 1", "half.json.partial", "line 1", "another scenario"),
    ("run --out broken.json --resume --duration 1", "broken.json.partial", "line 1", "--force"),
    ("run --trace trace_good.csv --replications 2", "--replications", "2", "all runs would be alike"),
    ("compare --trace trace_good.csv --steady", "--steady", "trace", "no steady state"),
    ("run --out folder --force", "--out", "folder", "is a folder"),
    ("run --out new/ --duration 1", "--out", "new/", "name of a folder"),
    (f"run --out {'x' * 300} --duration 1", "--out", "too long"),
    (f"run --out {'x' * 250} --duration 1", "--out", ".partial", "too long"),
    ("run --out loop --duration 1", "--out", "loop", "links"),
    ("sweep --rates 2 --plot loop.svg", "--plot", "loop.svg", "links"),
    ("knee --trace trace_once.csv --schedulers chunked", "trace_once.csv", "come at one moment", "no knee"),
    ("sweep --trace trace_once.csv", "trace_once.csv", "come at one moment", "to sweep"),
    ("sweep --trace trace_once.csv --rates 1,2", "rate_rps: 1 given", "come at one moment"),
    ("plan --model qwen2.5-0.5b --hardware l4 --trace trace_once.csv", "come at one moment", "a plan needs"),
    ("calibrate steps.csv --in-flight 0", "--in-flight: 0", ">= 1"),
    ("calibrate steps.csv --sent-rate -1", "--sent-rate: -1", "> 0"),
    ("calibrate object.json", "object.json: not a result", "no key"),
    ("knee --level 0", "--level", "0", "between 0 and 1"),
    ("trace trace_good.csv --out trace_good.csv --force", "--out", "trace_good.csv", "is read"),
    ("run --trace trace_good.csv --records-out trace_good.csv --force", "--records-out", "is read"),
    ("run --scenario good.toml --duration 1 --out good.toml --force", "--out", "good.toml", "is read"),
    ("run --lengths trace_good.csv --duration 1 --out trace_good.csv --force", "--out", "is read"),
    ("info card_good.toml --out card_good.toml --force", "--out", "card_good.toml", "is read"),
    ("info --hardware card_good.toml --out card_good.toml --force", "--out", "is read"),
    ("validate sweeps sweep.toml --out trace_good.csv --force", "--out", "trace_good.csv", "is read"),
    ("validate sweeps sweep.toml --out card_good.toml --force", "--out", "card_good.toml", "is read"),
    (
        "validate claims --data . --out distserve/a100_latency_fits.csv --force",
        "--out",
        "a100_latency_fits.csv",
        "is read",
    ),
    ("validate scenarios . --out there.json --force", "--out", "there.json", "is read"),
    ("info --out there.json", "--out", "there.json", "--force"),
    ("sweep --rates 2 --plot a.gif", "--plot", "a.gif", ".png, .svg, .pdf"),
    ("compare --plot a.svg --out a.svg", "--plot", "a.svg", "--out"),
    ("trace trace_nan.csv --records-out there.json", "--records-out", "there.json", "--force"),
    ("validate scenarios folder --out there.json", "--out", "there.json", "--force"),
]  # fmt: skip


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("row", FLAGS + FILES, ids=lambda row: row[0])
def test_bad_input_is_answered_in_one_line_and_leaves_nothing(
    row: tuple[str, ...], bad_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = everything(bad_folder)
    code = main(row[0].split())
    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("sched-sim: ")
    missing = [part for part in row[1:] if part not in shown.err]
    assert not missing, shown.err
    assert len(shown.err) <= 400
    assert everything(bad_folder) == before


def test_no_row_of_the_table_is_there_twice() -> None:
    words = [row[0] for row in FLAGS + FILES]
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("words", ["run --rte 3", "run --scenario cut.toml"])
def test_the_installed_command_answers_alike(words: str, bad_folder: Path) -> None:
    call = [sys.executable, "-m", "validation.cli", *words.split()]
    done = subprocess.run(call, cwd=bad_folder, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
