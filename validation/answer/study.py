"""How a point is simulated: how many runs, how long, and what is claimed of them."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

__all__ = ["Study"]

_REPLICATIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """How each point is simulated.

    Parameters
    ----------
    n_replications : int, optional
        Independent runs of a point, >= 1 (default 5; a recorded trace has one, since all would be alike).
        With ``precision`` the number to begin with.
    level : float
        Coverage of the confidence intervals, in (0, 1).
    steady : bool
        True: the warm-up is left out, and it is tested whether there is a steady state at all.
    precision : float, optional
        Relative half-width at which mean TTFT and goodput are known well enough, in (0, 1]; replications are
        added until then. Asks for a steady state.
    max_requests : int
        Requests that may be simulated for one point with ``precision``, >= 1.
    n_windows : int
        Windows of the timeline of the first run, 0 for none.
    keep_records : bool
        Whether the records of all requests stay in memory.
    lean : bool
        True: not even one run's records are kept while it is simulated; percentiles are within 0.05 %, and
        there is neither a steady state nor a timeline.

    Raises
    ------
    ConfigError
        If a number is out of its range.

    Examples
    --------
    >>> Study(precision=0.01).is_steady, Study().is_steady
    (True, False)
    """

    n_replications: int | None = None
    level: float = 0.95
    steady: bool = False
    precision: float | None = None
    max_requests: int = 2_000_000
    n_windows: int = 0
    keep_records: bool = False
    lean: bool = False

    def __post_init__(self) -> None:
        if self.n_replications is not None:
            checks.integer(replications=self.n_replications)
        checks.inner_fraction(level=self.level)
        if self.precision is not None:
            checks.fraction(precision=self.precision)
            if self.n_replications == 1:
                raise ConfigError("replications: 1 given, but precision needs at least 2 to begin with")
        checks.integer(max_requests=self.max_requests)
        checks.at_least(0, windows=self.n_windows)
        needs = {
            "a file of records": self.keep_records,
            "a timeline (windows, plot)": self.n_windows,
            "a steady state": self.is_steady,
        }
        asked = next((name for name, wanted in needs.items() if wanted), None)
        if self.lean and asked is not None:
            raise ConfigError(f"no_records: given, but {asked} needs them; leave one of the two out")

    @property
    def is_steady(self) -> bool:
        """Whether a steady state is asked for."""
        return self.steady or self.precision is not None

    def replications_of(self, trace: str | None) -> int:
        """Runs of one point to begin with; ``trace`` is the file that is replayed, if any."""
        if trace is None:
            return self.n_replications or _REPLICATIONS
        if self.n_replications not in (None, 1):
            raise ConfigError(
                f"replications: {self.n_replications} given, but a trace is replayed as recorded: "
                "all runs would be alike"
            )
        return 1
