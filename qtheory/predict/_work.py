"""What the running requests take of the scarce resource, in units of one of them: places, or memory.

Where slots are scarce a request takes one in each of its decode steps, and its work is their number. Where
memory is, it takes what it holds, so its work is the sum of its contexts over its decode steps: long prompts
with long outputs take most of it, and what the requests hold varies more than their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._meeting import together_frac
from .demand import Demand

__all__ = ["Work"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    """Work of a request, in decode steps of a mean request, of which each brings ``demand.mean_decode``.

    Parameters
    ----------
    unit_steps : float
        Work left for each mean request that runs.
    burst_steps : float
        What arrivals in bursts add, each beyond the first, to half the variance of the work that comes.
    spread : float
        Variance of what runs while nobody waits, over its mean.
    unit_full_steps : float
        Half the second moment of the work over its mean, which makes queues for the resource.
    given_prompt : array, shape (k,)
        Mean work of a request with each of the prompts.
    """

    unit_steps: float
    burst_steps: float
    spread: float
    unit_full_steps: float
    given_prompt: Floats

    @classmethod
    def of_places(cls, demand: Demand) -> Work:
        """Where a request takes one place."""
        unit = _unit_steps(demand)
        return cls(
            unit_steps=unit,
            burst_steps=2 * unit * together_frac(demand),
            spread=1.0,
            unit_full_steps=unit,
            given_prompt=demand.decode_given_prompt,
        )

    @classmethod
    def of_memory(cls, demand: Demand, block_tokens: int) -> Work:
        r"""Where a request takes its context.

        With :math:`s` prompt tokens and :math:`d` decode steps the work is :math:`m=sd+d(d+1)/2` tokens; what
        a Poisson number of running requests hold has the mean :math:`\lambda E[m]` and the variance
        :math:`\lambda E\sum_k (s+k)^2`. Arrivals of dispersion :math:`I` add :math:`(I-1)\lambda\int h^2`,
        where :math:`h` is what a request holds in the mean at each age, 0 after its end [1]_; while all is
        taken work comes as it does for one server, with :math:`E[m^2]` [2]_.

        References
        ----------
        .. [1] Eckberg (1983), "Generalized peakedness of teletraffic processes", 10th International
           Teletraffic Congress, Montreal.
        .. [2] Whitt (2004), "A diffusion approximation for the G/GI/n/m queue", Operations Research 52,
           922-941.
        """
        d, p = demand.decode_steps, demand.decode_probs
        unused = (block_tokens - 1) / 2
        mean = demand.prompt_given_decode + unused
        square = demand.square_given_decode + 2 * unused * demand.prompt_given_decode + unused**2
        grown1, grown2 = d * (d + 1) / 2, d * (d + 1) * (2 * d + 1) / 6
        work = float(p @ (mean * d + grown1))
        each = work / max(demand.mean_decode, 1e-9)  # tokens of a running request
        held = float(p @ (square * d + 2 * mean * grown1 + grown2))
        second = float(p @ (square * d**2 + 2 * mean * d * grown1 + grown1**2))
        decodes, tokens = demand.decode_given_prompt, demand.prompt_tokens + unused
        grown = float(p @ grown1) * (decodes / max(demand.mean_decode, 1e-9)) ** 2
        given = tokens * decodes + grown
        given = given * (demand.mean_decode / max(float(given @ demand.prompt_probs), 1e-9))
        return cls(
            unit_steps=_unit_steps(demand),
            burst_steps=2 * _unit_steps(demand) * _overlap(demand, mean, each),
            spread=held / max(work * each, 1e-9),
            unit_full_steps=max(second / max(2 * work * each, 1e-9), 0.5),
            given_prompt=given,
        )


def _unit_steps(demand: Demand) -> float:
    """Decode steps in which what an arrival adds to what runs falls by a factor e, if it fell evenly.

    That of the variance which arrivals in excess of a Poisson process bring. Where it is less than an output,
    a request would count for more than one when it begins: there the geometric mean of an output, which is
    right at once, and of what a running request has left, which is right in the long run. For exponential
    outputs all are the same.
    """
    mean = demand.mean_decode
    even = mean / (2 * together_frac(demand))
    return max(even if even >= mean else math.sqrt(mean * demand.mean_remaining), 0.5)


def _overlap(demand: Demand, mean: Floats, each: float) -> float:
    """What two requests of one moment hold at once, over all ages, to what one holds for itself."""
    order = np.argsort(demand.decode_steps)
    d, p, s = demand.decode_steps[order], demand.decode_probs[order], mean[order]
    alive = np.append(np.cumsum(p[::-1])[::-1], 0.0)[:-1]  # (m,) those with at least d steps
    prompts = np.cumsum((p * s)[::-1])[::-1]
    width = np.diff(d, prepend=0.0)
    held = prompts + alive * (d - width / 2)  # while the m-th shortest and longer ones are there
    return float(width @ held**2) / max(each**2 * demand.mean_decode, 1e-9)
