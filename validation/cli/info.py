"""`sched-sim info`: presets, what they hold and where it is from, and what follows for a system."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.system.specfile import read_mapping

from .emit import Answer, emit
from .files import spare_inputs
from .options import INFO_OUTPUT, Given, InfoOutput, scenario_flags
from .toml import as_toml
from .values import reader

__all__ = ["info"]

_OF_A_SYSTEM = (
    "hardware",
    "tp",
    "model",
    "weights",
    "kv_dtype",
    "step_time",
    "mfu_frac",
    "mbu_frac",
    "overhead_per_step_s",
    "overhead_per_layer_s",
    "scheduler",
    "budget_tokens",
    "kv_blocks",
    "memory_frac",
    "block_tokens",
)
_INDENT: dict[str, Any] = {"initial_indent": "  ", "subsequent_indent": "  ", "break_on_hyphens": False}
if TYPE_CHECKING:
    SystemFlags = Given
else:
    SystemFlags = scenario_flags(only=_OF_A_SYSTEM)
_NO_FLAGS = SystemFlags()
_NAME = Parameter(
    name="NAME",
    help="preset of any kind: hardware, model, workload or scheduler [list them all]",
    converter=reader("", str),
)


def info(
    name: Annotated[str | None, _NAME] = None,
    /,
    *,
    flags: Annotated[SystemFlags, Parameter(name="*")] = _NO_FLAGS,
    output: InfoOutput = INFO_OUTPUT,
) -> None:
    """Show presets, what they hold and where it is from, and what follows for a system.

    Without a name or flags all presets are listed; with flags such as ``--hardware`` and ``--model`` the
    weights, KV memory and step times of that system are shown. ``--format toml`` writes a hardware or model
    preset as a file that can be changed and given to ``--hardware`` or ``--model``.
    """
    output.check()
    if output.format == "toml":
        spare_inputs(output.targets(), [name or ""])
        emit(_as_file(name, given=flags != _NO_FLAGS), output)
        return
    if name is not None:
        if flags != _NO_FLAGS:
            raise ConfigError(
                f"{name}: a name and flags of a system cannot be combined; use --hardware, --model"
            )
        spare_inputs(output.targets(), [name])
        emit(_preset(name), output)
    elif flags != _NO_FLAGS:
        flags.load_for(output)
        emit(_system(flags), output)
    else:
        emit(_listing(), output)


def _hardware(name: str) -> dict[str, Any]:
    from qtheory.report import facts
    from qtheory.system.hardware import find_hardware

    return facts(find_hardware(name))


def _model(name: str) -> dict[str, Any]:
    from qtheory.report import facts
    from qtheory.system.models import find_model

    model = find_model(name)
    computed = {
        "params": model.params,
        "active_params": model.active_params,
        "weight_bytes": model.weight_bytes(),
        "kv_bytes_per_token": int(model.kv_bytes_per_token()),
    }
    return facts(model) | computed


def _scheduler(name: str) -> dict[str, Any]:
    from qtheory.report import facts
    from qtheory.system.scheduler import budget_rule
    from qtheory.system.scheduler_text import parse_scheduler
    from sim.policies import make_policy, policy_meaning

    from .scheduler_options import scheduler_options

    spec = parse_scheduler(name)
    policy = facts(make_policy(spec))
    rule = {} if spec.budget_tokens else {"budget_rule": budget_rule(spec.name)}
    shown = {key: value for key, value in policy.items() if key != "budget_tokens" or spec.budget_tokens}
    options = ", ".join(scheduler_options(spec.name))
    return {"name": spec.name, "meaning": policy_meaning(spec.name)} | shown | rule | {"options": options}


def _workload(name: str) -> dict[str, Any]:
    from qtheory.report import facts
    from qtheory.system.workload import find_profile

    profile = find_profile(name)
    prefixes = " + ".join(map(str, profile.prefixes)) or "nothing that others begin with"
    return facts(profile) | {"prefixes": prefixes}


_SHOW: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "hardware": _hardware,
    "model": _model,
    "workload": _workload,
    "scheduler": _scheduler,
}


def _names() -> dict[str, list[str]]:
    from qtheory.system.hardware import hardware_names
    from qtheory.system.models import model_names
    from qtheory.system.scheduler import SCHEDULERS
    from qtheory.system.workload import profile_names

    return {
        "hardware": hardware_names(),
        "model": model_names(),
        "workload": profile_names(),
        "scheduler": list(SCHEDULERS),
    }


def _forms() -> dict[str, dict[str, str]]:
    """How arrivals and laws of lengths are written, by kind and name."""
    from qtheory.laws import LAW_FORMS
    from qtheory.system.workload import ARRIVAL_FORMS, STRUCTURE_FORMS

    laws = {name: " or ".join(forms) for name, forms in LAW_FORMS.items()}
    return {"arrivals": dict(ARRIVAL_FORMS), "law": laws} | STRUCTURE_FORMS


def _listing() -> Answer:
    """All presets and forms: a line a kind or form for people and a row each for programs."""
    names, forms = _names(), _forms()
    rows = [{"kind": kind, "name": name} for kind, known in names.items() for name in known]
    rows += [
        {"kind": kind, "name": name, "form": form}
        for kind, known in forms.items()
        for name, form in known.items()
    ]
    blocks = [f"{kind}\n{fill(', '.join(known), width=100, **_INDENT)}" for kind, known in names.items()]
    said = {kind: f"{kind} (--{kind})" for kind in forms} | {"law": "law (--prompt, --output)"}
    blocks += ["\n  ".join([said[kind], *known.values()]) for kind, known in forms.items()]
    text = "\n".join([*blocks, "", "sched-sim info NAME shows one of the presets"])
    return Answer(rows=rows, text=text, provenance=_provenance())


def _provenance(flags: Given | None = None) -> dict[str, Any]:
    """Version, and the scenario that the flags of a system make."""
    from qtheory.system.provenance import Provenance

    scenario = {} if flags is None else flags.load().changed()
    return asdict(Provenance(scenario=scenario))


def _as_file(name: str | None, *, given: bool) -> Answer:
    """A hardware or model preset as the text of a file that describes the same."""
    from qtheory.system.hardware import find_hardware
    from qtheory.system.models import find_model

    if name is None or given:
        raise ConfigError("--format: toml is for one hardware or model preset, as in info h100 --format toml")
    finders: dict[str, Callable[[str], Any]] = {"hardware": find_hardware, "model": find_model}
    kinds = [row["kind"] for row in _preset(name).rows if row["kind"] in finders]
    if not kinds:
        raise ConfigError(f"--format: {name} cannot be written as toml; only hardware and models can")
    text = "\n\n".join(as_toml(finders[kind](name)) for kind in kinds)
    return Answer(rows=[], text=text)


def _preset(name: str) -> Answer:
    """The preset of this name, of whatever kind, or what a file describes."""
    from qtheory.report import pairs

    path = Path(name)
    if path.suffix.lower() in (".toml", ".json") or os.path.isfile(name):  # unlike Path.is_file never raises
        kinds = ["hardware" if "bandwidth_bytes_per_s" in read_mapping(path) else "model"]
    else:
        kinds = list(_SHOW)
    rows = []
    for kind in kinds:
        try:
            rows.append({"kind": kind, **_SHOW[kind](name)})
        except ConfigError:
            if len(kinds) == 1:
                raise
    if not rows:
        known = [preset for names in _names().values() for preset in names]
        raise ConfigError(
            f"{name}: unknown preset{checks.nearest(name, known)}; sched-sim info lists them all"
        )
    return Answer(rows=rows, text="\n\n".join(pairs(row) for row in rows), provenance=_provenance())


def _read_aloud(row: Mapping[str, Any]) -> dict[str, Any]:
    """Seconds as text with a unit, under headings for people."""
    from qtheory.report import human

    headings = {"step_s": "time", "guide_s": "the guide says"}
    return {headings.get(name, name): human(name, value) for name, value in row.items()}


def _system(flags: Given) -> Answer:
    """Weights, KV memory and step times of one accelerator with one model."""
    from qtheory.report import guide_rows, pairs, step_rows, table
    from qtheory.system.replica import replica_of

    scenario = flags.load()
    spec = replica_of(scenario)
    row = {
        "hardware": spec.hardware.name,
        "tp": spec.tp,
        "model": spec.model.name,
        "weights": spec.roofline.weight_format,
        "weight_bytes": spec.model.weight_bytes(spec.roofline.weight_format),
        "kv_dtype": spec.roofline.kv_dtype,
        "kv_bytes_per_token": int(spec.model.kv_bytes_per_token(spec.roofline.kv_dtype)),
        "kv_blocks": spec.n_blocks,
        "block_tokens": spec.block_tokens,
        "max_model_len_tokens": spec.max_model_len_tokens,
        "scheduler": spec.scheduler.name,
        "budget_tokens": spec.budget_tokens,
    }
    steps = step_rows(spec.step_time, budget_tokens=spec.budget_tokens)
    text = [pairs(row), table([_read_aloud(step) for step in steps])]
    more: dict[str, Any] = {"steps": steps}
    if spec.hardware.name == "rtx3050":
        more["guide"] = guide_rows(spec.step_time)
        claims = table([_read_aloud(claim) for claim in more["guide"]])
        text.append(f"Claims of the learning guide for this card (it names no model)\n{claims}")
    return Answer(rows=[row], text="\n\n".join(text), provenance=_provenance(flags), more=more)
