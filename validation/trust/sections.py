"""The tables of the page, each from a checker that runs on its own as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType

from qtheory.basics.errors import ConfigError
from validation.claims import check_claims
from validation.peer_des import check_peer
from validation.serving_points import check_points
from validation.step_times import check_step_times
from validation.step_times.check import StepTimeCheck

from .row import Miss, Row, rows_of, table
from .sweep_rows import measured_sweeps

__all__ = ["SECTIONS", "claim", "engine_replayed", "serving_points", "step_times"]

_GRIDS = {"forward_pass_grid.csv": "one kind of work", "mixed_step_grid.csv": "mixed steps"}
_MEASURED = {
    "preset": "fitted on it",
    "fitted here": "fitted on it",
    "generic": "datasheet and middle of others",
}
_ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM"}
_BANDS = ((8, "up to 8 in flight"), (32, "9 to 32 in flight"), (10**9, "above 32 in flight"))
_SHORT = ("ttft", "itl", "tpot", "e2e")
_TIMES = (*_SHORT, "first_token", "last_token", "duration", "throughput", "goodput")


def step_times(data: Path) -> str:
    """Step times against passes composed from measured kernels: in sample, and an accelerator left out.

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
    >>> step_times(Path("none"))
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: none/aiconfigurator/forward_pass_grid.csv: cannot be read: no such file
    """
    rows = []
    for name, load in _GRIDS.items():
        found = check_step_times(data / "aiconfigurator" / name).checks
        rows += [row for check in found for row in _step_rows(check, load)]
    return table(rows)


def _step_rows(check: StepTimeCheck, load: str) -> Iterator[Row]:
    """A check of one accelerator; sums over all and models left out have a place of their own."""
    if check.test == "model left out" or check.constants not in _MEASURED:
        return
    hardware, _, engine = check.name.partition(" ")
    yield Row(
        hardware=hardware,
        engine=_ENGINES.get(engine, engine or "all"),
        metric="step time",
        load=load,
        setting=_MEASURED[check.constants],
        route="step time",
        unit="%",
        n=check.n_passes,
        median=100 * check.median_frac,
        p90=100 * check.p90_frac,
    )


def serving_points(data: Path) -> str:
    """Mean TTFT and TPOT of measured closed loops, by requests in flight.

    Parameters
    ----------
    data : Path
        Folder of published measurements.

    Raises
    ------
    ConfigError
        If the file is missing or cannot be read.

    Examples
    --------
    >>> serving_points(Path("no/such"))
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/aiconfigurator/serving_dense.csv: cannot be read: no such file
    """
    return table(rows_of(_point_misses(data / "aiconfigurator" / "serving_dense.csv")))


def _point_misses(path: Path) -> Iterator[Miss]:
    for row in check_points(path).rows():
        in_flight = int(row["in_flight"])
        load = next(name for most, name in _BANDS if in_flight <= most)
        for metric in ("tpot", "ttft"):
            if metric == "ttft" and row["engine"] == "trtllm":  # its start-up is in the mean
                continue
            for route, begin in (("theory", "predicted"), ("simulation", "simulated")):
                found = row[f"{begin}_{metric}_s"]
                if found is None:
                    continue
                yield Miss(
                    hardware=f"{row['hardware']} x {row['tp']}",
                    engine=_ENGINES[row["engine"]],
                    metric=f"mean {metric.upper()}",
                    load="memory full" if row["is_kv_bound"] else load,
                    setting="one choice an engine, on these rows",
                    route=route,
                    unit="%",
                    error=100 * abs(found / row[f"{metric}_s"] - 1),
                )


def claim(name: str) -> Callable[[Path], str]:
    """The section of a claim on published measurements.

    Parameters
    ----------
    name : str
        Of the claim.

    Examples
    --------
    >>> claim("mlperf")(Path("no/such"))
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: data: no/such is not a folder
    """

    def section(data: Path) -> str:
        results = check_claims([name], data=data)
        if results.n_not_run:
            raise ConfigError(results.results[0].missing)
        return table(rows_of(_claim_miss(point) for point in results.points()))

    return section


def _claim_miss(point: dict[str, object]) -> Miss:
    is_share = point["unit"] == "points"
    words = {key: str(point[key]) for key in ("hardware", "engine", "metric", "load", "setting", "route")}
    error = float(str(point["error"]))
    return Miss(**words, unit="points" if is_share else "%", error=error if is_share else 100 * error)


def engine_replayed(data: Path) -> str:
    """A published engine's answers on given inputs: the rules alone, since step times are given.

    Parameters
    ----------
    data : Path
        Folder of published measurements.

    Raises
    ------
    ConfigError
        If the folder is missing or cannot be read.

    Examples
    --------
    >>> engine_replayed(Path("no/such"))
    Traceback (most recent call last):
    ...
    qtheory.basics.errors.ConfigError: no/such/peer_des: no such folder
    """
    folder = data / "peer_des"
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder")
    return table(rows_of(_peer_misses(folder)))


def _peer_misses(folder: Path) -> Iterator[Miss]:
    for one in check_peer(folder).comparisons():
        metric = next((name for name in _TIMES if name in one["column"]), None)
        if metric is None or not one["expected"]:
            continue
        rules = one["id"].partition("-")[2].partition("_")[0].partition("-")[0]
        yield Miss(
            hardware="given step times",
            engine=f"rules of {_ENGINES.get(rules, rules)}",
            metric=metric.upper() if metric in _SHORT else metric.replace("_", " "),
            load="all inputs",
            setting="nothing fitted",
            route="simulation",
            unit="%",
            error=100 * abs(one["got"] / one["expected"] - 1),
        )


SECTIONS = MappingProxyType(
    {
        "step-times": step_times,
        "serving-points": serving_points,
        "mlperf": claim("mlperf"),
        "distserve": claim("distserve"),
        "splitwise-batches": claim("splitwise-batches"),
        "sarathi-chunks": claim("sarathi-chunks"),
        "sweeps": measured_sweeps,
        "peer-des": engine_replayed,
    }
)
"""What writes each table of the page, by the name that stands in front of it."""
