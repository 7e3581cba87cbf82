"""What follows from two moments: the formulas of the table for the mean wait, and the limit of stability."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics.errors import ConfigError
from qtheory.laws import Law
from qtheory.queues.multi import GGc
from qtheory.queues.single.gg1 import GG1

__all__ = ["Moments", "moments_of"]

_ONE_SERVER = {
    "approx_kingman_mean_wait": "kingman",
    "bound_kingman_mean_wait": "kingman_bound",
    "approx_klb_mean_wait": "klb",
}
_MORE_SERVERS = {
    "approx_allen_cunneen_mean_wait": "allen_cunneen",
    "approx_cosmetatos_mean_wait": "cosmetatos",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Rate and variability of the arrivals, mean and variability of the service, and the servers.

    Examples
    --------
    >>> two = Moments(rate_rps=1.5, scv_interval=1.0, mean_service_s=1.0, scv_service=1.0, n_servers=2)
    >>> two.answer("max_arrival_rate"), two.answer("mean_wait")
    (2.0, None)
    """

    rate_rps: float
    scv_interval: float
    mean_service_s: float
    scv_service: float
    n_servers: int = 1

    def answer(self, quantity: str) -> float | None:
        """The quantity, or None if two moments do not say it."""
        plain = {
            "arrival_rate": self.rate_rps,
            "scv_interarrival": self.scv_interval,
            "scv_service": self.scv_service,
            "max_arrival_rate": self.n_servers / self.mean_service_s,
        }
        if quantity in plain:
            return plain[quantity]
        moments = {
            "rate_rps": self.rate_rps,
            "scv_interval": self.scv_interval,
            "mean_service_s": self.mean_service_s,
            "scv_service": self.scv_service,
        }
        if quantity in _ONE_SERVER:
            if self.n_servers != 1:
                raise ConfigError(f"quantity: {quantity} is a formula for one server, not {self.n_servers}")
            return float(GG1(**moments, formula=_ONE_SERVER[quantity]).mean_wait_s())  # type: ignore[arg-type]
        if quantity in _MORE_SERVERS:
            formula = _MORE_SERVERS[quantity]
            return GGc(**moments, n_servers=self.n_servers, formula=formula).mean_wait_s()  # type: ignore[arg-type]
        return None


def moments_of(rate_rps: float, service: Law, *, scv_interval: float = 1.0, n_servers: int = 1) -> Moments:
    """The moments of a queue with this law of the service; Poisson arrivals unless said otherwise.

    Examples
    --------
    >>> from qtheory.laws import Constant
    >>> moments_of(0.5, Constant(value=1.0)).answer("approx_kingman_mean_wait")
    0.5
    """
    return Moments(
        rate_rps=rate_rps,
        scv_interval=scv_interval,
        mean_service_s=service.mean,
        scv_service=service.scv,
        n_servers=n_servers,
    )
