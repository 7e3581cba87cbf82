"""The check of policies finds what is wrong, and nothing new in those of this package."""

from __future__ import annotations

import pytest

from qtheory.system.scheduler import SCHEDULERS
from sim.policies import Aged, Policy, ShortestOutput
from sim.testing import check_policy

KNOWN = {
    "sjf": ["starvation"],  # without a limit to waiting
    "lifo": ["starvation"],
    "sglang": ["walks over decodes"],  # to find the one prompt that is not complete
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_the_schedulers_of_this_package_pass(name: str) -> None:
    assert [line.partition(":")[0] for line in check_policy(name)] == KNOWN.get(name, [])


def test_a_limit_to_waiting_mends_starvation() -> None:
    assert check_policy(Policy(name="aged", ordering=Aged(inner=ShortestOutput(), limit_s=10.0))) == []


class Fill:
    def fill(self, view, plan):
        plan.continue_running()
        for job in view.waiting:
            if not plan.admit(job):
                break


class Walks(Fill):
    def fill(self, view, plan):
        if len([job for job in view.running if job.is_prefilling]) > 100:
            return
        super().fill(view, plan)


class Starves:
    def key(self, job):
        return (job.prompt_tokens,)


class Cheats(Fill):
    def fill(self, view, plan):
        plan.budget_left_tokens = 10**6


class Strangers(Fill):
    def fill(self, view, plan):
        plan.admit("request 3")


class Idles:
    def fill(self, view, plan):
        plan.continue_running()


class Raises:
    def key(self, job):
        raise ValueError("not today")


class Loops:
    def key(self, job):
        while True:
            pass


class Mutates:
    def choose(self, running):
        running[0].priority = 3
        return running[0]


class ReturnsNothing:
    def key(self, job):
        pass


class Forgets:
    """Its last ones are not wanted before those in front of them are in."""

    def arrange(self, waiting, view, ledger):
        return waiting[:17]


class Doubles:
    def arrange(self, waiting, view, ledger):
        return [*waiting, *waiting[9:]]


CASES = [
    (Forgets(), "leaves out"),
    (Doubles(), "doubles"),
    (Cheats(), "over budget"),
    (Strangers(), "unknown job"),
    (Starves(), "starvation"),
    (Idles(), "no progress"),
    (Walks(), "walks over decodes"),
    (Raises(), "raises"),
    (Loops(), "loops"),
    (Mutates(), "changes what it sees"),
    (ReturnsNothing(), "returns nothing"),
    (7, "not a policy"),
]


@pytest.mark.parametrize(("own", "fault"), CASES, ids=[fault for _, fault in CASES])
def test_what_is_wrong_is_named_in_one_line(own: object, fault: str) -> None:
    lines = check_policy(own)
    assert [line.partition(":")[0] for line in lines] == [fault]
    assert type(own).__name__ in lines[0]
    assert "\n" not in lines[0]


def test_what_an_order_does_to_a_request_names_it() -> None:
    [line] = check_policy(Forgets())
    assert line.startswith("leaves out: policy 'Forgets': arrange left out request ")
    [line] = check_policy(Doubles())
    assert line.startswith("doubles: policy 'Doubles': arrange doubles request ")


def test_a_policy_that_remembers_its_last_run_is_not_repeatable(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "seen = []\n\n\nclass Mine:\n    def key(self, job):\n        seen.append(job)\n"
        "        return (-job.position if len(seen) < 100 else job.position,)\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    [line] = [line for line in check_policy("mine.py:Mine") if line.startswith("not repeatable")]
    assert "policy 'mine.py:Mine': request " in line
