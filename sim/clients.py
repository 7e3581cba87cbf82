"""Clients that time out, cancel and send again."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system import metrics
from qtheory.system.slo import Slo
from qtheory.system.workload.request import Requests

from ._attempts import Attempts, PatientStepper, SameText
from ._state import State
from ._unfit import cut_outputs
from .kvcache import Contents
from .kvcache.texts import TextContents
from .policies import Policy
from .record import Records, Status
from .replica import Replica

__all__ = ["Attempted", "Patience", "simulate_retries"]

_WAITS = ("first_token", "answer")
_LONGEST = 600.0  # logarithm of a factor that is still a number
_TEXTS = ("block_hashes", "text_runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a client waits, and how often it tries again.

    Parameters
    ----------
    timeout_s : float
        Seconds after which an attempt is cancelled, > 0.
    retries : int
        Further attempts at most, >= 0.
    retry_delay_s : float
        Seconds from giving up the first attempt until the second is sent, >= 0.
    backoff : float
        Factor of the delay from one retry to the next, >= 1.
    waits_for : str
        ``first_token``: a client that has seen a token waits for the rest, however long that takes;
        ``answer``: the whole answer must have come within the time.

    Raises
    ------
    ConfigError
        If a value is out of its range.

    Examples
    --------
    >>> Patience(timeout_s=10.0, retries=3, retry_delay_s=1.0).delays_s
    [1.0, 2.0, 4.0]
    """

    timeout_s: float
    retries: int = 0
    retry_delay_s: float = 1.0
    backoff: float = 2.0
    waits_for: str = "first_token"

    def __post_init__(self) -> None:
        checks.positive(timeout_s=self.timeout_s)
        checks.at_least(0, retries=self.retries)
        checks.non_negative(retry_delay_s=self.retry_delay_s)
        if not 1.0 <= self.backoff < math.inf:
            raise ConfigError(f"backoff: {self.backoff} must be >= 1")
        if self.retries * math.log(self.backoff) > _LONGEST:
            raise ConfigError(
                f"backoff: {self.backoff:g} with {self.retries} retries gives delays that no clock can count"
            )
        if self.waits_for not in _WAITS:
            near = checks.nearest(self.waits_for, _WAITS)
            raise ConfigError(
                f"waits_for: unknown {checks.shown(self.waits_for)}{near}; one of {', '.join(_WAITS)}"
            )

    @property
    def delays_s(self) -> list[float]:
        """Seconds before each retry."""
        return [self.retry_delay_s * self.backoff**k for k in range(self.retries)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attempted:
    """What came of the requests, and of every attempt; all arrays but those of ``attempts`` of shape (n,).

    Parameters
    ----------
    attempts : Records
        One row an attempt: attempt k of request i in row ``i * (1 + retries) + k``, never sent (NaN) if none
        was needed. A cancelled one is aborted, at the end of the step in which its client gave up.
    n_each : int
        Rows of a request.
    computed_in_vain : array of int
        By row of ``attempts``: tokens computed for it before it was cancelled.

    Examples
    --------
    >>> from sim.testing import ConstantStep
    >>> found = simulate_retries(
    ...     Requests(arrival_s=[0.0, 0.0], prompt_tokens=[8, 8], output_tokens=[4, 1]),
    ...     Policy(name="chunked", budget_tokens=8, max_seqs=1),
    ...     Replica(step_time=ConstantStep(1.0), n_blocks=8),
    ...     Patience(timeout_s=3.0, retries=2),
    ... )
    >>> found.n_attempts.tolist(), found.ttft_s.tolist()
    ([1, 2], [1.0, 5.0])
    """

    attempts: Records
    n_each: int
    computed_in_vain: NDArray[np.int64]

    def _by_request(self, column: NDArray[Any]) -> NDArray[Any]:
        return column.reshape(-1, self.n_each)

    @property
    def n_attempts(self) -> NDArray[np.int64]:
        """Attempts that were sent."""
        return np.asarray(np.sum(~np.isnan(self._by_request(self.attempts.sent_s)), axis=1))

    @property
    def n_cancelled(self) -> NDArray[np.int64]:
        """Attempts that the client gave up."""
        return np.asarray(np.sum(self._by_request(self.attempts.status) == Status.ABORTED, axis=1))

    @property
    def wasted_tokens(self) -> NDArray[np.int64]:
        """Tokens that were computed for attempts that the client gave up."""
        return np.asarray(np.sum(self._by_request(self.computed_in_vain), axis=1))

    @property
    def served(self) -> NDArray[np.bool_]:
        """Whether an attempt was served to its end."""
        return np.asarray(np.any(self._by_request(self.attempts.status) == Status.FINISHED, axis=1))

    @property
    def ttft_s(self) -> NDArray[np.float64]:
        """From the first attempt to the first token of the one that was served, seconds; NaN if none was."""
        return self._since_arrival(self.attempts.first_token_s)

    @property
    def e2e_s(self) -> NDArray[np.float64]:
        """From the first attempt to the end of the one that was served, seconds; NaN if none was."""
        return self._since_arrival(self.attempts.finish_s)

    def _since_arrival(self, at_s: NDArray[np.float64]) -> NDArray[np.float64]:
        done = self.attempts.status == Status.FINISHED
        last = np.max(np.where(done, at_s, -np.inf).reshape(-1, self.n_each), axis=1)
        return np.where(self.served, last - self.attempts.requests.arrival_s[:: self.n_each], np.nan)

    def by_request(self) -> Records:
        """One row a request: the attempt that was served, or the last, with times since the first.

        ``sent_s`` is the moment of the first attempt; who still has a retry when the clock is stopped is
        unfinished; what was never served has no first token and no start.
        Preemptions and tokens computed again are those of all attempts; steps and gaps are, too.
        """
        attempts, each = self.attempts, self._by_request
        sent = each(~np.isnan(attempts.sent_s))
        done = each(attempts.status == Status.FINISHED)
        served: NDArray[np.bool_] = np.asarray(done.any(axis=1))
        last = np.maximum(sent.sum(axis=1) - 1, 0)
        row = np.arange(len(served)) * self.n_each + np.where(served, done.argmax(axis=1), last)
        waits = ~served & (attempts.status[row] == Status.ABORTED) & (last < self.n_each - 1)
        return replace(
            attempts,
            requests=_first_rows(attempts.requests, self.n_each),
            sent_s=attempts.sent_s[:: self.n_each],
            status=np.where(waits, Status.UNFINISHED, attempts.status[row]),
            first_scheduled_s=np.where(served, attempts.first_scheduled_s[row], np.nan),
            first_token_s=np.where(served, attempts.first_token_s[row], np.nan),
            finish_s=np.where(waits, np.nan, attempts.finish_s[row]),
            n_preemptions=each(attempts.n_preemptions).sum(axis=1),
            cached_tokens=attempts.cached_tokens[row],
            recomputed_tokens=each(attempts.recomputed_tokens).sum(axis=1),
        )

    def good(self, slo: Slo) -> NDArray[np.bool_]:
        """Which requests were served within the limits, counted from their first attempt.

        Parameters
        ----------
        slo : Slo
        """
        outputs = self.attempts.requests.output_tokens[:: self.n_each]
        return metrics.good(
            slo,
            ttft_s=self.ttft_s,
            tpot_s=metrics.tpot_s(self.ttft_s, self.e2e_s, outputs),
            e2e_s=self.e2e_s,
            finished=self.served,
        )


def simulate_retries(
    requests: Requests,
    policy: Policy,
    replica: Replica,
    patience: Patience,
    *,
    until_s: float = math.inf,
    contents: Contents | None = None,
) -> Attempted:
    """Serve ``requests`` of clients with limited patience, on the reference engine.

    What is late is cancelled: its blocks come free at the end of the step under way, what was computed for it
    is wasted, and the client sends it again until it has no retry left. A refusal (shed, rejected) is final.

    Parameters
    ----------
    requests : Requests
        In order of arrival; none may wait for another.
    policy : Policy
    replica : Replica
    patience : Patience
    until_s : float
        Moment at which the clock is stopped, seconds, > 0.
    contents : Contents, optional
        What the prompts say, for the prefix cache (default: what the requests tell of it). All attempts of a
        request say the same.

    Returns
    -------
    Attempted

    Raises
    ------
    ConfigError
        If an argument is out of its range, or a request waits for another.
    PlanError
        If requests are left that can never run (names one).

    Examples
    --------
    >>> from sim.testing import ConstantStep
    >>> found = simulate_retries(
    ...     Requests(arrival_s=[0.0, 0.0], prompt_tokens=[8, 8], output_tokens=[4, 1]),
    ...     Policy(name="chunked", budget_tokens=8, max_seqs=1),
    ...     Replica(step_time=ConstantStep(1.0), n_blocks=8),
    ...     Patience(timeout_s=3.0),
    ... )
    >>> found.served.tolist(), found.n_cancelled.tolist()
    ([True, False], [0, 1])
    """
    if not until_s > 0:
        raise ConfigError(f"until_s: {until_s} must be > 0")
    if requests.after is not None:
        raise ConfigError(
            "requests: some wait for the end of another; clients with a time-out send each alone"
        )
    requests = cut_outputs(requests, replica.max_model_len_tokens)
    delays_s = patience.delays_s
    n_each = 1 + len(delays_s)
    said = contents or TextContents.of(requests) or Contents.unique(len(requests))
    rows = _each(requests, n_each)
    state = State(policy, replica, SameText(said, n_each))
    whole = patience.waits_for == "answer"
    stepper = PatientStepper(rows, state, Attempts(rows, delays_s), patience.timeout_s, whole)
    records = stepper.run(until_s)
    in_vain = np.array(stepper.wasted_tokens, dtype=np.int64)
    return Attempted(attempts=records, n_each=n_each, computed_in_vain=in_vain)


def _each(requests: Requests, n_each: int) -> Requests:
    """Every row so many times; what they say is kept elsewhere."""
    columns: dict[str, Any] = {item.name: getattr(requests, item.name) for item in fields(requests)}
    repeated: dict[str, Any] = {
        name: np.repeat(column, n_each)
        for name, column in columns.items()
        if column is not None and name not in _TEXTS
    }
    return Requests(**repeated)


def _first_rows(requests: Requests, n_each: int) -> Requests:
    """One row of each, again."""
    columns: dict[str, Any] = {item.name: getattr(requests, item.name) for item in fields(requests)}
    kept = {name: column[::n_each] for name, column in columns.items() if column is not None}
    return Requests(**kept)
