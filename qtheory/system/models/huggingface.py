"""A `ModelSpec` from the ``config.json`` of a Hugging Face model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from qtheory.basics import checks
from qtheory.basics.checks import shown
from qtheory.basics.errors import ConfigError
from qtheory.basics.ranges import whole_between

from ._quantization import published_format
from .spec import ModelSpec

__all__ = ["is_hugging_face", "spec_from_config"]


class _Family(NamedTuple):
    """What the configuration class of a model type fills in, and which of its layers are local."""

    defaults: dict[str, Any] = {}  # noqa: RUF012 - a tuple of constants
    local: str = "none"  # none, all, alternate, sixth, late
    latent: bool = False
    mlp_matrices: int = 3


_TIED: dict[str, Any] = {"tie_word_embeddings": True}
_GEMMA: dict[str, Any] = {**_TIED, "head_dim": 256}
_GEMMA3 = _GEMMA | {"vocab_size": 262_208, "num_attention_heads": 8, "num_key_value_heads": 4}
_FAMILIES = {
    "llama": _Family(),
    "mistral": _Family(local="all"),
    "mixtral": _Family(local="all"),
    "phi3": _Family(local="all"),
    "qwen2": _Family(local="late"),
    "qwen2_moe": _Family(local="late"),
    "qwen3": _Family({"head_dim": 128}, local="late"),
    "qwen3_moe": _Family(local="late"),
    "qwen3_vl_text": _Family({"head_dim": 128}),
    "qwen3_vl_moe_text": _Family(),
    "gemma": _Family(_GEMMA),
    "gemma2": _Family(_GEMMA, local="alternate"),
    "gemma3_text": _Family(_GEMMA3, local="sixth"),
    "gpt_oss": _Family({"head_dim": 64, "sliding_window": 128}, local="alternate"),
    "deepseek_v2": _Family(latent=True),
    "deepseek_v3": _Family(latent=True),
    "deepseek_v32": _Family(latent=True),
    "kimi_k2": _Family(latent=True),
    "glm_moe_dsa": _Family(latent=True),
    "opt": _Family(_TIED, mlp_matrices=2),
}

_WHOLE_WHEREVER = (
    "kv_lora_rank",
    "q_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
    "num_experts",
    "num_local_experts",
    "n_routed_experts",
    "n_shared_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "intermediate_size",
    "sliding_window",
)
_DTYPES = ("bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "int8", "auto")


class _Config:
    """Keys of a configuration, with the defaults of its family, and errors that name file and key."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        inner = values.get("text_config") or {}
        if not isinstance(inner, Mapping):
            raise ConfigError(f"{where}: text_config: {shown(inner)} is not a table")
        given = {key: value for key, value in {**values, **inner}.items() if value is not None}
        kind = given.get("model_type")
        if kind is None:
            raise ConfigError(f"{where}: model_type: missing; one of {', '.join(_FAMILIES)}")
        if not isinstance(kind, str) or kind not in _FAMILIES:
            hint = checks.nearest(str(kind), _FAMILIES)
            raise ConfigError(
                f"{where}: model_type: {shown(kind)} is not read{hint}; one of {', '.join(_FAMILIES)}, "
                "or describe the model in a file of our own fields"
            )
        self.where, self.kind, self.family = where, kind, _FAMILIES[kind]
        self.values: dict[str, Any] = self.family.defaults | given
        self._refuse_nonsense()

    def _refuse_nonsense(self) -> None:
        """Values that are not read for this type, but that no configuration has."""
        for name in _WHOLE_WHEREVER:
            self.whole(name, default=0, least=0)
        for name in ("torch_dtype", "dtype"):
            if str(self.values.get(name, "auto")).removeprefix("torch.") not in _DTYPES:
                hint = checks.nearest(str(self.values[name]), _DTYPES)
                raise ConfigError(
                    f"{self.where}: {name}: unknown {shown(self.values[name])}{hint}; "
                    f"one of {', '.join(_DTYPES)}"
                )
        classes = self.values.get("architectures", ["some"])
        if not isinstance(classes, list) or not classes or not all(isinstance(each, str) for each in classes):
            raise ConfigError(
                f"{self.where}: architectures: {shown(classes)} is not a list of names of classes; "
                'such as ["LlamaForCausalLM"]'
            )

    def whole(self, *names: str, default: int | None = None, least: int = 1) -> int:
        """The whole number under the first of ``names`` that is there."""
        for name in names:
            if name in self.values:
                try:
                    whole_between(name, self.values[name], least, 1_000_000_000)
                except ConfigError as error:
                    raise ConfigError(f"{self.where}: {error}") from None
                return int(self.values[name])
        if default is None:
            raise ConfigError(f"{self.where}: {names[0]}: missing; a model of type {self.kind} needs it")
        return default

    def flag(self, name: str, default: bool) -> bool:
        """The true or false under ``name``."""
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise ConfigError(f"{self.where}: {name}: {shown(value)} must be true or false")
        return value

    def items(self, name: str) -> list[Any]:
        """The list under ``name``, empty if there is none."""
        value = self.values.get(name, [])
        if not isinstance(value, list):
            raise ConfigError(f"{self.where}: {name}: {shown(value)} is not a list")
        return value


