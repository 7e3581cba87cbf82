"""What a row is asked to have: rate, TTFT and TPOT, and what serves it once it is calibrated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from qtheory.system.replica import ReplicaSpec, replica_of
from qtheory.system.scenario import Scenario
from qtheory.system.steptime import Roofline
from qtheory.system.steptime.host import HostTime

__all__ = ["ATTENTION", "OUTSIDE", "PER_SEQUENCE", "Fitted", "ServedRow"]

ATTENTION = "attention_mbu_frac"
"""Share of the bandwidth at which decodes read keys and values, a field of `Hardware`."""

OUTSIDE = "outside_s"
"""Seconds of a request outside the engine (network, tokeniser), in its TTFT; no part of a card."""
PER_SEQUENCE = "per_sequence_s"
"""Host time of each sequence of a step, as in `HostTime`; no part of a card."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRow:
    """What a route says of a row; None where it has no such number.

    Parameters
    ----------
    throughput_rps, ttft_s, tpot_s : float or None
        In the statistics of the row.
    low_ttft_s, high_ttft_s : float or None
        Least and largest TTFT of the simulated runs.
    """

    throughput_rps: float | None
    ttft_s: float | None
    tpot_s: float | None
    low_ttft_s: float | None = None
    high_ttft_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What a calibration has found: step times of another accelerator, and seconds outside the engine.

    Parameters
    ----------
    roofline : Roofline or None
        Its hardware is taken; None: that of the preset.
    values, errors : mapping of str to float
        Parameters, and standard errors of those that were fitted.
    unclear : tuple of str
        Those that the rows hardly tell.
    """

    roofline: Roofline | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    unclear: tuple[str, ...] = ()

    @property
    def outside_s(self) -> float:
        """Seconds of a request before and after the engine, part of its TTFT."""
        return self.values.get(OUTSIDE, 0.0)

    def replica(self, scenario: Scenario) -> ReplicaSpec:
        """The replica of a scenario with these step times.

        Parameters
        ----------
        scenario : Scenario

        Raises
        ------
        ConfigError
            If a name is unknown or the model does not fit.
        """
        spec = replica_of(scenario)
        if self.roofline is None:
            return spec
        own = replace(spec.roofline, hardware=self.roofline.hardware)
        per_sequence_s = self.values.get(PER_SEQUENCE, 0.0)
        step_time = HostTime(device=own, per_sequence_s=per_sequence_s) if per_sequence_s else own
        return replace(spec, hardware=own.hardware, roofline=own, step_time=step_time)

    def said(self) -> str:
        """The parameters in words."""
        names = {
            "mfu_frac": ("MFU", 100.0, "%"),
            "mbu_frac": ("MBU", 100.0, "%"),
            ATTENTION: ("MBU of attention", 100.0, "%"),
            "overhead_per_step_s": ("host", 1e3, "ms a step"),
            PER_SEQUENCE: ("host", 1e6, "us a sequence"),
            OUTSIDE: ("outside the engine", 1e3, "ms"),
        }
        parts = []
        for key, (label, scale, unit) in names.items():
            if key in self.errors:
                text = (
                    f"{label} {scale * self.values[key]:.3g} ± {_one_digit(scale * self.errors[key])} {unit}"
                )
                parts.append(text + (" (hardly told)" if key in self.unclear else ""))
        return ", ".join(parts) or "nothing fitted"


def _one_digit(value: float) -> str:
    """A number to one digit that counts, without an exponent where it is above 1.

    Examples
    --------
    >>> _one_digit(9.7), _one_digit(23.0), _one_digit(0.62)
    ('10', '20', '0.6')
    """
    return f"{float(f'{value:.1g}'):g}"
