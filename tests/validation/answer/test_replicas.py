"""Several replicas behind a router, as scenarios and commands ask for them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qtheory.basics.errors import ConfigError
from qtheory.system.cluster import ROUTERS
from qtheory.system.scenario import Scenario
from qtheory.system.slo import Slo
from qtheory.system.workload.request import Requests
from sim.cluster import Member, simulate_cluster, summarize_cluster
from sim.policies import Policy
from sim.record import Records
from sim.replica import Replica
from sim.routing import RoundRobin
from sim.summary import summarize
from sim.testing import ConstantStep
from validation import answer
from validation.answer import Study
from validation.answer.serving import cluster_of
from validation.cli.app import main

SMALL = Scenario(hardware="rtx3050", rate_rps=8.0, requests=30, workload="rag")
KEPT = Study(n_replications=2, keep_records=True)


def records_of(scenario: Scenario) -> Records:
    return answer.run(scenario, study=KEPT).records[1]


@pytest.mark.parametrize("router", ROUTERS)
def test_every_router_serves_all_requests_on_all_replicas(router: str) -> None:
    records = records_of(replace(SMALL, replicas=3, router=router))
    assert records.replica is not None
    assert set(records.replica.tolist()) == {0, 1, 2}
    assert not np.isnan(records.finish_s).any()


def test_one_replica_is_as_before() -> None:
    records = records_of(SMALL)
    assert records.replica is None


def test_replicas_take_more_than_one() -> None:
    alone = answer.run(SMALL, study=Study(n_replications=2)).result
    three = answer.run(replace(SMALL, replicas=3), study=Study(n_replications=2)).result
    assert three.mean_ttft_s is not None
    assert alone.mean_ttft_s is not None
    assert three.mean_ttft_s < alone.mean_ttft_s
    assert 0 < three.busy_frac <= 1
    assert 0 < three.peak_kv_frac <= 1
    assert three.kv_blocks == alone.kv_blocks


def test_a_router_that_draws_draws_anew_in_every_replication_and_alike_in_every_run() -> None:
    scenario = replace(SMALL, replicas=3, router="random")
    first, again = (answer.run(scenario, study=KEPT).records for _ in range(2))
    chosen = [one.replica.tolist() for one in (*first, *again) if one.replica is not None]
    assert chosen[:2] == chosen[2:]
    assert chosen[0] != chosen[1]


def test_what_goes_step_by_step_is_said() -> None:
    two = replace(SMALL, replicas=2, requests=4)
    assert answer.run(two).stepwise is None
    assert answer.run(replace(two, router="least_requests", client_cap=2)).stepwise is None
    said = str(answer.run(replace(two, long_prefill_threshold_tokens=64)).stepwise)
    assert "long_prefill_threshold_tokens" in said
    apart = replace(two, scheduler="disaggregated")
    assert answer.run(apart).stepwise is None
    three = replace(apart, replicas=3, decode_replicas=2)
    assert answer.run(three).stepwise is None
    late = replace(three, first_token="decode_recompute")
    assert answer.run(late).stepwise == "prefill and decode apart: first_token=decode_recompute"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"replicas": 0}, "replicas: 0 must be a whole number >= 1"),
        ({"replicas": 20_000}, "replicas: 20000 is too large; at most 10,000"),
        ({"replicas": 2, "router": "robin"}, "router: unknown 'robin' (did you mean 'round_robin'?)"),
        ({"replicas": 2, "router": "exploit_explore(prefill_s_per_token=0)"}, "must be > 0"),
        ({"router": "least_requests"}, "router: least_requests given, but there is one replica"),
        ({"load_delay_s": 1.0}, "load_delay_s: 1.0 given, but there is one replica"),
        ({"replicas": 2, "load_delay_s": -1.0}, "load_delay_s: -1.0 must be >= 0"),
    ],
)
def test_a_cluster_that_cannot_be_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        cluster_of(replace(SMALL, **change))  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize("change", [{}, {"prefix_cache": True}, {"client_cap": 4}, {"stop_s": 3.0}])
def test_numbers_without_records_are_those_with_them(change: dict[str, object]) -> None:
    scenario = replace(SMALL, replicas=3, router="least_tokens", **change)  # type: ignore[arg-type]
    lean = answer.run(scenario, study=Study(n_replications=1, lean=True)).result.row()
    kept = answer.run(scenario, study=Study(n_replications=1)).result.row()
    assert lean.keys() == kept.keys()
    for name, value in kept.items():
        if isinstance(value, float):
            assert lean[name] == pytest.approx(value, rel=1e-3), name
        else:
            assert lean[name] == value, name


def test_records_are_needed_for_pools() -> None:
    with pytest.raises(ConfigError, match="no_records: given, but prefill and decode apart need them"):
        answer.run(replace(SMALL, scheduler="disaggregated"), study=Study(lean=True))


def test_the_command_says_replicas_and_router_and_records_say_which(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "records.csv"
    words = "run --hardware rtx3050 --requests 6 --replications 2 --replicas 2 --router power_of_two"
    assert main([*words.split(), "--load-delay-s", "0.5", "--records-out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "2, all alike, behind router power_of_two, which knows their loads every 500 ms" in shown
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert {row["replica"] for row in rows} == {"0", "1"}


def test_an_answer_for_programs_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    words = "sweep --hardware rtx3050 --requests 4 --replications 2 --schedulers chunked --rates 1,2"
    assert main([*words.split(), "--replicas", "2", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    resolved = found["provenance"]["resolved"]
    assert (resolved["replicas"], resolved["router"]) == (2, "round_robin")


class TestSummary:
    """Two replicas with steps of one second; the second is idle half of the time."""

    one = Member(Policy(name="chunked"), Replica(step_time=ConstantStep(1.0), n_blocks=8))
    asked = Requests(arrival_s=[0.0, 0.0], prompt_tokens=[10, 40], output_tokens=[4, 2])
    about = {"scheduler": "chunked", "rate_rps": 1.0, "budget_tokens": 2048}  # noqa: RUF012

    def test_a_cluster_of_one_has_the_numbers_of_its_replica(self) -> None:
        found = simulate_cluster(self.asked, [self.one], RoundRobin())
        policy = self.one.policy
        cluster = summarize_cluster(found, Slo(ttft_s=1.0), policies=[policy], n_windows=3, **self.about)
        alone = summarize(found.parts[0], Slo(ttft_s=1.0), policy=policy, n_windows=3, **self.about)
        assert cluster.row() == alone.row()
        assert cluster.timeline == alone.timeline

    def test_windows_sum_requests_and_average_shares(self) -> None:
        found = simulate_cluster(self.asked, [self.one, self.one], RoundRobin())
        first, second = summarize_cluster(found, Slo(), n_windows=2, **self.about).timeline
        assert (first["mean_running"], second["mean_running"]) == (2.0, 1.0)
        assert (first["busy_frac"], second["busy_frac"]) == (1.0, 0.5)
        assert first["prefill_tps"] == 25.0

    def test_the_peak_is_that_of_the_fullest_replica(self) -> None:
        found = simulate_cluster(self.asked, [self.one, self.one], RoundRobin())
        assert summarize_cluster(found, Slo(), **self.about).peak_kv_frac == 3 / 8
