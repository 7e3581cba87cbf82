"""The end of a run that was never empty: how long its last answers take."""

from __future__ import annotations

import numpy as np

from ._fluid import Fluid

__all__ = ["emptied_s"]

_MOMENTS = 200  # of the time in which the batch empties


def emptied_s(fluid: Fluid) -> float:
    r"""Mean moment of the last token, seconds from the start.

    When the last request is admitted :math:`n(0)` run, of whom :math:`n(\psi)` are left :math:`\psi` decode
    steps later. They end independently, so that somebody is left with probability
    :math:`1-e^{-n(\psi)}`, and steps last until nobody is.
    """
    path, demand = fluid.path, fluid.engine.demand
    end_s = max(float(path.times_s[-1]), fluid.duration_s)
    if not demand.mean_decode:
        return end_s + float(fluid.engine.step_s(demand.mean_prompt, 0.0))
    order = np.argsort(demand.decode_steps)
    lengths, below = demand.decode_steps[order], np.cumsum(demand.decode_probs[order])
    longer = 1 - np.append(0.0, below)  # P(d > the k-th length)
    admitted, ages = np.diff(path.admitted), path.steps[-1] - path.steps[:-1]
    recent = (ages <= lengths[-1]) & (admitted > 0)
    left = np.linspace(0.0, lengths[-1], _MOMENTS)
    lasting = np.searchsorted(lengths, ages[recent][:, None] + left[None, :], side="right")
    n = admitted[recent] @ longer[lasting]
    some = -np.expm1(-n)
    present = np.where(some > 1e-12, n / np.maximum(some, 1e-12), 1.0)
    steps_s = np.array([fluid.engine.decode_s(each) for each in present.tolist()])
    return end_s + float(np.trapezoid(some * steps_s, left))
