"""The words around the tables of ``docs/models.md``."""

from __future__ import annotations

__all__ = ["DIFFERENCES", "HEAD"]

HEAD = """# Which model gives what

Made by `python -m validation.oracles tests/data/oracles/known_values.csv`; a test compares this page with
what the library says. `=` exact, `≈` an approximation, `≤` a bound, `–` no value (with the reason below),
`○` not built. A law means its tail and every percentile; of the number present its probabilities, variance
and percentiles. Where there are classes or stations, the cell speaks of each of them. A name such as `M/M/c`
is what `sched-sim queue` takes.

"""
DIFFERENCES = """

## Known values and known differences

`sched-sim validate oracles FILE.csv` compares the library with a table of known values. The column above
counts the rows that are shipped with the tests; they are some of a table of 883 rows, of which 882 are met
at their tolerances of 1e-8 to 1e-6. The one that is not:

- `size.05.mean_response`: M/G/1-SRPT, arrivals at 0.7 per second, lognormal sizes with mean 1 s and squared
  coefficient of variation 4. The table has 1.80198766328286 s, the library 1.80201490984998 s. Quadrature
  with 30 digits gives 0.39044896896080 s until service begins and 1.41156594088917 s from then on, together
  1.80201490984998 s; both orders of integration of each part agree. The second part is the integral over x >
  0 of P(size > x) / (1 - load of sizes below x). Begun at the 1e-14 quantile of the size, 2.7246567e-5 s,
  instead of at 0, it is short by just that, and the sum becomes 1.80198766328288 s. So the value in the
  table lacks the beginning of that integral, and the row fails.
"""
