"""Accelerators by name and from files."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import Hardware, find_hardware, hardware_names
from qtheory.system.hardware import presets as presets_module
from qtheory.system.specfile import folded

OWN = """
memory_bytes = 24e9
bandwidth_bytes_per_s = 1e12
link_bytes_per_s = 32e9
mfu_frac = 0.5
[peak_flops_per_s]
bf16 = 100e12
"""
# Accelerators that the published data name and that have no preset: no datasheet at hand, processors, pairs
# on one board, a lowered power limit, or text that names two.
NOT_PRESETS = {
    "Apple M2 Ultra (76-core GPU)",
    "Apple M3 Ultra (80-core GPU)",
    "Apple M4 Max (40-core GPU)",
    "H100 NVL",
    "NVIDIA H100-NVL-94GB",
    "NVIDIA H200-NVL-141GB",
    "NVIDIA Jetson AGX Orin 64G",
    "NVIDIA Jetson AGX Thor 128G",
    "INTEL(R) XEON(R) 6787P (CPU)",
    "INTEL(R) XEON(R) 6980P (CPU)",
    "Intel Max 1550",
    "h100-80gb-pcap",
    "Intel PVC GPU",
    "SambaNova SN40L",
    "[MAXSUN] MS-Intel Arc Pro B60 Dual 48G Turbo",
    "AMD Instinct MI325X 256GB HBM3E (x16), AMD Instinct MI300X 192GB HBM3 (x8)",
    "A100-80GB or H20-96GB (8 replicas x 1 GPU; manifest allows both)",
}


@pytest.mark.parametrize("name", hardware_names())
def test_every_preset_loads_and_names_its_source(name: str) -> None:
    card = find_hardware(name)
    assert card.name == name
    assert len(card.source) > 20


def test_no_spelling_belongs_to_two_presets() -> None:
    owner: dict[str, str] = {}
    for name, values in presets_module._table().items():
        for spelling in [name, *values["aliases"]]:
            assert owner.setdefault(folded(spelling), name) == name


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("A100 80GB SXM", "a100"),
        ("a100", "a100"),
        ("A100-PCIe-80GB", "a100-80gb-pcie"),
        ("A100 40GB", "a100-40gb"),
        ("H100_SXM", "h100"),
        ("h100 pcie", "h100-pcie"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("AMD Instinct MI300X 192GB HBM3", "mi300x"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("Tesla T4", "t4"),
        ("RTX_3050", "rtx3050"),
        ("rtx 3050 8gb", "rtx3050-8gb"),
    ],
)
def test_spellings_find_the_usual_variant(spelling: str, name: str) -> None:
    assert find_hardware(spelling).name == name


def test_short_names_mean_what_the_datasheets_say() -> None:
    a100, h100, laptop = find_hardware("a100"), find_hardware("h100"), find_hardware("rtx3050")
    assert (a100.memory_bytes, a100.bandwidth_bytes_per_s, a100.link_bytes_per_s) == (
        80 * 2**30,
        2.039e12,
        300e9,
    )
    assert (h100.flops_per_s("bf16"), h100.flops_per_s("fp8"), h100.bandwidth_bytes_per_s) == (
        989e12,
        1979e12,
        3.35e12,
    )
    assert (laptop.memory_bytes, laptop.bandwidth_bytes_per_s, laptop.budget_tokens) == (
        6 * 2**30,
        168e9,
        512,
    )


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"hardware: unknown 'a10'.*did you mean") as caught:
        find_hardware("a10")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["", " ", "\x00", "x" * 5000, "a\nb", "nvidia", "no/such.toml", "\x00.json"])
def test_odd_names_are_refused_in_one_line(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find_hardware(name)
    assert "\n" not in str(caught.value)


def test_a_file_describes_a_card_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "bench.toml"
    path.write_text(OWN)
    card = find_hardware(str(path))
    assert (card.name, card.mfu_frac, card.flops_per_s("bf16")) == ("bench", 0.5, 100e12)
    assert find_hardware(path) == card


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (OWN.replace("mfu_frac", "mfu_fraction"), r"mfu_fraction: unknown key \(did you mean 'mfu_frac'"),
        (OWN.replace("memory_bytes = 24e9", ""), "memory_bytes: missing; a Hardware needs it"),
        (
            "mfu_frac = 0.5",
            "peak_flops_per_s, memory_bytes, bandwidth_bytes_per_s: missing; a Hardware needs them",
        ),
        (OWN.replace("memory_bytes = 24e9", "memory_gb = 24"), r"'memory_bytes'\?\); 1 GB is 1e9 bytes"),
        ("link_latency_ms = 1" + OWN, r"'link_latency_s'\?\); 1 ms is 1e-3 s"),
        (OWN.replace("32e9", "true"), "link_bytes_per_s: True is not a number"),
        (OWN.replace("24e9", "nan"), "memory_bytes: nan"),
        (OWN.replace("24e9", "-24e9"), "memory_bytes: -2.4e"),
        (OWN.replace("24e9", '"24 GB"'), "memory_bytes: '24 GB' is not a number"),
        (OWN.replace("0.5", "1.5"), "mfu_frac: 1.5 is outside"),
        (OWN.replace("bf16", "bf61"), "peak_flops_per_s: unknown 'bf61'"),
        (OWN[:-20], "bench.toml: "),
    ],
)
def test_a_faulty_file_is_refused_with_file_key_and_value(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "bench.toml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=said) as caught:
        find_hardware(path)
    assert str(caught.value).startswith(str(path))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.shared
def test_presets_carry_the_datasheet_values(shared: Path) -> None:
    peaks = {"fp16": "fp16_dense_tflops", "bf16": "bf16_dense_tflops", "fp8": "fp8_dense_tflops"}
    peaks |= {"int8": "int8_dense_tops", "fp4": "fp4_dense_tflops"}
    rows = [row for row in _rows(shared / "data/hardware/gpus.csv") if row["confidence"] != "low"]
    assert len(rows) == len(hardware_names())
    for row in rows:
        card = find_hardware(row["gpu"])
        given = {name: float(row[column]) * 1e12 for name, column in peaks.items() if row[column]}
        assert dict(card.peak_flops_per_s) == pytest.approx(given)
        assert card.bandwidth_bytes_per_s == pytest.approx(float(row["mem_bw_gbs"]) * 1e9)
        assert 15 / 16 <= card.memory_bytes / (float(row["mem_gb"]) * 2**30) <= 1
        assert card.tdp_w == (float(row["tdp_w"]) if row["tdp_w"] else None)
        if row["scaleup_gbs_per_gpu_bidir"]:
            assert card.link_bytes_per_s == float(row["scaleup_gbs_per_gpu_bidir"]) * 1e9 / 2


@pytest.mark.shared
def test_spellings_of_the_published_data_are_known(shared: Path) -> None:
    sources = {"gpu", "hardware", "accelerator"}
    unknown: set[str] = set()
    seen: set[str] = set()
    for path in (shared / "data").rglob("*.csv"):
        for row in _rows(path):
            seen |= {row[column] for column in sources & row.keys() if row[column]}
    seen |= {"h100_sxm", "h200_sxm", "a100_sxm", "b200_sxm", "gb200"}
    for spelling in seen - NOT_PRESETS:
        try:
            assert isinstance(find_hardware(spelling), Hardware)
        except ConfigError:
            unknown.add(spelling)
    assert len(seen) > 80
    assert unknown == set()
