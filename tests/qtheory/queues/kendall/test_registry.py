"""Every model of the registry is reached by its name and is what its class gives."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError
from qtheory.queues import batch, multi, network, priority, queue, single
from qtheory.queues.kendall import (
    PARAMETERS,
    KendallModel,
    NamedQueue,
    answer,
    find_model,
    kendall_models,
    register,
    unregister,
)
from qtheory.queues.kendall._convert import law_of
from qtheory.queues.single import MM1
from tests.qtheory.queues.kendall.direct import DIRECT

MODELS = kendall_models()
NO_QUEUE = {
    "AffineService", "LongestMemberService", "DelayStation", "RateStation", "ServerStation", "StepStation",
    "BorelTime", "DeterministicWait", "LawTime", "Excess", "Workload",
}  # fmt: skip
"""Parts of models."""
SLOW = {"M/G/1-SRPT", "M/G/1-PSJF", "M/G/1-SJF", "M/G/1-LAS"}
"""Models whose percentiles take longer than a test should."""
NOT_HERE = {"ClassNetwork"}
"""Models without a natural name here."""


def plain(result: Any) -> dict[str, Any]:
    values = {item.name: getattr(result, item.name) for item in fields(result)}
    return {name: value for name, value in values.items() if isinstance(value, int | float | str | None)}


def test_every_model_has_a_counterpart_built_by_hand() -> None:
    assert {model.name for model in MODELS} == set(DIRECT)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_model_of_a_name_is_that_of_its_class(model: KendallModel) -> None:
    ours, theirs = queue(model.name, **model.example), DIRECT[model.name]()
    assert type(ours) is type(theirs)
    assert ours == theirs
    assert plain(ours.solve()) == plain(theirs.solve())  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_text_stands_for_values(model: KendallModel) -> None:
    as_text = {name: str(value).replace("'", "") for name, value in model.example.items()}
    assert queue(model.name, **as_text) == DIRECT[model.name]()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_each_needed_parameter_is_asked_for_and_a_foreign_one_refused(model: KendallModel) -> None:
    for name in model.example:
        if name in model.may or model.by_moments:
            continue
        less = {key: value for key, value in model.example.items() if key != name}
        with pytest.raises(ConfigError, match=rf"{name}\b.*"):
            queue(model.name, **less)
    with pytest.raises(ConfigError, match=r"^colour: .* takes none; it takes "):
        queue(model.name, **model.example, colour=3)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_other_names_mean_the_same(model: KendallModel) -> None:
    for name in (*model.also, model.name.lower(), model.name.replace("-", " ")):
        assert find_model(name)[0] is model, name


def test_every_model_of_the_library_has_a_name() -> None:
    named = {model.kind.__name__ for model in MODELS}
    for package in (single, multi, batch, priority, network):
        kinds = (getattr(package, name) for name in package.__all__)
        queues = {kind.__name__ for kind in kinds if isinstance(kind, type) and hasattr(kind, "solve")}
        assert queues - named - NO_QUEUE - NOT_HERE == set()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_answer_says_how_good_it_is_and_why_something_is_not_there(model: KendallModel) -> None:
    row = answer(NamedQueue(name=model.name, given=model.example)).row(())
    assert row["exactness"] in ("exact", "numerical", "bound", "approximation")
    assert len(row["route"]) > 3
    assert all(math.isfinite(value) for value in row.values() if isinstance(value, float))
    for name in ("mean_wait_s", "mean_response_s", "mean_number", "var_wait_s2", "prob_wait"):
        assert (name in row) != (name in row["not_given"]), name
    assert all(len(reason) > 10 and "nan" not in reason for reason in row["not_given"].values())


def test_every_parameter_is_used_and_says_what_it_is() -> None:
    used = {name for model in MODELS for name in NamedQueue(name=model.name).open_names()}
    assert set(PARAMETERS) - used == set()
    assert all(parameter.meaning for parameter in PARAMETERS.values())


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ConfigError, match="'m/m/1' is taken"):
        register(KendallModel(name="m/m/1", model=MM1, takes=("rate_rps", "service_rate_rps")))
    with pytest.raises(ConfigError, match="'Q/Q/1' was never registered"):
        unregister("Q/Q/1")
    with pytest.raises(ConfigError, match="parameter: unknown 'gain'"):
        KendallModel(name="M/M/1-mine", model=MM1, takes=("gain",))


def in_units_of(model: KendallModel, per: float) -> dict[str, Any]:
    """The example with all times multiplied."""

    def scaled(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [scaled(name, item) for item in value]
        parameter = model.parameter(name)
        if parameter.unit == "s" and parameter.kind == "law":
            return law_of(name, value).scaled(per)
        factor = {"s": per, "req/s": 1 / per, "1/s": 1 / per}.get(parameter.unit)
        return value if factor is None else value * factor

    return {name: scaled(name, value) for name, value in model.example.items()}


@pytest.mark.parametrize("per", [1e-9, 1e9])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_rates_of_any_size_give_the_same_physics(model: KendallModel, per: float) -> None:
    levels = () if model.name in SLOW else (90,)
    usual = answer(NamedQueue(name=model.name, given=model.example)).row(levels)
    far = answer(NamedQueue(name=model.name, given=in_units_of(model, per))).row(levels)
    assert far["not_given"].keys() == usual["not_given"].keys()
    for name, value in usual.items():
        if isinstance(value, float) and name not in model.example:
            bare = re.sub(r"_(class|station)\d+$", "", name)
            power = {"_s2": 2, "rps": -1}.get(bare[-3:], int(bare.endswith("_s")))
            assert far[name] == pytest.approx(value * per**power, rel=1e-6, abs=1e-12 * per**power), name
