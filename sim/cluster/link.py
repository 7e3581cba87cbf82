"""The link over which keys and values go from a prefill to a decode instance."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError

__all__ = ["Link"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A first-come first-served link with a latency.

    Parameters
    ----------
    tokens_per_s : float
        Tokens whose keys and values it carries a second: its bandwidth over the bytes of a token, > 0.
    latency_s : float
        Seconds that each transfer takes on top, >= 0.
    n_layers : int
        Above 1: keys and values of a layer are sent while the next ones are computed, >= 1.
    is_shared : bool
        One link for all instances, instead of one for each pair.

    Raises
    ------
    ConfigError
        If a number is out of its range.

    Examples
    --------
    >>> link = Link(tokens_per_s=100.0, latency_s=0.5)
    >>> link.seconds(100)
    1.5
    >>> layers = Link(tokens_per_s=100.0, n_layers=32)
    >>> [round(layers.seconds(n, beside_s=1.0), 6) for n in (80, 200)]
    [0.025, 1.03125]
    """

    tokens_per_s: float
    latency_s: float = 0.0
    n_layers: int = 1
    is_shared: bool = False

    def __post_init__(self) -> None:
        checks.positive(tokens_per_s=self.tokens_per_s)
        checks.non_negative(latency_s=self.latency_s)
        checks.integer(n_layers=self.n_layers)
        if not isinstance(self.is_shared, bool):
            raise ConfigError(f"is_shared: {checks.shown(self.is_shared)} must be true or false")

    def hidden_s(self, n_tokens: int, beside_s: float) -> float:
        """Seconds of a transfer that fit into ``beside_s`` of the prefill: all layers but the last."""
        most = (self.n_layers - 1) / self.n_layers
        return most * min(n_tokens / self.tokens_per_s, beside_s)

    def seconds(self, n_tokens: int, beside_s: float = 0.0) -> float:
        """Seconds from the end of a prefill that ran for ``beside_s`` beside the free link."""
        return self.latency_s + n_tokens / self.tokens_per_s - self.hidden_s(n_tokens, beside_s)
