"""Make ``fitted.csv`` anew: ``python -m validation.step_times DATA_FOLDER > fitted.csv``."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from qtheory.system.hardware.fitted import Efficiencies, generic_efficiencies

from .passes import Pass, by_group, read_passes
from .score import Ideal, errors_with, fitted, ideal_of
from .sources import attention_share, linear_passes, link_share, profiled_passes

Found = tuple[Efficiencies, "Ideal | None"]
_FOUR = ("mfu_frac", "mbu_frac", "attention_mbu_frac", "link_frac")
_NAMES = ("engine", "cards", *_FOUR, "median_frac", "p90_frac", "n_steps", "source")
_KERNELS = "passes composed from kernels measured by aiconfigurator 0.12.0 (NVIDIA, Apache-2.0)"
_PROFILE = (
    "passes composed from layers of vLLM 0.19 profiled by LLMServingSim @ 5daddb2 (CASYS Lab KAIST, MIT)"
)
_LINEAR = "linear operators profiled by Vidur @ 7d47513 (Microsoft, MIT)"
_FRONTIER = "attention by Frontier @ a4b22df (MIT) on"
_SAME = {
    "a100": "a100 a100-40gb a100-80gb-pcie a100-40gb-pcie",
    "h100": "h100 h100-pcie",
    "h200": "h200 gh200",
}
HEADER = """\
# Efficiencies of accelerators under an engine, fitted on measurements of others; made by
# `python -m validation.step_times`. The first of the cards was measured. median_frac and p90_frac: relative
# errors of the n_steps measured steps. What all rows share (SHAPE in fitted.py) was fitted once on all passes
# of aiconfigurator."""


def _row(passes: list[Pass], source: str, **known: float | None) -> Found:
    is_whole = passes[0].kind != "linear"
    ideal = ideal_of(passes, has_link=is_whole)
    fit = fitted(ideal)
    sizes = np.abs(errors_with(ideal, fit.values))
    is_split = is_whole and bool(ideal.steps.link.any())
    values = {name: fit.values[name] for name in _FOUR} | ({} if is_split else {"link_frac": None}) | known
    row = Efficiencies(
        engine=passes[0].engine,
        cards=tuple(_SAME.get(ideal.card, ideal.card).split()),
        **{name: None if value is None else round(value, 4) for name, value in values.items()},  # type: ignore[arg-type]
        median_frac=float(np.median(sizes)),
        p90_frac=float(np.quantile(sizes, 0.9)),
        n_steps=len(sizes),
        source=source,
    )
    return row, ideal if is_whole else None


def _rows(data: Path) -> Iterator[Found]:
    grids = [data / "aiconfigurator" / f"{name}_grid.csv" for name in ("forward_pass", "mixed_step")]
    for _, passes in by_group([row for path in grids for row in read_passes(path)]):
        yield _row(passes, _KERNELS)
    for gpu, card in (("rtx4090", "rtx4090"), ("rtxpro6000", "rtx-pro-6000")):
        yield _row(profiled_passes(data / "llmservingsim", gpu, card), _PROFILE)
    yield from _older(data / "vidur", data / "frontier")


def _older(vidur: Path, frontier: Path) -> Iterator[Found]:
    a800 = attention_share(frontier / "attention_a800_llama2_7b_mha32.csv", "a100", heads=32, head_dim=128)
    h100 = attention_share(frontier / "attention_h100_mha16.csv", "h100", heads=16, head_dim=128)
    both = ["linear_ops_a100_small.csv", "linear_ops_a100_large.csv"]
    for card, files, attention, told in (
        ("a100", both, a800, "A800"),
        ("h100", ["linear_ops_h100.csv"], h100, "H100"),
        ("a40", ["linear_ops_a40.csv"], None, ""),
    ):
        link = None if card == "a40" else min(1.0, link_share(vidur / "all_reduce.csv", f"{card}_dgx", card))
        passes = linear_passes([vidur / name for name in files], card)
        source = f"{_LINEAR}; {_FRONTIER} {told}" if told else _LINEAR
        yield _row(passes, source, attention_mbu_frac=attention, link_frac=link)


def main() -> int:
    """Print the table; 2 if the folder is not given."""
    if len(sys.argv) != 2:
        print("give the folder with aiconfigurator, vidur, frontier and llmservingsim", file=sys.stderr)
        return 2
    found = list(_rows(Path(sys.argv[1])))
    print(HEADER)
    writer = csv.DictWriter(sys.stdout, _NAMES, lineterminator="\n")
    writer.writeheader()
    for row in [*(row for row, _ in found), _generic(found)]:
        values = {name: getattr(row, name) for name in _NAMES} | {"cards": " ".join(row.cards)}
        shown = {
            name: f"{value:.4g}" if isinstance(value, float) else value for name, value in values.items()
        }
        writer.writerow({name: "" if value is None else value for name, value in shown.items()})
    return 0


def _generic(found: list[Found]) -> Efficiencies:
    """The middle of the accelerators, and how far off it was on each of them while it was left out."""
    rows = [row for row, _ in found]
    errors = []
    for row, ideal in found:
        if ideal is not None:
            errors.append(np.abs(errors_with(ideal, generic_efficiencies(row.cards[0], rows))))
    sizes = np.concatenate(errors)
    return Efficiencies(
        engine="generic",
        cards=(),
        **generic_efficiencies(rows=rows),
        median_frac=float(np.median(sizes)),
        p90_frac=float(np.quantile(sizes, 0.9)),
        n_steps=len(sizes),
        source="middle of all measured accelerators; errors on each of them while it was left out",
    )


if __name__ == "__main__":
    sys.exit(main())
