"""Laws that hold in a limit: the batch chain, processor sharing, endless budgets, Little's law, bandwidth."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtheory.planning import knee
from qtheory.predict import TIERS, limit_rps, predict
from qtheory.queues.batch import UnlimitedBatchQueue
from tests.qtheory.predict.worlds import world

ROOM = {"hardware": "a100", "model": "llama-3.1-8b", "kv_blocks": 1_000_000, "max_seqs": 4096}
ENDLESS = 2**18
MIXING = ("chunked", "sjf", "orca")
_PROMPT_TOKENS = 16
_ROUGH = 6e-3  # the knee of the closed tier is known to 3e-3 on either side


def _mean_of_batches_s(scheduler: str, tier: str, base_s: float, slope_s: float, load: float) -> float:
    """Mean TTFT of prompts of one length and one output token, all that wait at once in a step."""
    replica, workload = world(
        **ROOM,
        scheduler=scheduler,
        step_time=f"linear(base_s={base_s!r},per_token_s={slope_s / _PROMPT_TOKENS!r})",
        prompt=f"constant({_PROMPT_TOKENS})",
        output="constant(1)",
        budget_tokens=ENDLESS,
    )
    return predict(replica, workload, rate_rps=load / slope_s, tier=tier).mean_ttft_s


@given(
    st.sampled_from(("fcfs", "chunked", "orca")),
    st.floats(1e-4, 1e-2),
    st.floats(10.0, 60.0),
    st.floats(0.3, 0.8),
)
@settings(max_examples=25)
def test_outputs_of_one_token_give_the_batch_chain_by_closed_forms(
    scheduler: str, slope_s: float, ratio: float, load: float
) -> None:
    base_s = ratio * slope_s
    exact = UnlimitedBatchQueue(rate_rps=load / slope_s, base_s=base_s, slope_s=slope_s).solve()
    found = _mean_of_batches_s(scheduler, "closed", base_s, slope_s, load)
    assert found == pytest.approx(exact.mean_response_s, rel=0.01)  # at most 0.5 % off where it was looked at


@pytest.mark.parametrize("scheduler", ["fcfs", "chunked", "orca"])
@pytest.mark.parametrize("load", [0.3, 0.6])
def test_outputs_of_one_token_give_the_batch_chain_by_the_chain(scheduler: str, load: float) -> None:
    exact = UnlimitedBatchQueue(rate_rps=load / 0.01, base_s=0.02, slope_s=0.01).solve()
    found = _mean_of_batches_s(scheduler, "numeric", 0.02, 0.01, load)
    assert found == pytest.approx(exact.mean_response_s, rel=2e-3)


@pytest.mark.parametrize("scheduler", MIXING)
def test_decodes_beside_hardly_any_prompt_are_processor_sharing(scheduler: str) -> None:
    base_s, token_s, rate_rps, decodes = 0.01, 0.0002, 10.0, 200
    replica, workload = world(
        **ROOM,
        scheduler=scheduler,
        step_time=f"linear(base_s={base_s},per_token_s={token_s})",
        prompt="constant(1)",
        output=f"constant({decodes + 1})",
    )
    # one who runs gets a token every base + token * n seconds: a queue whose rate depends on n, insensitive
    offered = rate_rps * decodes
    expected = offered * (base_s + token_s) / (1 - offered * token_s)
    for tier, within in (("numeric", 0.005), ("closed", 0.02)):
        found = predict(replica, workload, rate_rps=rate_rps, tier=tier)
        assert found.mean_decoding == pytest.approx(expected, rel=within)


@pytest.mark.parametrize("scheduler", ["fcfs", *MIXING])
@pytest.mark.parametrize(("prompt", "decodes"), [(2000, 60), (500, 400)])
def test_the_number_decoding_is_the_rate_times_decodes_times_time_per_token(
    scheduler: str, prompt: int, decodes: int
) -> None:
    lengths = {"prompt": f"constant({prompt})", "output": f"constant({decodes + 1})"}
    replica, workload = world(**ROOM | {"max_seqs": 128}, scheduler=scheduler, **lengths)
    rate_rps = 0.6 * limit_rps(replica, workload)
    point = predict(replica, workload, rate_rps=rate_rps)
    assert point.mean_decoding == pytest.approx(rate_rps * decodes * point.mean_tpot_s, rel=1e-5)
    rough = predict(replica, workload, rate_rps=rate_rps, tier="closed")
    # the closed tier is of one mind over time, while its mean over requests is up to 8 % higher
    assert rough.mean_decoding == pytest.approx(rate_rps * decodes * rough.mean_itl_s, rel=0.01)
    assert rough.mean_tpot_s == pytest.approx(rough.mean_itl_s, rel=0.085)


@pytest.mark.parametrize("tier", TIERS)
def test_an_endless_budget_cuts_no_prompt_and_more_changes_nothing(tier: str) -> None:
    asked = {"hardware": "a100", "model": "llama-3.1-8b", "workload": "chat", "kv_blocks": 1_000_000}
    points = [
        predict(*world(**asked, scheduler=scheduler, budget_tokens=budget), rate_rps=6.0, tier=tier)
        for scheduler, budget in (("chunked", ENDLESS), ("orca", ENDLESS), ("chunked", 2 * ENDLESS))
    ]
    for name in ("mean_ttft_s", "p99_ttft_s", "mean_tpot_s", "mean_decoding", "limit_rps"):
        chunked, whole, more = (getattr(point, name) for point in points)
        assert whole == pytest.approx(chunked, rel=1e-5)  # the budget is large, not infinite: 3e-6 is left
        assert more == pytest.approx(chunked, rel=3e-3)


@pytest.mark.parametrize("scheduler", ["fcfs", "chunked", "sjf", "orca"])
@pytest.mark.parametrize("workload", ["chat", "rag", "summarize"])
def test_more_bandwidth_never_lowers_the_knee_at_fixed_memory_and_slots(
    scheduler: str, workload: str
) -> None:
    knees = _knees_by_bandwidth(scheduler, workload, (0.4, 0.55, 0.7, 0.85))
    assert all(after > before * (1 - _ROUGH) for before, after in pairwise(knees))
    assert knees[-1] > knees[0]


def test_more_bandwidth_never_lowers_the_knee_of_short_outputs() -> None:
    knees = _knees_by_bandwidth("chunked", "code", (0.8, 0.86))
    assert knees[1] > knees[0] * (1 - _ROUGH)


def _knees_by_bandwidth(scheduler: str, workload: str, shares: tuple[float, ...]) -> list[float]:
    found = []
    for share in shares:
        asked = world(
            hardware="a100",
            model="llama-3.1-8b",
            workload=workload,
            scheduler=scheduler,
            mbu_frac=share,
            kv_blocks=28_000,
        )
        rate_rps = knee(*asked, tier="closed").knee_rps
        assert rate_rps is not None
        found.append(rate_rps)
    return found
