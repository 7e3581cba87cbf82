"""Everything about the demand: who comes when, with what lengths, and what counts as good."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.slo import Slo

from ._limits import check_span
from .arrivals import Arrivals, OpenArrivals, PoissonArrivals
from .conversations import Turns
from .lengths import Lengths, PairLengths
from .loops import ClosedLoop, Replay
from .request import Requests
from .structure import Structure

__all__ = ["Workload"]

_POISSON, _NO_LIMITS, _PLAIN = PoissonArrivals(), Slo(), Structure()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Demand on a service, complete but for the seed.

    Parameters
    ----------
    name : str
        For reports.
    lengths : Lengths
        Joint law of prompt and output.
    arrivals : Arrivals
        Open arrivals, `ClosedLoop` or `Replay` (default Poisson).
    rate_rps : float, optional
        Mean arrival rate, requests per second, > 0; needed by open arrivals, not used by the others.
    slo : Slo
        Limits that make a request good (default: none).
    duration_s : float, optional
        Requests arriving in [0, ``duration_s``), seconds, > 0, at most 1e9. Not for a closed loop.
    n_requests : int, optional
        This many requests, >= 1. At most one of the two; a replay without either is the whole trace.
    trace : Requests, optional
        What a `Replay` replays, and only that.
    structure : Structure
        Prefixes, conversations and tenants (default: none). With conversations, which need open arrivals, the
        rate is that of all requests; ``duration_s`` is the time in which conversations begin.

    Raises
    ------
    ConfigError
        If a parameter is missing, out of range or in contradiction to another, or all of it lasts longer than
        1e9 s.

    Examples
    --------
    >>> from qtheory.laws import Constant
    >>> from qtheory.system.workload import LawLengths
    >>> lengths = LawLengths(prompt=Constant(value=192), output=Constant(value=64))
    >>> workload = Workload(name="fixed", lengths=lengths, rate_rps=4.0, duration_s=10.0)
    >>> requests = workload.generate(np.random.default_rng(1))
    >>> len(requests), requests.row(0).prompt_tokens, bool(requests.arrival_s[-1] < 10.0)
    (39, 192, True)
    """

    name: str
    lengths: Lengths
    arrivals: Arrivals = _POISSON
    rate_rps: float | None = None
    slo: Slo = _NO_LIMITS
    duration_s: float | None = None
    n_requests: int | None = None
    trace: Requests | None = None
    structure: Structure = _PLAIN

    def __post_init__(self) -> None:
        numbers = {"rate_rps": self.rate_rps, "duration_s": self.duration_s}
        checks.positive(**{name: value for name, value in numbers.items() if value is not None})
        if self.n_requests is not None:
            checks.integer(n_requests=self.n_requests)
        if self.n_requests is not None and self.duration_s is not None:
            raise ConfigError(
                f"duration_s={self.duration_s:g}, requests={self.n_requests}: give one of the two"
            )
        if isinstance(self.arrivals, OpenArrivals) and self.rate_rps is None:
            raise ConfigError(f"rate_rps: needed with {self.arrivals} arrivals")
        if isinstance(self.arrivals, ClosedLoop) and self.duration_s is not None:
            raise ConfigError("duration_s: a closed loop needs n_requests instead")
        if isinstance(self.arrivals, Replay) != (self.trace is not None):
            raise ConfigError("trace: needed with replay arrivals, and only there")
        if self.trace is not None and not len(self.trace):
            raise ConfigError("trace: holds no request")
        if self.structure.conversations and not isinstance(self.arrivals, OpenArrivals):
            raise ConfigError(
                f"conversations: begin at open arrivals, such as poisson, not at {self.arrivals} arrivals"
            )
        self._check_spans()

    def _check_spans(self) -> None:
        """Refuse loads that last longer than the clock can count."""
        if self.duration_s is not None:
            check_span(self.duration_s, duration_s=self.duration_s)
        n = self.n_requests or 0
        if isinstance(self.arrivals, OpenArrivals) and self.rate_rps is not None:
            check_span(n / float(self.rate_rps), rate_rps=self.rate_rps)
        if isinstance(self.arrivals, ClosedLoop):
            rounds = n / self.arrivals.concurrency
            check_span(rounds * self.arrivals.think_s, arrivals=str(self.arrivals))
        if self.trace is not None and isinstance(self.arrivals, Replay) and self.duration_s is None:
            first_s, last_s = self.trace.arrival_s[
                [0, min(n or len(self.trace), len(self.trace)) - 1]
            ].tolist()
            check_span((last_s - first_s) / float(self.arrivals.speed), speed=self.arrivals.speed)

    @classmethod
    def from_trace(
        cls, trace: Requests, *, name: str = "trace", speed: float = 1.0, slo: Slo | None = None
    ) -> Workload:
        """Replay of ``trace``, its times divided by ``speed``; the lengths are the pairs of the trace."""
        if not len(trace):
            raise ConfigError("trace: holds no request")
        pairs = PairLengths(
            prompt_tokens=trace.prompt_tokens.tolist(), output_tokens=trace.output_tokens.tolist()
        )
        return cls(name=name, lengths=pairs, arrivals=Replay(speed=speed), slo=slo or _NO_LIMITS, trace=trace)

    @property
    def client_cap(self) -> int:
        """Largest number of requests in flight at the client, 0: no limit; all clients of a closed loop."""
        return self.arrivals.in_flight_cap

    @property
    def think_s(self) -> float:
        """Seconds between an answer and the next request of the same client of a closed loop; else 0."""
        return self.arrivals.think_s if isinstance(self.arrivals, ClosedLoop) else 0.0

    @property
    def offered_rps(self) -> float:
        """Mean arrival rate, requests per second; of a trace (n - 1) / time from first to last.

        Infinite in a closed loop and where a trace has all requests at one moment: no rate limits them.
        """
        if isinstance(self.arrivals, ClosedLoop):
            return math.inf
        if self.trace is None or not isinstance(self.arrivals, Replay):
            return self.rate_rps or 0.0
        arrival_s = self._replay_times(self.trace)
        span_s = float(arrival_s[-1]) if len(arrival_s) else 0.0
        return (len(arrival_s) - 1) / span_s if span_s > 0 else math.inf

    @property
    def why_no_rate(self) -> str | None:
        """Why there is no arrival rate that can be changed, in a few words; None if there is one."""
        if isinstance(self.arrivals, OpenArrivals):
            return None
        if self.trace is None or not isinstance(self.arrivals, Replay):
            return f"{self.arrivals} arrivals have no rate"
        return (
            "all its requests come at one moment: a trace with no rate"
            if math.isinf(self.offered_rps)
            else None
        )

    def at_rate(self, rate_rps: float) -> Workload:
        """The same demand at another rate; a replay becomes faster or slower."""
        checks.positive(rate_rps=rate_rps)
        if isinstance(self.arrivals, OpenArrivals):
            return replace(self, rate_rps=rate_rps)
        why = self.why_no_rate
        if why is not None or self.trace is None or not isinstance(self.arrivals, Replay):
            raise ConfigError(f"rate_rps: {rate_rps:g} given, but {why or self.arrivals} to change")
        check_span(len(self._replay_times(self.trace)) / float(rate_rps), rate_rps=rate_rps)
        speed = self.arrivals.speed * rate_rps / self.offered_rps
        return replace(self, arrivals=replace(self.arrivals, speed=speed))

    def generate(self, rng: np.random.Generator) -> Requests:
        """Requests to be served; equal seeds give equal bytes.

        Arrivals and lengths come from streams of their own: at another rate the same requests come closer
        together or further apart. A closed loop gives all arrivals at 0; a replay draws only
        what `structure` adds.

        Parameters
        ----------
        rng : numpy.random.Generator
            Its children are used, spawned here; so a second call gives another sample.
        """
        arrivals_rng, lengths_rng, structure_rng = rng.spawn(3)
        if self.trace is not None:
            return self._with_limits(self._dressed(self._replayed(self.trace), None, structure_rng))
        if self.n_requests is None and self.duration_s is None:
            raise ConfigError(
                f"duration_s, n_requests: workload {checks.shown(self.name)} needs one of the two"
            )
        turns_rng, dress_rng = structure_rng.spawn(2)
        arrival_s, turns = self._arrivals(arrivals_rng, turns_rng)
        prompts, outputs = self.lengths.sample(lengths_rng, len(arrival_s))
        requests = Requests(arrival_s=arrival_s, prompt_tokens=prompts, output_tokens=outputs)
        return self._with_limits(self._dressed(requests, turns, dress_rng))

    def _arrivals(
        self, rng: np.random.Generator, turns_rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], Turns | None]:
        """When requests arrive, at the beginning of their conversations if there are any."""
        n, duration_s, talks = self.n_requests, self.duration_s, self.structure.conversations
        if not isinstance(self.arrivals, OpenArrivals):
            return np.zeros(n or 0), None
        if talks is None:
            return self.arrivals.arrival_times(rng, self.offered_rps, n=n, duration_s=duration_s), None
        turns = None if n is None else talks.draw(turns_rng, n)
        n_sessions = None if turns is None else len(turns.firsts)
        begin_s = self.arrivals.arrival_times(
            rng, self.offered_rps / talks.mean_turns, n=n_sessions, duration_s=duration_s
        )
        turns = turns or talks.draw(turns_rng, n_sessions=len(begin_s))
        return begin_s[turns.session], turns

    def _dressed(self, requests: Requests, turns: Turns | None, rng: np.random.Generator) -> Requests:
        return self.structure.dress(requests, turns, rng, self.slo) if self.structure else requests

    def _replay_times(self, trace: Requests) -> NDArray[np.float64]:
        """Moments (n,) of the part of the trace that is replayed, seconds after its first request."""
        speed = self.arrivals.speed if isinstance(self.arrivals, Replay) else 1.0
        with np.errstate(over="ignore"):  # beyond any duration
            arrival_s: NDArray[np.float64] = (trace.arrival_s - trace.arrival_s[0]) / speed
        n = len(trace) if self.n_requests is None else self.n_requests
        if n > len(trace):
            raise ConfigError(f"requests: {n} is more than the {len(trace)} of the trace")
        if self.duration_s is not None:
            n = int(np.searchsorted(arrival_s, self.duration_s, side="left"))
        return arrival_s[:n]

    def _replayed(self, trace: Requests) -> Requests:
        arrival_s = self._replay_times(trace)
        columns: dict[str, Any] = {f.name: getattr(trace, f.name) for f in fields(trace)}
        kept: dict[str, Any] = {
            name: column if column is None else column[: len(arrival_s)] for name, column in columns.items()
        }
        return Requests(**(kept | {"arrival_s": arrival_s}))

    def _with_limits(self, requests: Requests) -> Requests:
        """First-token limits for deadline schedulers, where the trace has none of its own."""
        if self.slo.ttft_s is None or requests.ttft_slo_s is not None:
            return requests
        return replace(requests, ttft_slo_s=np.full(len(requests), self.slo.ttft_s))
