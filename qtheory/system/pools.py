"""Prefill and decode instances apart, and the links between them, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks

__all__ = ["PoolSpec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSpec:
    """Pools of equal instances that belong to one replica of the scheduler ``disaggregated``.

    Parameters
    ----------
    n_prefill, n_decode : int
        Instances that compute prompts, and that decode; >= 1.
    link_bytes_per_s : float
        Bandwidth between a pair of instances, > 0.
    link_latency_s : float
        Seconds that each transfer takes on top, >= 0.
    link_shared : bool
        One link for all instances, instead of one for each pair.
    layerwise_transfer : bool
        Whether keys and values of a layer are sent while the next ones are computed.
    first_token : str
        When the first token is counted.
    router : str
        Who gets a new request, as in a scenario.

    Raises
    ------
    ConfigError
        If a number is out of its range.

    Examples
    --------
    >>> PoolSpec(n_decode=3).n_instances
    4
    """

    n_prefill: int = 1
    n_decode: int = 1
    link_bytes_per_s: float = 25e9
    link_latency_s: float = 0.0
    link_shared: bool = False
    layerwise_transfer: bool = False
    first_token: str = "prefill_end"
    router: str = "least_requests"

    def __post_init__(self) -> None:
        checks.integer(prefill_replicas=self.n_prefill, decode_replicas=self.n_decode)
        checks.positive(link_bytes_per_s=self.link_bytes_per_s)
        checks.non_negative(link_latency_s=self.link_latency_s)

    @property
    def n_instances(self) -> int:
        """Of both pools."""
        return self.n_prefill + self.n_decode
