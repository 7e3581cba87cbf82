"""By what each model of the library is checked: rows of the tables, and tests of a second route."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CHECKS", "OTHERS", "Check"]


@dataclass(frozen=True, slots=True)
class Check:
    """How a model is checked.

    Parameters
    ----------
    second : str
        What else gives its numbers.
    test : str
        The file of its tests below ``tests/qtheory/queues``.
    tables : tuple of str
        Its names in tables of known values.
    """

    second: str
    test: str
    tables: tuple[str, ...] = ()


_LINDLEY = "simulation by Lindley's recursion"
_CLASSES = ("M/M/1 priority {}", "M/G/1 priority {}")


def _classes(kind: str) -> tuple[str, ...]:
    return tuple(name.format(kind) for name in _CLASSES)


CHECKS: dict[str, Check] = {
    "M/M/1": Check("the law of the number summed; M/G/1 by inversion", "single/test_mm1.py", ("M/M/1",)),
    "M/D/1": Check("transform of M/G/1; the series in 60 digits", "single/test_md1.py", ("M/D/1",)),
    "M/E_k/1": Check("poles against transform inversion", "single/test_mek1.py", ("M/E_k/1",)),
    "M/H_k/1": Check("mixture against transform inversion", "single/test_mg1.py", ("M/H2/1",)),
    "M/G/1": Check(f"{_LINDLEY}; closed forms of special services", "single/test_mg1.py", ("M/G/1",)),
    "M/G/1/K": Check(
        "simulation; M/M/1/K; M/G/1 for a large room", "single/test_mg1k.py", ("M/D/1/K", "M/E_k/1/K")
    ),
    "G/M/1": Check(f"{_LINDLEY}; levels of MAP/PH/c", "single/test_gm1_gg1.py"),
    "GI/G/1": Check("exact for Poisson arrivals; bounds that hold", "single/test_gm1_gg1.py"),
    "M^X/G/1": Check(f"{_LINDLEY}; chain of the number", "single/test_batch_arrivals.py", ("M^[X]/M/1",)),
    "M/G/1 multiple vacations": Check(
        "simulation; M/G/1 for short vacations", "single/test_vacations.py", ("M/G/1 multiple vacations",)
    ),
    "M/G/1 single vacation": Check(
        "simulation; M/G/1 for short vacations", "single/test_vacations.py", ("M/G/1 single vacation",)
    ),
    "M/G/1 setup": Check("simulation; M/G/1 for short set-ups", "single/test_vacations.py", ("M/G/1 setup",)),
    "M/G/1 N-policy": Check("simulation; M/G/1 for N = 1", "single/test_n_policy.py", ("M/M/1 N-policy",)),
    "M/G/1 bounded workload": Check(
        "simulation; Erlang's formula; M/G/1 for a generous limit; number: a chain over lists of sizes",
        "single/test_bounded_workload.py",
    ),
    "M/G/1 busy period": Check("simulation; Bessel and Borel laws", "single/test_busy_period.py"),
    "M/M/1 transient": Check(
        "matrix exponential; transform of P(empty)", "single/test_mm1_transient.py", ("M/M/1 transient",)
    ),
    "M/M/c": Check("recursion of Erlang's formula; M/M/1", "multi/test_erlang.py", ("M/M/c",)),
    "M/M/c/K": Check("flows; M/M/c for much room", "multi/test_erlang.py", ("M/M/c/K",)),
    "M/G/c/c": Check("simulation; M/M/c/c", "multi/test_numbers.py"),
    "M/M/c/c": Check("recursion of Erlang's formula", "multi/test_erlang.py", ("M/M/c/K",)),
    "M/G/inf": Check("Poisson law of the number", "multi/test_erlang.py", ("M/M/inf",)),
    "M/D/c": Check("Spitzer's series; Fourier factors; simulation", "multi/test_mdc.py", ("M/D/c",)),
    "E_k/D/c": Check("M/D/kc; simulation", "multi/test_mdc.py", ("E_k/D/1",)),
    "G/M/c": Check(
        "chain of the number found; levels; simulation", "multi/test_gmc.py", ("D/M/c", "E_k/M/c")
    ),
    "MAP/PH/c": Check("simulation; M/G/1; M/M/c", "multi/test_map_ph_c.py", ("MAP/M/1",)),
    "MMPP/PH/c": Check("simulation", "multi/test_map_ph_c.py", ("MMPP/M/1",)),
    "PH/PH/c": Check("M/G/1; M/M/c", "multi/test_map_ph_c.py", ("M/PH/c", "PH/PH/1", "PH/PH/c")),
    "GI/G/c": Check("exact for exponentials; close to exact queues", "multi/test_staffing.py"),
    "M/M/c+M": Check("density of the offered wait", "multi/test_abandonment.py", ("M/M/c+M",)),
    "M/M/c+D": Check("closed form, in overload too", "multi/test_abandonment.py", ("M/M/c+D",)),
    "M/M/c+G": Check("states of the chain for M/M/c+M; flows", "multi/test_abandonment.py"),
    "M/M/c priority nonpreemptive": Check(
        "sum over the classes; one server by inversion",
        "multi/test_mmc_priority.py",
        ("M/M/c priority nonpreemptive",),
    ),
    "M/M(n)/1": Check(
        "absorbing chain; negative binomial", "multi/test_step_server.py", ("M/M(n)/1 token-step",)
    ),
    "M/M(n)/1/K": Check("absorbing chain; M/M/c/K", "multi/test_step_server.py", ("M/M(n)/1 token-step/K",)),
    "closed M(n)/1": Check(
        "closed network; simulation", "multi/test_numbers.py", ("closed M(n)/1 token-step",)
    ),
    "M/M[1,b]/1": Check("M/G[1,b]/1; M/M/1", "batch/test_mmb1.py", ("M/M^{[1,b]}/1",)),
    "M/D[1,inf]/1": Check(
        "published means; simulation; the chain for the means",
        "batch/test_unlimited.py",
        ("M/D^{[1,inf]}/1",),
    ),
    "M/D[1,b]/1": Check("simulation; transforms; M/D/1", "batch/test_batch_queue.py", ("M/D^{[1,b]}/1",)),
    "M/D[a,b]/1": Check("simulation; the greedy rule in the limit", "batch/test_batch_queue.py"),
    "M/G[1,b]/1": Check("simulation; roots; M/M[1,b]/1", "batch/test_batch_queue.py", ("M/G^{[1,b]}/1",)),
    "M/G[a,b]/1": Check("simulation; roots", "batch/test_batch_queue.py"),
    "M/G[1,b]/1 longest member": Check("maxima of draws; harmonic means", "batch/test_service.py"),
    "M/M/1-PS": Check("chain of a tagged customer; simulation", "priority/test_sharing.py", ("M/M/1-PS",)),
    "M/G/1-PS": Check("simulation; inversion; M/M/1-PS", "priority/test_shared_law.py", ("M/G/1-PS",)),
    "M/G/1-LPS": Check("first come first served, and sharing, in the limits", "priority/test_shared_law.py"),
    "M/M/1-DPS": Check("equal weights; sharing; the means of the equations", "priority/test_shared_law.py"),
    "M/G/1-SRPT": Check("simulation; average over quantiles", "priority/test_sizes.py", ("M/G/1-SRPT",)),
    "M/G/1-PSJF": Check("simulation; average over quantiles", "priority/test_sizes.py", ("M/G/1-PSJF",)),
    "M/G/1-SJF": Check("simulation; average over quantiles", "priority/test_sizes.py", ("M/G/1-SJF",)),
    "M/G/1-LAS": Check("simulation; M/M/1", "priority/test_sizes.py", ("M/G/1-LAS",)),
    "M/G/1 predicted SJF": Check("classes of priority; SJF in the limit", "priority/test_class_laws.py"),
    "M/G/1-EDF": Check("first come first served for equal lead times; simulation", "priority/test_edf.py"),
    "M/G/1 priority nonpreemptive": Check(
        "simulation; M/G/1; conservation", "priority/test_classes.py", _classes("nonpreemptive")
    ),
    "M/G/1 priority preemptive-resume": Check(
        "simulation; M/G/1; conservation", "priority/test_classes.py", _classes("preemptive-resume")
    ),
    "M/G/1 priority preemptive-repeat": Check(
        "simulation; preemptive-resume for exponentials", "priority/test_class_laws.py"
    ),
    "open Jackson network": Check("tandem; flows", "network/test_open.py", ("open Jackson network",)),
    "closed network": Check(
        "sum over all states; convolution against mean values",
        "network/test_closed.py",
        ("closed product-form network", "closed network with a token-step station"),
    ),
    "fork-join": Check("simulation; bounds", "network/test_open.py"),
}
"""From the name of a model to how it is checked."""

OTHERS: dict[str, Check] = {
    "network.ClassNetwork": Check(
        "sum over all states", "network/test_closed.py", ("closed two-class product-form network",)
    ),
    "fluid.FluidQueue": Check("reflected walk; long horizons", "fluid/test_fluid.py"),
    "fluid.FiniteHorizon": Check("simulation; the steady state; the fluid", "fluid/test_fluid.py"),
    "fluid.MtGInf": Check("staircase against sine; the mean excess", "fluid/test_fluid.py"),
    "fluid.SineMtGInf": Check("staircase against sine; the mean excess", "fluid/test_fluid.py"),
    "caches.PopularityCache": Check("exact law of few items; simulation", "caches/test_popularity.py"),
    "caches.WorkingSetCache": Check("stack distances of a trace", "caches/test_working_set.py"),
}
"""Models without a name in Kendall's notation, by their place below `qtheory.queues`."""