def is_hugging_face(values: Mapping[str, Any]) -> bool:
    """Whether these keys look like a Hugging Face configuration rather than our own fields.

    Parameters
    ----------
    values : mapping
        The keys of a file.

    Examples
    --------
    >>> is_hugging_face({"model_type": "llama"}), is_hugging_face({"layers": 32})
    (True, False)
    """
    return any(key in values for key in ("model_type", "architectures", "text_config", "num_hidden_layers"))


def spec_from_config(values: Mapping[str, Any], *, name: str, where: str) -> ModelSpec:
    """The model that a Hugging Face configuration describes [1]_.

    Parameters
    ----------
    values : mapping
        The keys of ``config.json``; a nested ``text_config`` is looked into, other keys are ignored.
    name : str
        Name of the model.
    where : str
        The file, for messages.

    Raises
    ------
    ConfigError
        If the model type is not read, a key is missing and has no default, or a value is not believable.

    References
    ----------
    .. [1] Configuration classes of the transformers library, whose defaults for ``num_key_value_heads``,
       ``head_dim`` and ``tie_word_embeddings`` are kept.

    Examples
    --------
    >>> keys = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 99,
    ...         "num_attention_heads": 4, "intermediate_size": 128}
    >>> spec = spec_from_config(keys, name="mine", where="config.json")
    >>> spec.kv_heads, spec.head_dim, spec.tie_embeddings
    (4, 16, False)
    """
    config = _Config(values, where)
    heads, hidden = config.whole("num_attention_heads"), config.whole("hidden_size")
    fields: dict[str, Any] = {
        "layers": config.whole("num_hidden_layers"),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": config.whole("num_key_value_heads", default=heads),
        "head_dim": config.whole("head_dim", default=max(1, hidden // heads)),
        "vocab": config.whole("vocab_size"),
        "tie_embeddings": config.flag("tie_word_embeddings", False),
        "max_context": config.whole("max_position_embeddings", default=0),
        "mlp_matrices": config.family.mlp_matrices,
        "weights": published_format(config.values.get("quantization_config"), where),
        "source": f"Hugging Face configuration {where}",
    }
    fields |= _feed_forward(config) | _local_layers(config)
    if config.family.latent:
        fields |= _latent(config)
    try:
        return ModelSpec(name=name, **fields)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _feed_forward(config: _Config) -> dict[str, int]:
    """Fields of dense blocks and experts."""
    experts = config.whole("num_local_experts", "num_experts", "n_routed_experts", default=0, least=0)
    if not experts:
        return {"intermediate": config.whole("intermediate_size", "ffn_dim")}
    if config.kind in ("mixtral", "gpt_oss"):  # there the plain key means one expert
        width = config.whole("intermediate_size")
    else:
        width = config.whole("moe_intermediate_size")
    fields = {
        "experts": experts,
        "experts_top_k": config.whole("num_experts_per_tok", "experts_per_token"),
        "moe_intermediate": width,
        "dense_layers": _dense_layers(config),
    }
    shared = config.whole("n_shared_experts", default=0, least=0) * width
    fields["shared_intermediate"] = config.whole("shared_expert_intermediate_size", default=shared, least=0)
    if fields["dense_layers"]:
        fields["intermediate"] = config.whole("intermediate_size")
    return fields


def _dense_layers(config: _Config) -> int:
    """Layers of a mixture of experts that have one dense block instead."""
    if config.family.latent:
        return config.whole("first_k_dense_replace", least=0)
    step = config.whole("decoder_sparse_step", default=1)
    dense = config.items("mlp_only_layers")
    layers = config.whole("num_hidden_layers")
    return sum(layer in dense or (layer + 1) % step != 0 for layer in range(layers))


def _local_layers(config: _Config) -> dict[str, int]:
    """Fields of sliding-window attention."""
    window = config.whole("sliding_window", default=0, least=0)
    layers, kinds = config.whole("num_hidden_layers"), config.items("layer_types")
    for kind in kinds if not config.family.latent else ():
        if kind not in ("full_attention", "sliding_attention"):
            raise ConfigError(
                f"{config.where}: layer_types: {shown(kind)} is not full_attention or sliding_attention"
            )
    rule = config.family.local
    if not window or (rule == "late" and not config.flag("use_sliding_window", False)):
        return {}
    if kinds:
        local = kinds.count("sliding_attention")
    elif rule == "sixth":
        local = layers - layers // config.whole(
            "sliding_window_pattern", "_sliding_window_pattern", default=6
        )
    elif rule == "late":
        local = layers - min(layers, config.whole("max_window_layers", default=layers, least=0))
    else:
        local = {"none": 0, "all": layers, "alternate": (layers + 1) // 2}[rule]
    return {"sliding_window": window, "local_layers": local}


def _latent(config: _Config) -> dict[str, int]:
    """Fields of multi-head latent attention."""
    nope, rope = config.whole("qk_nope_head_dim"), config.whole("qk_rope_head_dim")
    return {
        "kv_lora_rank": config.whole("kv_lora_rank"),
        "q_lora_rank": config.whole("q_lora_rank", default=0, least=0),
        "qk_nope_dim": nope,
        "qk_rope_dim": rope,
        "head_dim": nope + rope,
        "v_head_dim": config.whole("v_head_dim"),
        "sparse_top_k": config.whole("index_topk", default=0, least=0),
    }
