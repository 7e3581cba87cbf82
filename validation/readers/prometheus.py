"""The metrics page of a vLLM server: means since its start, or between two pages in one file."""

from __future__ import annotations

import re

from qtheory.basics.errors import ConfigError

from .content import Content
from .exposition import Histogram, Scrape
from .point import BenchPoint

__all__ = ["NAME", "fits", "points"]

NAME = "vllm metrics page"
_PREFIX = "vllm:"
_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_TTFT, _E2E = "vllm:time_to_first_token_seconds", "vllm:e2e_request_latency_seconds"
_TPOT = "vllm:request_time_per_output_token_seconds"
_ITL = ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds")
_PROMPT, _OUTPUT = "vllm:request_prompt_tokens", "vllm:request_generation_tokens"
_ENDED = "vllm:request_success_total"
_FAILED = ("abort", "error")
_RUNNING = 0.05  # share of requests without an end from which it is worth a word
_WARM = 0.01  # of the prompt tokens
_USUAL = ("python_", "process_", "http_")  # of the server's own interpreter, on every page


def fits(content: Content) -> bool:
    """Text with samples of this server."""
    return content.data is None and re.search(rf"^{_PREFIX}\w+[{{ ]", content.text, re.MULTILINE) is not None


def points(content: Content) -> list[BenchPoint]:
    """The point of one engine. How requests were sent is not in it.

    The histogram that older servers call time per output token has a gap between two tokens an entry: it is
    the inter-token latency. In the one by request, outputs of one token count as 0 and are taken out.
    """
    where = content.name
    page = Scrape.of(content.text, where, prefix=_PREFIX)
    e2e, ttft, output = page.needed(_E2E), page.needed(_TTFT), page.needed(_OUTPUT)
    _refuse_several(page)
    n_failed = sum(page.summed(_ENDED, finished_reason=reason) or 0.0 for reason in _FAILED)
    tpot, told = _tpot(page, ttft, e2e, output)
    itl = next((seen for name in _ITL if (seen := page.histogram(name)) is not None), None)
    return [
        BenchPoint(
            where=where,
            tool=NAME,
            rate_rps=None,
            n_completed=int(e2e.count),
            n_failed=int(n_failed),
            prompt_tokens=page.needed(_PROMPT).mean,
            output_tokens=output.mean,
            ttft_s=_statistics(ttft),
            tpot_s=tpot,
            itl_s=_statistics(itl) if itl is not None else {},
            e2e_s=_statistics(e2e),
            notes=(*told, *_notes(page, ttft, e2e)),
        )
    ]


def _refuse_several(page: Scrape) -> None:
    """One accelerator's worth of requests is wanted, not a sum over engines."""
    for key in ("model_name", "engine"):
        found = page.labels(f"{_E2E}_count", key)
        if len(found) > 1:
            raise ConfigError(
                f"{page.where}: {key}: {', '.join(found)} share the page; keep the lines of one of them"
            )


def _tpot(
    page: Scrape, ttft: Histogram, e2e: Histogram, output: Histogram
) -> tuple[dict[str, float], tuple[str, ...]]:
    by_request = page.histogram(_TPOT)
    n_short = output.below.get(1.0, 0.0)
    if by_request is not None and by_request.count > n_short:
        return {"mean": by_request.total / (by_request.count - n_short)}, ()
    if output.mean <= 1 or e2e.mean <= ttft.mean:
        return {}, ()
    mean_s = (e2e.mean - ttft.mean) / (output.mean - 1)
    return {"mean": mean_s}, (f"TPOT from means of E2E and TTFT ({_TPOT} is not there)",)


def _statistics(seen: Histogram) -> dict[str, float]:
    if not seen.count:
        return {}
    found = {name: seen.quantile(share) for name, share in _SHARES.items()}
    return {"mean": seen.mean} | {name: value for name, value in found.items() if value}


def _notes(page: Scrape, ttft: Histogram, e2e: Histogram) -> tuple[str, ...]:
    notes = ["the page does not say how requests were sent; give --in-flight or --sent-rate"]
    notes.append("percentiles are by straight lines inside buckets")
    others = [name for name in page.others if not name.startswith(_USUAL)]
    if others:
        notes.append(
            f"passed over: {len(others)} names that do not begin with {_PREFIX}, such as {others[0]}"
        )
    if page.n_pages == 1:
        notes.append(
            "all since the server began, warm-up included; two pages in one file give what is between"
        )
    if ttft.count > (1 + _RUNNING) * e2e.count:
        notes.append(f"{ttft.count - e2e.count:.0f} requests had begun and not ended")
    asked = page.summed("vllm:prefix_cache_queries_total") or 0.0
    had = page.summed("vllm:prefix_cache_hits_total") or 0.0
    if asked and had > _WARM * asked:
        notes.append(f"a prefix cache had {had / asked:.0%} of the prompt tokens; give --prompt without them")
    return tuple(notes)
