"""What an accelerator can do, and how much of it serving software reaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import number_between, whole_between

__all__ = ["PRECISIONS", "Hardware"]

PRECISIONS = ("fp16", "bf16", "fp8", "int8", "fp4")
_SMALL_CARD_BYTES = 16e9
_RANGES = {
    "memory_bytes": (1e8, 1e15),
    "bandwidth_bytes_per_s": (1e8, 1e17),
    "link_bytes_per_s": (1e6, 1e16),
    "overhead_per_step_s": (0.0, 10.0),
    "overhead_per_layer_s": (0.0, 1.0),
    "link_latency_s": (0.0, 1.0),
    "exchange_s": (0.0, 1.0),
    "mfu_frac": (0.001, 1.0),  # above 1 is a measurement gone wrong
    "mbu_frac": (0.001, 1.0),
    "attention_mbu_frac": (0.001, 1.0),
    "link_frac": (0.001, 1.0),
    "prefill_attention_frac": (0.001, 1.0),
    "activation_mbu_frac": (0.001, 1.0),
    "corner_power": (1.0, 64.0),
    "spread_frac": (0.0, 10.0),
    "clock_hz": (1e8, 1e11),
}
_MAY_BE_NONE = frozenset(
    {"link_bytes_per_s", "exchange_s", "activation_mbu_frac", "corner_power", "clock_hz"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """One accelerator: datasheet figures, and the shares of them that kernels reach.

    Parameters
    ----------
    name : str
        Short name.
    peak_flops_per_s : mapping of str to float
        Dense rate with 32-bit accumulation, FLOP/s in 1e9 .. 1e19, for each precision the card has (some of
        `PRECISIONS`; int8 in operations/s). One 16-bit precision is required.
    memory_bytes : float
        Device memory as the driver reports it, 1e8 .. 1e15.
    bandwidth_bytes_per_s : float
        Peak memory bandwidth, 1e8 .. 1e17.
    link_bytes_per_s : float or None
        Link to the other accelerators of a replica, one direction, 1e6 .. 1e16; PCIe where there is no other.
        Needed only where a replica has more than one accelerator.
    tdp_w, usd_per_hour : float or None
        Power limit, W, and price of an hour, US dollars, > 0; None if unknown.
    mfu_frac, mbu_frac, attention_mbu_frac : float
        Shares of peak FLOP/s, of peak bandwidth in reading weights, and of peak bandwidth in reading keys and
        values, 0.001 .. 1 [1]_.
    link_frac : float
        Share of the link rate that a large all-reduce reaches, 0.001 .. 1 [1]_.
    link_latency_s : float
        Seconds of a tiny all-reduce, 0 .. 1 [1]_.
    exchange_s : float or None
        Seconds of one exchange between the accelerators, 0 .. 1. With it an all-reduce takes the faster of
        one exchange of whole messages and two of their parts, as engines choose; None is a ring.
    overhead_per_step_s : float
        Host time of an engine step that the device waits for, seconds, 0 .. 10 [1]_.
    overhead_per_layer_s : float
        Launches and small kernels of one layer, seconds, 0 .. 1 [1]_.
    prefill_attention_frac : float
        Share of ``mfu_frac`` that the attention of prompt chunks reaches, 0.001 .. 1.
    activation_mbu_frac : float or None
        Share of peak bandwidth at which activations move between products (norms, residuals, queries, the
        inside of the feed-forward block), 0.001 .. 1; None leaves their time out.
    corner_power : float or None
        How softly products turn from reading to computing: with p they take ``(a**p + b**p)**(1/p)`` of the
        two times, 1 (their sum) .. 64; None is the larger of the two.
    clock_hz : float or None
        Clock at which the peak rates hold, 1e8 .. 1e11; None if unknown. Launches take time in cycles, so the
        overhead per layer of `qtheory.system.hardware.fitted` goes by it.
    spread_frac : float
        Relative error within which nine of ten measured steps were met, 0 .. 10; 0 if none were measured.
    budget_tokens : int
        Default token budget of a step. 0 is replaced by 512 below 16 GB of memory and 2,048 else.
    source : str
        Where the figures are from.

    Raises
    ------
    ConfigError
        If a value has the wrong type or is out of range.

    References
    ----------
    .. [1] Header of ``presets.toml`` beside this file: each default with the measurements behind it.

    Examples
    --------
    >>> card = Hardware(name="mine", peak_flops_per_s={"bf16": 100e12}, memory_bytes=24e9,
    ...                 bandwidth_bytes_per_s=1e12, source="data sheet")
    >>> card.budget_tokens, f"{card.flops_per_s('fp8'):.3g}"
    (2048, '1e+14')
    """

    name: str
    peak_flops_per_s: Mapping[str, float]
    memory_bytes: float
    bandwidth_bytes_per_s: float
    link_bytes_per_s: float | None = None
    tdp_w: float | None = None
    usd_per_hour: float | None = None
    mfu_frac: float = 0.70
    mbu_frac: float = 0.80
    attention_mbu_frac: float = 0.80
    link_frac: float = 0.75
    link_latency_s: float = 5e-6
    exchange_s: float | None = None
    overhead_per_step_s: float = 1e-3
    overhead_per_layer_s: float = 46e-6
    prefill_attention_frac: float = 1.0
    activation_mbu_frac: float | None = None
    corner_power: float | None = None
    clock_hz: float | None = None
    spread_frac: float = 0.0
    budget_tokens: int = 0
    source: str = "given by the user"

    def __post_init__(self) -> None:
        checks.text("name", self.name)
        checks.text("source", self.source)
        for name, (least, most) in _RANGES.items():
            if name not in _MAY_BE_NONE or getattr(self, name) is not None:
                number_between(name, getattr(self, name), least, most)
        for name in ("tdp_w", "usd_per_hour"):
            if getattr(self, name) is not None:
                number_between(name, getattr(self, name), 1e-6, 1e6)
        object.__setattr__(self, "peak_flops_per_s", _checked_peaks(self.peak_flops_per_s))
        whole_between("budget_tokens", self.budget_tokens, 0, 10_000_000)
        if self.budget_tokens == 0:
            small = self.memory_bytes < _SMALL_CARD_BYTES
            object.__setattr__(self, "budget_tokens", 512 if small else 2048)

    def __hash__(self) -> int:
        values = [getattr(self, name) for name in self.__slots__ if name != "peak_flops_per_s"]
        return hash((*values, *sorted(self.peak_flops_per_s.items())))

    @property
    def sixteen_bit(self) -> str:
        """``bf16``, or ``fp16`` on a card without it."""
        return "bf16" if "bf16" in self.peak_flops_per_s else "fp16"

    def flops_per_s(self, precision: str) -> float:
        """Dense peak rate at which weights of this precision compute, FLOP/s.

        Weights in a format that the card has no units for (fp8 on an A100), and weights in int4 everywhere,
        are widened to 16 bits on the way from memory and compute at that rate.
        """
        return self.peak_flops_per_s.get(precision, self.peak_flops_per_s[self.sixteen_bit])


def _checked_peaks(peaks: object) -> Mapping[str, float]:
    if not isinstance(peaks, Mapping):
        raise ConfigError(
            f"peak_flops_per_s: {checks.shown(peaks)} is not a table such as {{ bf16 = 312e12 }}"
        )
    for precision, rate in peaks.items():
        checks.one_of("peak_flops_per_s", precision, PRECISIONS)
        number_between(f"peak_flops_per_s.{precision}", rate, 1e9, 1e19)
    if "bf16" not in peaks and "fp16" not in peaks:
        raise ConfigError("peak_flops_per_s: neither bf16 nor fp16 is given; attention needs a 16-bit rate")
    return dict(peaks)
