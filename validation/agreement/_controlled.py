"""A mean of noisy windows, freed of what the lengths that happened to be drawn have done to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["CONTROLS", "controlled", "controls_of"]

CONTROLS = ((1, 0), (0, 1), (1, 1), (0, 2))
"""Powers of prompt and output: the work of a request is a sum of such products."""

_CONSTANT = 1e-12


def controls_of(
    prompt_tokens: NDArray[np.int64], output_tokens: NDArray[np.int64]
) -> NDArray[np.float64]:  # (n, m)
    """Products of `CONTROLS` for each of ``n`` requests."""
    prompts, outputs = prompt_tokens.astype(float), output_tokens.astype(float)
    return np.stack([prompts**i * outputs**j for i, j in CONTROLS], axis=1)


def controlled(
    values: NDArray[np.float64], shares: NDArray[np.float64]
) -> tuple[float, float]:  # (w,), (w, m)
    """Mean of ``values`` at controls of exactly their expectation, and its standard error.

    Least squares on ``shares``: of each window the mean of its controls over their expectation, less one.
    Where there is none that varies, this is the plain mean.
    """
    shares = shares[:, np.ptp(shares, axis=0) > _CONSTANT]
    design = np.column_stack([np.ones(len(values)), shares])
    inverse = np.linalg.pinv(design)
    fitted = inverse @ values
    left = values - design @ fitted
    variance = float(left @ left) / (len(values) - np.linalg.matrix_rank(design))
    return float(fitted[0]), float(np.sqrt(variance) * np.linalg.norm(inverse[0]))
