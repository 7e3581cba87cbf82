"""A normal law as a few atoms, by the rule of Gauss and Hermite: exact for polynomials of low order.

Of order 5 with three atoms, and 9 with five.

References
----------
.. [1] Abramowitz and Stegun (1964), "Handbook of mathematical functions", table 25.10.
"""

from __future__ import annotations

import numpy as np

__all__ = ["FIVE", "FIVE_WEIGHTS", "THREE", "THREE_WEIGHTS"]

THREE, THREE_WEIGHTS = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 6
"""Standard deviations from the mean, and probabilities."""

_ROOT = np.sqrt(10.0)
FIVE = np.sqrt([5 + _ROOT, 5 - _ROOT, 0.0, 5 - _ROOT, 5 + _ROOT]) * [-1, -1, 0, 1, 1]
FIVE_WEIGHTS = np.array([7 - 2 * _ROOT, 7 + 2 * _ROOT, 32.0, 7 + 2 * _ROOT, 7 - 2 * _ROOT]) / 60
