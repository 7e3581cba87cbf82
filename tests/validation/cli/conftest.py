"""For the table of bad input: files that are wrong in one way each, by name."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

TRACE = b"arrival_s,prompt_tokens,output_tokens\n0.0,100,10\n1.5,200,5\n3.0,50,20\n"
CONFIG = (
    b'{"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128, '
    b'"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, '
    b'"max_position_embeddings": 4096}'
)
CARD = (
    b"peak_flops_per_s = { bf16 = 100e12 }\nmemory_bytes = 24e9\nbandwidth_bytes_per_s = 1e12\n"
    b"link_bytes_per_s = 32e9\n"
)

BAD_FILES = {
    "empty.toml": b"",
    "cut.toml": b'hardware = "rtx30',
    "unknown.toml": b"rates_rps = 2.0\n",
    "type.toml": b'tp = "two"\n',
    "negative.toml": b"rate_rps = -1.0\n",
    "nan.toml": b"duration_s = nan\n",
    "bool.toml": b"max_seqs = true\n",
    "binary.toml": bytes(range(256)),
    "list.json": b"[1, 2]",
    "cut.json": b'{"tp": 1, ',
    "nested.toml": b"[workload]\nrate_rps = 2.0\n",
    "config_cut.json": CONFIG[:-30],
    "config_missing.json": CONFIG.replace(b'"hidden_size": 64, ', b""),
    "config_negative.json": CONFIG.replace(b'"vocab_size": 1000', b'"vocab_size": -1000'),
    "config_type.json": CONFIG.replace(b'"num_hidden_layers": 2', b'"num_hidden_layers": "two"'),
    "config_huge.json": CONFIG.replace(b'"hidden_size": 64', b'"hidden_size": 64000000000'),
    "config_family.json": CONFIG.replace(b'"llama"', b'"sundial"').replace(b"intermediate_size", b"inner"),
    "card_unknown.toml": CARD + b"bandwith = 1\n",
    "card_missing.toml": CARD.replace(b"memory_bytes = 24e9\n", b""),
    "card_nan.toml": CARD.replace(b"memory_bytes = 24e9", b"memory_bytes = nan"),
    "card_percent.toml": CARD + b"mfu_frac = 65\n",
    "trace_empty.csv": b"",
    "trace_header.csv": TRACE.splitlines()[0] + b"\n",
    "trace_unsorted.csv": TRACE.replace(b"1.5,", b"4.5,"),
    "trace_negative.csv": TRACE.replace(b"0.0,", b"-1.0,"),
    "trace_nan.csv": TRACE.replace(b"1.5,", b"nan,"),
    "trace_word.csv": TRACE.replace(b",200,", b",many,"),
    "trace_zero.csv": TRACE.replace(b",5\n", b",0\n"),
    "trace_half.csv": TRACE.replace(b",200,", b",200.5,"),
    "trace_huge.csv": TRACE.replace(b",200,", b",200000000000,"),
    "trace_column.csv": TRACE.replace(b"prompt_tokens", b"promt_tokens"),
    "trace_cut.csv": TRACE[:-6],
    "trace_cut.csv.gz": gzip.compress(TRACE * 40, mtime=0)[:-20],
    "trace_binary.csv": bytes(range(256)) * 4,
    "table.csv": b"n_decodes,prefill_tokens\n1,0\n",
    "trace_good.csv": TRACE,
    "trace_once.csv": b"arrival_s,prompt_tokens,output_tokens\n0.5,100,10\n0.5,200,5\n",
    "sweep.toml": b'[[sweep]]\nfile = "trace_good.csv"\nsweep_id = "a"\nrole = "datasheet"\n'
    b'hardware = "card_good.toml"\nmodel = "llama-3.1-8b"\n',
    "distserve/a100_latency_fits.csv": b"precious",
    "steps.csv": b"n_decodes,decode_context_tokens,prefill_tokens,step_ms\n1,100,0,9\n",
    "object.json": b"{}",
    "good.toml": b'hardware = "rtx3050"\n',
    "card_good.toml": CARD,
    "there.json": b"precious",
    "half.json.partial": b'{"key": "0", "result": {}, "values": {}, "stepwise": null}\n',
    "broken.json.partial": b"nothing\n",
}


@pytest.fixture(name="bad_folder")
def _bad_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with all of these files and an empty folder in it."""
    (tmp_path / "distserve").mkdir()
    for name, content in BAD_FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    for name in ("loop", "loop.svg"):
        (tmp_path / name).symlink_to(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path
