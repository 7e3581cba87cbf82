"""What a language model computes, reads and stores, from the numbers of its architecture."""

from __future__ import annotations

from dataclasses import dataclass

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import whole_between

from ._shapes import RANGES, attention_params, check_shapes
from .precision import WEIGHT_BYTES, kv_bytes_each, weight_bytes_each

__all__ = ["ModelSpec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A decoder-only transformer by its shapes; everything else is computed from them [1]_, [2]_.

    A zero means that the model has no such part, or that the value follows from the others. Norms count as
    weights but not as work; biases, learned positions and anything beside the language model are left out.

    Parameters
    ----------
    name : str
        Short name.
    layers, hidden, heads, kv_heads, head_dim, vocab : int
        Layers, width of the residual stream, query heads, key/value heads, width of a head, vocabulary; >= 1.
    intermediate : int
        Width of the dense feed-forward block.
    mlp_matrices : int
        3 with a gate (SwiGLU), 2 without.
    tie_embeddings : bool
        Whether input embedding and output head are one matrix.
    experts, experts_top_k, moe_intermediate : int
        Routed experts of a layer, experts a token visits, width of one expert.
    moe_hidden : int
        Width at which experts work, if it is not ``hidden``.
    shared_intermediate : int
        Width of all shared experts of a layer together.
    dense_layers : int
        Layers of a mixture of experts whose feed-forward block is dense.
    no_mlp_layers, no_attention_layers : int
        Layers without feed-forward block, and layers without attention (recurrent ones among them).
    kv_lora_rank, q_lora_rank, qk_nope_dim, qk_rope_dim : int
        Multi-head latent attention: width of the cached latent (above 0 selects this kind of attention), of
        the compressed query, and of the two parts of a query head.
    v_head_dim : int
        Width of a value head, if it is not ``head_dim``; with latent attention always.
    sliding_window, local_layers : int
        Layers that attend to the last ``sliding_window`` tokens only.
    sparse_top_k : int
        In the other layers a token attends to at most so many tokens, chosen by an index; all are stored.
    kv_width, local_kv_width : int
        Numbers stored for a token in a layer, if not what the shapes say (the second for local layers).
    attention_params : int
        Mean weights of an attention block, if not what the shapes say.
    other_params : int
        Weights of the whole model that multiply every token and are not covered above (recurrent).
    wide_params : int
        Weights of the layers that stay in 16 bits in a narrower format (attention of some checkpoints).
    state_bytes : int
        Recurrent state of a sequence, all layers, read and written by each of its tokens.
    max_context : int
        Longest sequence; 0 if unknown.
    weights : str
        Format the weights are published in, one of `WEIGHT_BYTES`. A 4-bit format of a mixture of experts
        holds the experts only; embedding, head and norms always stay in 16 bits.
    caveat : str
        What these fields do not describe of the model; empty if nothing.
    source : str
        Where the numbers are from.

    Raises
    ------
    ConfigError
        If a value has the wrong type, is out of range, or contradicts another.

    References
    ----------
    .. [1] Narayanan et al. (2021), "Efficient large-scale language model training on GPU clusters using
       Megatron-LM", arXiv:2104.04473, appendix (operations of a transformer).
    .. [2] DeepSeek-AI (2024), "DeepSeek-V2", arXiv:2405.04434, section 2.1 (latent attention).

    Examples
    --------
    >>> tiny = ModelSpec(name="tiny", layers=2, hidden=64, heads=4, kv_heads=2, head_dim=16, vocab=1000,
    ...                  intermediate=256)
    >>> tiny.params, tiny.kv_bytes_per_token("bf16")
    (251200, 256.0)
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    intermediate: int = 0
    mlp_matrices: int = 3
    tie_embeddings: bool = False
    experts: int = 0
    experts_top_k: int = 0
    moe_intermediate: int = 0
    moe_hidden: int = 0
    shared_intermediate: int = 0
    dense_layers: int = 0
    no_mlp_layers: int = 0
    no_attention_layers: int = 0
    kv_lora_rank: int = 0
    q_lora_rank: int = 0
    qk_nope_dim: int = 0
    qk_rope_dim: int = 0
    v_head_dim: int = 0
    sliding_window: int = 0
    local_layers: int = 0
    sparse_top_k: int = 0
    kv_width: int = 0
    local_kv_width: int = 0
    attention_params: int = 0
    other_params: int = 0
    wide_params: int = 0
    state_bytes: int = 0
    max_context: int = 0
    weights: str = "bf16"
    caveat: str = ""
    source: str = "given by the user"

    def __post_init__(self) -> None:
        for name in ("name", "weights", "caveat", "source"):
            checks.text(name, getattr(self, name))
        for name, (least, most) in RANGES.items():
            whole_between(name, getattr(self, name), least, most)
        if not isinstance(self.tie_embeddings, bool):
            raise ConfigError(f"tie_embeddings: {checks.shown(self.tie_embeddings)} must be true or false")
        checks.one_of("weights", self.weights, WEIGHT_BYTES)
        check_shapes(self)

    # Layers of each kind.

    @property
    def moe_layers(self) -> int:
        """Layers with routed experts."""
        return self.layers - self.no_mlp_layers - self.dense_layers if self.experts else 0

    @property
    def mlp_layers(self) -> int:
        """Layers with a dense feed-forward block."""
        return self.dense_layers if self.experts else self.layers - self.no_mlp_layers

    @property
    def attention_layers(self) -> int:
        """Layers with attention, local ones included."""
        return self.layers - self.no_attention_layers

    @property
    def full_layers(self) -> int:
        """Layers whose attention sees the whole context (or the best of it, with ``sparse_top_k``)."""
        return self.attention_layers - self.short_layers

    @property
    def short_layers(self) -> int:
        """Local layers whose window is shorter than the longest sequence."""
        return self.local_layers if not 0 < self.max_context <= self.sliding_window else 0

    # Weights, in numbers.

    @property
    def linear_params(self) -> int:
        """Weights of all layers that multiply every token: projections, dense and shared blocks, routers."""
        attention = self.attention_params or attention_params(self)
        dense = self.mlp_matrices * self.hidden * self.intermediate
        beside = self.mlp_matrices * self.hidden * self.shared_intermediate + self.hidden * self.experts
        blocks = self.attention_layers * attention + self.mlp_layers * dense + self.moe_layers * beside
        return blocks + self.other_params

    @property
    def expert_params(self) -> int:
        """Weights of one routed expert in one layer."""
        return self.mlp_matrices * (self.moe_hidden or self.hidden) * self.moe_intermediate

    @property
    def head_params(self) -> int:
        """Weights of the output head."""
        return self.vocab * self.hidden

    @property
    def _kept_params(self) -> int:
        """Weights that stay in 16 bits: embedding, head, norms."""
        embedding = 0 if self.tie_embeddings else self.head_params
        return self.head_params + embedding + (2 * self.layers + 1) * self.hidden

    @property
    def params(self) -> int:
        """All weights."""
        return self.linear_params + self._kept_params + self.moe_layers * self.experts * self.expert_params

    @property
    def active_params(self) -> int:
        """Weights that one token meets, embedding and head included."""
        return (
            self.linear_params + self._kept_params + self.moe_layers * self.experts_top_k * self.expert_params
        )

    def linear_format(self, weights: str) -> str:
        """Format of the weights in `linear_params`: 16 bits where a 4-bit format is for the experts only."""
        weight_bytes_each(weights)
        return "bf16" if self.experts and weights in ("fp4", "int4") else weights

    def linear_bytes(self, weights: str) -> float:
        """Bytes of `linear_params` in this format."""
        each = weight_bytes_each(self.linear_format(weights))
        return self.linear_params * each + self.wide_params * max(WEIGHT_BYTES["bf16"] - each, 0.0)

    def weight_bytes(self, weights: str | None = None) -> float:
        """Bytes of all weights in this format (None: the published one)."""
        weights = self.weights if weights is None else weights
        experts = self.moe_layers * self.experts * self.expert_params * weight_bytes_each(weights)
        return self.linear_bytes(weights) + experts + self._kept_params * WEIGHT_BYTES["bf16"]

    def distinct_experts(self, n_tokens: float) -> float:
        """Expected number of experts of a layer that ``n_tokens`` tokens hit, if the router is balanced.

        Examples
        --------
        >>> moe = ModelSpec(name="moe", layers=1, hidden=8, heads=1, kv_heads=1, head_dim=8, vocab=10,
        ...                 experts=8, experts_top_k=2, moe_intermediate=8)
        >>> moe.distinct_experts(1), moe.distinct_experts(2)
        (2.0, 3.5)
        """
        if not self.experts:
            return 0.0
        missed: float = (1 - self.experts_top_k / self.experts) ** n_tokens
        return self.experts * (1 - missed)

    # Keys and values.

    @property
    def full_kv_width(self) -> int:
        """Numbers stored for a token in a layer that sees the whole context."""
        if self.kv_width:
            return self.kv_width
        if self.kv_lora_rank:
            return self.kv_lora_rank + self.qk_rope_dim
        return self.kv_heads * (self.head_dim + (self.v_head_dim or self.head_dim))

    @property
    def short_kv_width(self) -> int:
        """Numbers stored for a token in a local layer."""
        return self.local_kv_width or self.full_kv_width

    def kv_bytes_per_token(self, kv_dtype: str = "bf16") -> float:
        """Bytes that a further token takes in the KV cache of all layers, windows not counted."""
        short = self.local_layers * self.short_kv_width
        full = (self.attention_layers - self.local_layers) * self.full_kv_width
        return (short + full) * kv_bytes_each(kv_dtype)

    def kv_bytes(self, context_tokens: int, kv_dtype: str = "bf16") -> float:
        """Bytes of the KV cache of one sequence, where local layers keep no more than their window."""
        short = self.short_layers * self.short_kv_width * min(context_tokens, self.sliding_window)
        rest = (self.local_layers - self.short_layers) * self.short_kv_width * context_tokens
        full = (self.attention_layers - self.local_layers) * self.full_kv_width * context_tokens
        return (short + rest + full) * kv_bytes_each(kv_dtype)

    def kv_shards(self, tp: int) -> int:
        """Parts into which ``tp`` accelerators split keys and values; above that they hold copies."""
        return 1 if self.kv_lora_rank else min(tp, self.kv_heads)

    # Work.

    @property
    def flops_per_token(self) -> float:
        """Operations of one token in everything but attention and the output head."""
        return 2.0 * (self.linear_params + self.moe_layers * self.experts_top_k * self.expert_params)

    @property
    def head_flops_per_token(self) -> float:
        """Operations of the output head for one sampled token."""
        return 2.0 * self.head_params

    @property
    def decode_attention_flops(self) -> float:
        """Operations of one layer for one decoded token and one token attended to (latent: absorbed form)."""
        if self.kv_lora_rank:
            return 2.0 * self.heads * (2 * self.kv_lora_rank + self.qk_rope_dim)
        return self.prefill_attention_flops

    @property
    def prefill_attention_flops(self) -> float:
        """Operations of one layer for one prompt token and one token attended to (latent: expanded form)."""
        query = self.qk_nope_dim + self.qk_rope_dim if self.kv_lora_rank else self.head_dim
        return 2.0 * self.heads * (query + (self.v_head_dim or self.head_dim))

    @property
    def expand_flops_per_token(self) -> float:
        """Operations of one layer to expand one cached latent for a prefill chunk; 0 without latents."""
        return 2.0 * self.kv_lora_rank * self.heads * (self.qk_nope_dim + self.v_head_dim)
