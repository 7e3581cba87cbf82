"""Our own models: limits in which their answer is known, and how far they are from the simulator."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.predict import predict
from qtheory.queues.batch import UnlimitedBatchQueue
from qtheory.queues.single import MD1
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.workload.from_scenario import workload_of

from ._answers import mean_response_s
from .own_errors import errors_markdown, kept_rows
from .table import Row, Table

__all__ = ["Errors", "tables"]

BASE_S, SLOPE_S = 0.02, 0.01
"""Seconds of a step, and of a prompt in it."""
_PROMPT_TOKENS, _ENDLESS = 16, 2**18
_LOADS = (0.3, 0.6)
_DECODES, _TOKEN_S, _RATE_RPS = 200, 2e-4, 10.0
_CLOSE, _SHARED, _ONE_BY_ONE = 0.002, 0.005, 0.09
"""Relative distances allowed: of batches, of processor sharing, and where cells cut single prompts worst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors(Table):
    """The stored errors against the simulator, which are shown and not judged."""

    def markdown(self) -> str:
        """The table in Markdown, without a line end."""
        return errors_markdown(kept_rows())


def _scenario(**changes: object) -> Scenario:
    plain = {
        "hardware": "a100",
        "model": "llama-3.1-8b",
        "kv_blocks": 1_000_000,
        "max_seqs": 4096,
        "rate_rps": 1.0,
    }
    return Scenario(**plain | changes)  # type: ignore[arg-type]


def _batches_row(scheduler: str, load: float) -> Row:
    """Prompts of one length and one output token: all that wait go into a step."""
    rate_rps = load / SLOPE_S
    scenario = _scenario(
        scheduler=scheduler,
        step_time=f"linear(base_s={BASE_S},per_token_s={SLOPE_S / _PROMPT_TOKENS!r})",
        prompt=f"constant({_PROMPT_TOKENS})",
        output="constant(1)",
        budget_tokens=_ENDLESS,
    )
    exact_s = mean_response_s(UnlimitedBatchQueue(rate_rps=rate_rps, base_s=BASE_S, slope_s=SLOPE_S))
    return Row(
        case=f"{scheduler}, outputs of one token, load {load:g}: mean TTFT, ms",
        source=f"{1e3 * exact_s:.3f}",
        ours=1e3 * predict(replica_of(scenario), workload_of(scenario), rate_rps=rate_rps).mean_ttft_s,
        origin="library",
        within=_CLOSE * 1e3 * exact_s,
    )


def _one_by_one_row(load: float) -> Row:
    """One prompt fills a step, and there are no decodes: M/D/1."""
    scenario = _scenario(
        scheduler="chunked",
        step_time="linear(base_s=0.1)",
        prompt="constant(64)",
        output="constant(1)",
        budget_tokens=64,
    )
    rate_rps = load / 0.1
    exact_s = mean_response_s(MD1(rate_rps=rate_rps, service_s=0.1))
    return Row(
        case=f"chunked, one prompt a step, load {load:g}: mean TTFT, ms",
        source=f"{1e3 * exact_s:.3f}",
        ours=1e3 * predict(replica_of(scenario), workload_of(scenario), rate_rps=rate_rps).mean_ttft_s,
        origin="library",
        within=_ONE_BY_ONE * 1e3 * exact_s,
    )


def _sharing_row() -> Row:
    """Hardly any prompt: processor sharing, whose mean follows from the line of the step times."""
    scenario = _scenario(
        scheduler="chunked",
        step_time=f"linear(base_s={0.01},per_token_s={_TOKEN_S})",
        prompt="constant(1)",
        output=f"constant({_DECODES + 1})",
    )
    offered = _RATE_RPS * _DECODES
    expected = offered * (0.01 + _TOKEN_S) / (1 - offered * _TOKEN_S)
    return Row(
        case="chunked, prompts of one token: requests that decode",
        source=f"{expected:.2f}",
        ours=predict(replica_of(scenario), workload_of(scenario), rate_rps=_RATE_RPS).mean_decoding,
        origin="identity",
        within=_SHARED * expected,
    )


def tables() -> tuple[Table, ...]:
    """Limits with a known answer, and the stored errors."""
    known = [_batches_row(name, load) for name in ("fcfs", "chunked", "orca") for load in _LOADS]
    known += [*(_one_by_one_row(load) for load in _LOADS), _sharing_row()]
    return Table(name="limits", rows=tuple(known)), Errors(name="errors", rows=())
