"""The workload that a scenario describes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from qtheory.basics import checks
from qtheory.basics.errors import ConfigError
from qtheory.laws import Law, parse_law
from qtheory.system.slo import Slo

from ._text import begins_with, split_call
from .arrivals import Arrivals, OpenArrivals
from .lengths import LawLengths, Lengths, PairLengths
from .loops import ClosedLoop, Replay
from .parse import parse_arrivals
from .prefixes import SharedPrefix
from .profiles import Profile, find_profile
from .readers import TICKS, read_length_laws, read_lengths, read_requests
from .structure import Structure
from .structure_parse import parse_conversations, parse_prefixes, parse_tenants
from .workload import Workload

if TYPE_CHECKING:
    from qtheory.system.scenario import Scenario

__all__ = ["workload_of"]

_DURATION_S = 60.0
_CHOICE = ("workload", "client", "window_start_s")
_QUANTILES = f"quantiles(FILE, {', '.join(f'[{key}]' for key in _CHOICE)})"


def workload_of(scenario: Scenario) -> Workload:
    """Arrivals, lengths and limits of a scenario, what it leaves open taken from its profile.

    A length law given alone goes with the profile's law of the other length, independent unless
    ``correlation`` says otherwise. Without ``duration_s`` and ``requests`` the load lasts 60 s; a trace is
    replayed whole, and at ``rate_rps`` if that is given. A profile of rates comes with its mean rate;
    ``rate_rps`` scales it.

    Parameters
    ----------
    scenario : Scenario
        Its fields on the load and the limits are used.

    Raises
    ------
    ConfigError
        If a name or a number is not allowed or two fields contradict each other.

    Examples
    --------
    >>> from qtheory.system.scenario import Scenario
    >>> workload = workload_of(Scenario(workload="rag", arrivals="gamma(cv=2)", rate_rps=3.0))
    >>> workload.name, workload.offered_rps, workload.duration_s, str(workload.arrivals)
    ('rag', 3.0, 60.0, 'gamma(cv=2)')
    """
    profile = find_profile(scenario.workload)
    if scenario.trace is not None:
        return _replay(scenario, _slo(scenario, profile))
    if scenario.speed != 1:
        raise ConfigError(f"speed: {scenario.speed:g} given without a trace; a trace is what it makes faster")
    checks.one_of("ticks", scenario.ticks, TICKS)
    if scenario.ticks != "recorded":
        raise ConfigError(f"ticks: {scenario.ticks!r} given without a trace; its times are what it spreads")
    arrivals = _capped(parse_arrivals(scenario.arrivals), scenario.client_cap)
    if isinstance(arrivals, Replay):
        raise ConfigError(
            f"arrivals: {checks.shown(scenario.arrivals)} needs a trace; give trace and speed instead"
        )
    duration_s = scenario.duration_s
    if isinstance(arrivals, ClosedLoop):
        if scenario.requests is None:
            raise ConfigError(
                f"requests: needed with {arrivals} arrivals, which have no rate and no duration"
            )
        if scenario.rate_rps is not None:
            raise ConfigError(f"rate_rps: {scenario.rate_rps:g} given, but {arrivals} arrivals have no rate")
    elif duration_s is None and scenario.requests is None:
        duration_s = _DURATION_S
    own = arrivals.own_rate_rps if isinstance(arrivals, OpenArrivals) else None
    usual = profile.rate_rps if own is None else own
    return Workload(
        name=profile.name,
        lengths=_lengths(scenario, profile),
        arrivals=arrivals,
        rate_rps=usual if scenario.rate_rps is None else scenario.rate_rps,
        slo=_slo(scenario, profile),
        duration_s=duration_s,
        n_requests=scenario.requests,
        structure=_structure(scenario, profile),
    )


def _structure(scenario: Scenario, profile: Profile | None) -> Structure:
    """What is given; prefixes of a profile go with its prompts, so not with lengths of another source."""
    talks, tenants = scenario.conversations, scenario.tenants
    own_prompts = scenario.prompt is not None or scenario.lengths is not None
    usual = () if profile is None or own_prompts else profile.prefixes
    prefixes = usual if scenario.prefix is None else _prefixes(scenario.prefix)
    return Structure(
        prefixes=prefixes,
        conversations=None if talks is None else parse_conversations(talks),
        tenants=() if tenants is None else parse_tenants(tenants),
    )


def _prefixes(text: str) -> tuple[SharedPrefix, ...]:
    return () if text == "none" else parse_prefixes(text)


def _replay(scenario: Scenario, slo: Slo) -> Workload:
    ours = {
        "lengths": scenario.lengths,
        "prompt": scenario.prompt,
        "output": scenario.output,
        "correlation": scenario.correlation,
        "conversations": scenario.conversations,
        "arrivals": None if scenario.arrivals == "poisson" else scenario.arrivals,
    }
    for name, value in ours.items():
        if value is not None:
            raise ConfigError(f"{name}: {checks.shown(value)} given together with a trace, which has its own")
    if scenario.rate_rps is not None and scenario.speed != 1:
        raise ConfigError(f"rate_rps={scenario.rate_rps:g}, speed={scenario.speed:g}: give one of the two")
    requests = read_requests(scenario.trace or "", ticks=scenario.ticks, seed=scenario.seed)
    workload = Workload(
        name=scenario.trace or "",
        lengths=PairLengths(prompt_tokens=requests.prompt_tokens, output_tokens=requests.output_tokens),
        arrivals=_capped(Replay(speed=scenario.speed), scenario.client_cap),
        slo=slo,
        duration_s=scenario.duration_s,
        n_requests=scenario.requests,
        trace=requests,
        structure=_structure(scenario, None),
    )
    return workload if scenario.rate_rps is None else workload.at_rate(scenario.rate_rps)


def _capped(arrivals: Arrivals, client_cap: int) -> Arrivals:
    if client_cap == 0 or arrivals.in_flight_cap == client_cap:
        return arrivals
    if arrivals.in_flight_cap:
        raise ConfigError(
            f"client_cap: {client_cap} given, but {arrivals} arrivals have {arrivals.in_flight_cap}"
        )
    if isinstance(arrivals, OpenArrivals | Replay):
        return replace(arrivals, client_cap=client_cap)  # type: ignore[type-var]
    raise ConfigError(f"client_cap: {client_cap} given, but {arrivals} arrivals take none")


def _slo(scenario: Scenario, profile: Profile) -> Slo:
    def limit(given: float | None, usual: float | None) -> float | None:
        wanted = usual if given is None else given
        return None if wanted is None or math.isinf(wanted) else wanted

    return Slo(
        ttft_s=limit(scenario.ttft_slo_s, profile.slo.ttft_s),
        tpot_s=limit(scenario.tpot_slo_s, profile.slo.tpot_s),
        e2e_s=limit(scenario.e2e_slo_s, profile.slo.e2e_s),
    )


def _lengths(scenario: Scenario, profile: Profile) -> Lengths:
    if scenario.lengths is not None:
        for name, text in {"prompt": scenario.prompt, "output": scenario.output}.items():
            if text is not None:
                file = checks.shown(scenario.lengths)
                raise ConfigError(
                    f"{name}: {checks.shown(text)} given together with lengths={file}; give one"
                )
        base = _from_file(scenario.lengths)
    else:
        base = profile.lengths
    if scenario.prompt is None and scenario.output is None and scenario.correlation is None:
        return base
    usual = _laws(base)
    prompt = usual[0] if scenario.prompt is None else parse_law(scenario.prompt, where="prompt")
    output = usual[1] if scenario.output is None else parse_law(scenario.output, where="output")
    try:
        return LawLengths(prompt=prompt, output=output, rank_correlation=scenario.correlation or 0.0)
    except ConfigError as error:
        raise ConfigError(str(error).replace("rank_correlation", "correlation")) from None


def _from_file(text: str) -> Lengths:
    """Lengths of a file: pairs as they are, or laws of ``quantiles(FILE, workload=...)``."""
    if begins_with(text) != "quantiles" or "(" not in text:
        prompts, outputs = read_lengths(text)
        return PairLengths(prompt_tokens=prompts, output_tokens=outputs)
    parts = split_call(text, where="lengths")
    if parts.first is None:
        raise ConfigError(f"lengths: {checks.shown(text)} names no file; write {_QUANTILES}")
    for key in parts.named:
        if key not in _CHOICE:
            hint = checks.nearest(key, _CHOICE)
            raise ConfigError(f"lengths: unknown parameter {checks.shown(key)}{hint}; write {_QUANTILES}")
    prompt, output = read_length_laws(parts.first, **parts.named)
    return LawLengths(prompt=prompt, output=output)


def _laws(lengths: Lengths) -> tuple[Law, Law]:
    """The two lengths apart, before rounding where there is such a thing."""
    if isinstance(lengths, LawLengths):
        return lengths.prompt, lengths.output
    return lengths.prompt_law, lengths.output_law
