"""What each tenant got: numbers of a run apart for every client, and over replications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.system import metrics
from qtheory.system.slo import Slo
from sim.record import Records
from sim.summary import columns

__all__ = ["mean_tenants", "tenant_rows"]

Row = dict[str, Any]
_MOST = 100  # clients of a trace may be thousands


def tenant_rows(records: Records, slo: Slo) -> tuple[Row, ...]:
    """A row a client, in the order of their numbers; none if there is one client or more than a hundred.

    Parameters
    ----------
    records : Records
    slo : Slo
    """
    client = records.requests.client
    names = [] if client is None else np.unique(client).tolist()
    if client is None or not 1 < len(names) <= _MOST:
        return ()
    table = columns(records, slo)
    began_s = float(np.nanmin(records.sent_s, initial=records.end_s))
    return tuple(_row(name, table, client == name, records.end_s - began_s) for name in names)


def _row(name: int, table: dict[str, NDArray[Any]], own: NDArray[np.bool_], span_s: float) -> Row:
    row: Row = {
        "tenant": name,
        "n_requests": int(own.sum()),
        "goodput_frac": float(table["good"][own].mean()),
    }
    for what in ("ttft", "tpot"):
        values = table[f"{what}_s"][own]
        values = values[~np.isnan(values)]
        row[f"mean_{what}_s"] = float(values.mean()) if len(values) else None
        row[f"p99_{what}_s"] = metrics.percentile(values, 99)
    tokens = int(table["output_tokens"][own & ~np.isnan(table["e2e_s"])].sum())
    return row | {"output_tps": tokens / span_s if span_s > 0 else 0.0}


def mean_tenants(replications: Sequence[Sequence[Row]]) -> tuple[Row, ...]:
    """Means over replications, of the share of good requests over all of them; requests are added.

    Parameters
    ----------
    replications : sequence of rows
        As `tenant_rows` gives them.

    Examples
    --------
    >>> first, second = {"tenant": 0, "n_requests": 1, "goodput_frac": 1.0}, {"tenant": 0, "n_requests": 3,
    ...     "goodput_frac": 0.0}
    >>> mean_tenants([[first], [second]])
    ({'tenant': 0, 'n_requests': 4, 'goodput_frac': 0.25},)
    """
    of_tenant: dict[int, list[Row]] = {}
    for rows in replications:
        for row in rows:
            of_tenant.setdefault(row["tenant"], []).append(row)
    return tuple(_mean(of_tenant[name]) for name in sorted(of_tenant))


def _mean(rows: Sequence[Row]) -> Row:
    found = dict(rows[0]) | {"n_requests": sum(row["n_requests"] for row in rows)}
    for name in found.keys() - {"tenant", "n_requests"}:
        known = [row for row in rows if row[name] is not None]
        weights = [row["n_requests"] if name == "goodput_frac" else 1 for row in known]
        found[name] = float(np.average([row[name] for row in known], weights=weights)) if known else None
    return found
