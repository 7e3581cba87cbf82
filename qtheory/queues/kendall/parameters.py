"""What can be said of a queue: each parameter with its unit and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qtheory.basics.errors import ConfigError

__all__ = ["PARAMETERS", "Kind", "Parameter"]

Kind = Literal["number", "whole", "law", "numbers", "whole_numbers", "laws", "matrix", "word", "arrivals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One thing that can be said of a queue.

    Parameters
    ----------
    name : str
        As in the model class, unit at the end.
    meaning : str
        A few words.
    unit : str
        For people; empty for counts and words.
    kind : str
        What it is: ``number``, ``whole``, ``law``, a list or ``matrix`` of such, or a ``word``.

    Raises
    ------
    ConfigError
        If the name is not one of Python.

    Examples
    --------
    >>> print(Parameter(name="limit_s", meaning="largest wait", unit="s"))
    limit_s: largest wait (s)
    """

    name: str
    meaning: str
    unit: str = ""
    kind: Kind = "number"

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ConfigError(f"name: {self.name!r} cannot be the name of a parameter; as in limit_s")

    def __str__(self) -> str:
        return f"{self.name}: {self.meaning}" + (f" ({self.unit})" if self.unit else "")


def _table(kind: Kind, *rows: str) -> list[Parameter]:
    """Parameters of one kind from lines ``name | unit | meaning``."""
    found = []
    for row in rows:
        name, unit, meaning = (part.strip() for part in row.split("|"))
        found.append(Parameter(name=name, unit=unit, meaning=meaning, kind=kind))
    return found


_ALL = [
    *_table(
        "number",
        "rate_rps | req/s | mean arrival rate",
        "service_rate_rps | req/s | completions of a busy server",
        "mean_service_s | s | mean service time",
        "service_s | s | constant service time",
        "scv_interval | | variance / mean^2 of the time between arrivals",
        "scv_service | | variance / mean^2 of the service time",
        "mean_patience_s | s | mean time that a customer is ready to wait",
        "patience_s | s | time that every customer is ready to wait",
        "limit_s | s | largest wait or response; what would be later is turned away",
        "timeout_s | s | longest idle time of the server with somebody waiting",
        "base_s | s | fixed part of the time of a batch or step",
        "slope_s | s | part of that time for each member",
        "unit_s | s | time for each unit of length of the longest member",
        "mean_steps | | mean number of steps that a customer needs",
        "think_s | s | mean time between an answer and the next request of a user",
        "time_s | s | time since the start",
    ),
    *_table(
        "whole",
        "n_servers | | servers, c in the name",
        "n_phases | | phases of the Erlang law, k in the name",
        "capacity | | customers that can be present, K in the name",
        "max_batch | | largest batch, b in the name",
        "min_batch | | smallest batch that starts, a in the name",
        "max_running | | largest number that a step serves",
        "threshold | | number present at which an idle server starts, N of the policy",
        "limit | | customers that share the server at once; the others wait",
        "population | | customers of a closed system",
        "n_branches | | parts of a request, each with a server of its own",
        "initial_number | | customers present at time 0",
        "n_points | | points of the grid on which the model is solved",
    ),
    *_table(
        "law",
        "service | s | law of the service time, as in lognormal(mean=1, cv=1.5)",
        "interval | s | law of the time between arrivals, as in gamma(mean=2, cv=0.5)",
        "patience | s | law of the time that a customer is ready to wait",
        "vacation | s | law of a vacation of the server",
        "setup | s | law of the set-up time of an idle server",
        "lead | s | law of the time from arrival to deadline",
        "initial | s | law of the work that starts the busy period (default: a service)",
        "length | | law of the length of a member of a batch",
    ),
    *_table(
        "numbers",
        "group_pmf | | probabilities of groups of 1, 2, ... customers",
        "rates_rps | req/s | arrival rate in each phase of the arrivals",
        "leave_per_s | 1/s | rate at which each phase of the arrivals is left",
        "weight | | share of the server, or of the jobs, that each class has",
        "services_s | s | possible service times",
        "predicted_s | s | predicted service time for each of them",
        "demands_s | s | service that a customer needs at each station",
        "external_rps | req/s | arrivals from outside at each station",
        "service_rates_rps | req/s | completions of a busy server of each station",
    ),
    *_table("whole_numbers", "servers | | servers of each station"),
    *_table(
        "matrix",
        "without | 1/s | rates between phases of the arrivals without an arrival, D0",
        "with_arrival | 1/s | the same with an arrival, D1",
        "routing | | probabilities to go from each station to each other",
    ),
    *_table("arrivals", "arrivals | | Markovian arrivals as an object, for Python"),
    *_table(
        "word",
        "formula | | which approximation or bound",
        "rule | | what the limit is for: response or wait",
        "repeat | | an interrupted service starts anew with a different or an identical time",
    ),
]

PARAMETERS: dict[str, Parameter] = {parameter.name: parameter for parameter in _ALL}
"""Every parameter of the models that come with this package, by name."""
