"""The table of measured sweeps: errors of what nothing was fitted on, a miss a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from qtheory.basics.errors import ConfigError
from validation.sweeps import SweepResults, check_sweeps, find_manifest

from .row import Miss, rows_of, table

__all__ = ["measured_sweeps", "sweep_misses", "sweep_table"]

_ENGINES = MappingProxyType(
    {
        "inference_sim": "vLLM",
        "mlenergy": "vLLM",
        "nerdalert": "vLLM",
        "kubecon": "vLLM",
        "dstack": "vLLM 2024",
        "datacrunch": "SGLang 2024",
        "slora": "S-LoRA",
    }
)
"""What served the sweeps of each manifest that comes with the package."""
_WITH_DATA = ("inference_sim", "mlenergy", "nerdalert")  # their data are not in the package
_METRICS = {
    "plateau_rps": "largest rate served",
    "knee_rps": "rate at the knee",
    "ttft": "TTFT before the knee",
    "tpot": "TPOT",
}
_ROUTES = {"simulator": "simulation", "theory": "theory"}


def measured_sweeps(data: Path) -> str:
    """Sweeps of the manifests that come with the package: what they foretell, against what was measured.

    Parameters
    ----------
    data : Path
        Folder of published measurements.

    Raises
    ------
    ConfigError
        If a file is missing or cannot be read.

    Examples
    --------
    >>> measured_sweeps(Path("no/such"))
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/benchmarks: no such folder
    """
    folder = data / "benchmarks"
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder")
    misses: list[Miss] = []
    for name, engine in _ENGINES.items():
        results = check_sweeps(find_manifest(name), data=folder if name in _WITH_DATA else None)
        misses += sweep_misses(results, engine)
    return sweep_table(misses)


def sweep_table(misses: Sequence[Miss]) -> str:
    """All sweeps together, then by accelerator and engine.

    Parameters
    ----------
    misses : sequence of Miss

    Examples
    --------
    >>> len(sweep_table([]).splitlines())
    2
    """
    together = [replace(miss, hardware="all", engine="all") for miss in misses]
    return table(rows_of([*together, *misses]))


def sweep_misses(results: SweepResults, engine: str) -> Iterator[Miss]:
    """What a manifest foretells and was measured, a miss a sweep, quantity and route.

    Parameters
    ----------
    results : SweepResults
    engine : str
        What served.

    Examples
    --------
    >>> list(sweep_misses(SweepResults(results=()), "vLLM"))
    []
    """
    for result in results.results:
        scenario = result.sweep.scenario
        if result.sweep.role == "calibrate":
            continue
        for route in result.routes:
            for each in route.compared:
                if each.error_frac is None or each.quantity not in _METRICS:
                    continue
                yield Miss(
                    hardware=scenario.hardware
                    if scenario.tp == 1
                    else f"{scenario.hardware} x {scenario.tp}",
                    engine=engine,
                    metric=_METRICS[each.quantity],
                    load="a sweep each",
                    setting="fitted on other rows or models",
                    route=_ROUTES[route.name],
                    unit="%",
                    error=100 * abs(each.error_frac),
                )
