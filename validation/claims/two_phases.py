"""A prompt waits for FLOP/s and a decode for bandwidth: what twice of either does to both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qtheory.basics.errors import ConfigError
from qtheory.system.hardware import Hardware, find_hardware, hardware_names
from qtheory.system.replica import replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import Roofline, StepLoad
from qtheory.system.workload.request import Requests
from sim import engine
from sim.policies import make_policy
from sim.replica import Replica

from .claim import Claim, Finding, Measured

__all__ = ["CLAIM"]

_MODEL = "llama-3.1-8b"
_SERVED = ("l4", "h100")
_PROMPT_TOKENS, _OUTPUT_TOKENS, _N_DECODES = 4000, 64, 5
_WEIGHTS = "linear"


def _loads() -> tuple[StepLoad, StepLoad]:
    """A prompt alone, and five decodes behind such prompts."""
    n = _PROMPT_TOKENS
    prompt = StepLoad(prefill_tokens=n, prefill_work=n * (n + 1) / 2, prefill_context_tokens=n, n_sampled=1)
    decodes = StepLoad(n_decodes=_N_DECODES, decode_context_tokens=_N_DECODES * (n + 1), n_sampled=_N_DECODES)
    return prompt, decodes


def _by_datasheets() -> list[Measured]:
    """On every card that holds the model: what bounds the products, and what is used of the card."""
    prompt, decodes = _loads()
    bounds, used = set(), []
    for card in hardware_names():
        try:
            roofline = replica_of(Scenario(hardware=card, model=_MODEL)).roofline
        except ConfigError:  # it does not fit
            continue
        bounds.add(tuple(roofline.parts(load)[_WEIGHTS][1] for load in (prompt, decodes)))
        used.append(_used(roofline, prompt) + _used(roofline, decodes))
    prompt_flops, prompt_bytes, decode_flops, decode_bytes = np.array(used).T
    what = f"products of a prompt are bound by FLOP/s and those of decodes by bandwidth, on {len(used)} cards"
    said = "; ".join(" and ".join(each) for each in sorted(bounds))
    parts = [Measured(what=what, found=said, holds=bounds == {("compute", "bandwidth")})]
    for name, most, least in (
        ("FLOP/s in use (MFU): prompts", prompt_flops, decode_flops),
        ("bandwidth in use (MBU): decodes", decode_bytes, prompt_bytes),
    ):
        ratio = float(np.min(most / least))
        what = f"{name} at least four times as much as the other"
        found = f"{most.min():.0%} to {most.max():.0%}, and {least.min():.1%} to {least.max():.1%}"
        parts.append(Measured(what=what, found=found, holds=ratio >= 4))
    return parts


def _used(roofline: Roofline, load: StepLoad) -> tuple[float, float]:
    """Shares of the FLOP/s and of the bandwidth on the datasheet."""
    seconds = roofline.step_s(load)
    flops_per_s, bytes_per_s = roofline.flops(load) / seconds, roofline.bytes(load) / seconds
    return (
        float(flops_per_s) / roofline.peak_flops_per_s,
        float(bytes_per_s) / roofline.peak_bytes_per_s,
    )


def _times_s(card: Hardware) -> tuple[float, float]:
    """Simulated TTFT of one prompt, and TPOT of five requests that decode together, seconds."""
    spec = replica_of(Scenario(model=_MODEL, scheduler="fcfs", hardware="h100"))
    step_time = replace(spec.roofline, hardware=card)
    held = Replica(step_time=step_time, n_blocks=spec.n_blocks, block_tokens=spec.block_tokens)
    asked = Requests(
        arrival_s=np.array([0.0] + [100.0] * _N_DECODES),
        prompt_tokens=np.full(1 + _N_DECODES, _PROMPT_TOKENS),
        output_tokens=np.array([1] + [_OUTPUT_TOKENS] * _N_DECODES),
    )
    records = engine.simulate(asked, make_policy(spec.scheduler), held)
    ttft_s = records.first_token_s[0] - records.sent_s[0]
    tpot_s = (records.finish_s[-1] - records.first_token_s[-1]) / (_OUTPUT_TOKENS - 1)
    return float(ttft_s), float(tpot_s)


def _answer() -> Finding:
    parts = _by_datasheets()
    for name in _SERVED:
        card = find_hardware(name)
        twice = {kind: 2 * rate for kind, rate in card.peak_flops_per_s.items()}
        usual = np.array(_times_s(card))
        faster = np.array(_times_s(replace(card, peak_flops_per_s=twice))) / usual
        wider = replace(card, bandwidth_bytes_per_s=2 * card.bandwidth_bytes_per_s)
        broader = np.array(_times_s(wider)) / usual
        for what, ratio, other in (
            ("twice the FLOP/s: TTFT, and not TPOT", faster[0], faster[1]),
            ("twice the bandwidth: TPOT, and not TTFT", broader[1], broader[0]),
        ):
            found = f"{ratio:.2f} and {other:.2f} of what they were"
            holds = 0.5 <= ratio <= 0.65 and 0.95 <= other <= 1.0
            parts.append(
                Measured(what=f"{name}, {what}, is nearly halved (0.5 to 0.65)", found=found, holds=holds)
            )
    return Finding(parts=tuple(parts))


CLAIM = Claim(
    name="two-phases",
    question="Is the time to the first token one of FLOP/s, and the time of every further one of bandwidth?",
    source="Pope et al. (2023), Efficiently Scaling Transformer Inference, MLSys 23; Williams et al. (2009)",
    calibrated="nothing: every accelerator that holds the model, by its datasheet",
    teaches="one of the phases is bound by something else, such as the time of the host",
    answer=_answer,
)
