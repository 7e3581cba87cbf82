"""What can be said of a replica between two changes: steps that have ended, and who waits in which order."""

from __future__ import annotations

import math

from .arrival import ArrivalLine, place_of
from .fair_line import FairLine
from .job import FastJob
from .joining_line import JoiningLine
from .line import KeyedLine, Line
from .slack_line import SlackLine

__all__ = ["in_order", "steps_by"]


def steps_by(left_s: float, k: int, first_s: float, slope_s: float) -> int:
    """Of ``k`` steps those that have ended after ``left_s``; step i (0, 1, ...) takes first + i slope."""
    if left_s < first_s:
        return 0
    if slope_s > 0:
        half = first_s - slope_s / 2
        done = int((math.sqrt(half * half + 2 * slope_s * left_s) - half) / slope_s)
    else:
        done = int(left_s / first_s)
    if done > k:
        done = k
    while done * first_s + slope_s * (done * (done - 1) // 2) > left_s:
        done -= 1
    while done < k and (done + 1) * first_s + slope_s * (done * (done + 1) // 2) <= left_s:
        done += 1
    return done


def in_order(line: Line) -> list[FastJob]:
    """The jobs that wait, as they stand, or by arrival if their order is made anew at every pass."""
    jobs = line.jobs()
    if isinstance(line, ArrivalLine | FairLine | JoiningLine | SlackLine):
        return sorted(jobs, key=lambda job: (job.is_demoted, *place_of(job)))
    if isinstance(line, KeyedLine):
        return sorted(jobs, key=line.place)
    return jobs
