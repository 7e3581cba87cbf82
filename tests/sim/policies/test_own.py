"""A person's own policy is loaded, put together and watched over; whatever is wrong is one line."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from qtheory.basics.errors import ConfigError, PlanError
from qtheory.system import own_scheduler
from qtheory.system.scheduler_text import parse_scheduler
from qtheory.system.workload.request import Requests
from sim.policies import Aged, Policy, make_policy, policy_of, watched
from sim.reference import simulate
from sim.replica import Replica
from sim.testing import AffineStep

STEP = AffineStep(base_s=0.3, per_token_s=0.01)
SMALL = Replica(step_time=STEP, n_blocks=14, block_tokens=4)
ASKED = Requests(
    arrival_s=[0.0, 0.0, 0.1, 0.2, 0.3, 0.4],
    prompt_tokens=[16, 16, 8, 9, 4, 5],
    output_tokens=[24, 24, 3, 3, 3, 3],
)
FILE = """
from dataclasses import dataclass

from sim.policies import Chunked, Policy, assemble, Fcfs


@dataclass(frozen=True)
class Mine:
    weight: float = 1.0

    def key(self, job):
        return (self.weight * job.prompt_tokens, job.position)


VALUE = Policy(name="x", max_seqs=3)
NUMBER = 7


def made(max_prompt=1):
    return Policy(name="y", long_prefill_threshold_tokens=max_prompt)


def from_spec(spec):
    return assemble(spec, composition=Chunked(), ordering=Fcfs(), watermark_frac=0.1)


def nothing():
    pass


def broken():
    return 1 / 0
"""


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(FILE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded(text: str, **more: Any) -> Policy:
    return make_policy(parse_scheduler(text, **more))


@pytest.mark.usefixtures("folder")
def test_a_class_a_value_and_a_function_make_policies() -> None:
    assert repr(loaded("mine.py:Mine").ordering) == "Mine(weight=1.0)"
    assert repr(loaded("mine.py:Mine(weight=3)").ordering) == "Mine(weight=3)"
    assert loaded("mine.py:VALUE").max_seqs == 3
    assert loaded("mine.py:made(max_prompt=9)").long_prefill_threshold_tokens == 9
    assert loaded("mine.py:from_spec").watermark_frac == 0.1


@pytest.mark.usefixtures("folder")
def test_options_given_beside_the_name_win() -> None:
    more: dict[str, Any] = {"budget_tokens": 77, "max_seqs": 5, "victim": "fewest_output", "shed": "reject"}
    policy = loaded("mine.py:VALUE", **more, admission="no_evict")
    assert (policy.name, policy.budget_tokens, policy.max_seqs) == ("mine.py:VALUE", 77, 5)
    assert (repr(policy.victim), repr(policy.admission)) == ("FewestOutput()", "NoEvict()")
    assert policy.shed.action == "reject"


def test_a_file_that_changes_is_read_again(folder: Path) -> None:
    assert loaded("mine.py:VALUE").max_seqs == 3
    (folder / "mine.py").write_text(FILE.replace("max_seqs=3", "max_seqs=30"), encoding="utf-8")
    assert loaded("mine.py:VALUE").max_seqs == 30
    assert sorted(path.name for path in folder.iterdir()) == ["mine.py"]


def test_an_installed_package_may_offer_schedulers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "offers.py").write_text(FILE, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    point = EntryPoint("house-rule", "offers:Mine", own_scheduler.ENTRY_POINTS)
    monkeypatch.setattr(own_scheduler, "entry_point", lambda name: point if name == "house-rule" else None)
    monkeypatch.setattr("sim.policies.own.entry_point", own_scheduler.entry_point)
    assert repr(loaded("house-rule(weight=2)").ordering) == "Mine(weight=2)"
    with pytest.raises(ConfigError, match="unknown 'hose-rule'"):
        parse_scheduler("hose-rule")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lost.py:Mine", "scheduler: lost.py: cannot be read: no such file"),
        ("mine.py:Mien", "mine.py: has no 'Mien' (did you mean 'Mine'?)"),
        ("mine.py:NUMBER", "mine.py:NUMBER: is 7; it must be a Policy, or something with key"),
        ("mine.py:nothing", "mine.py:nothing: returns nothing; it must return a Policy"),
        ("mine.py:broken", "mine.py:broken: broken raised ZeroDivisionError: division by zero (line 32)"),
        ("mine.py:Mine(wieght=2)", "mine.py:Mine: Mine raised TypeError: "),
        ("mine.py:Mine(3)", "mine.py:Mine: '3' is not option=value, ..."),
        ("mine.py:VALUE(a=3)", "mine.py:VALUE: takes no options, as it is neither class nor function"),
        ("cut.py:Mine", "scheduler: cut.py: line 2: SyntaxError: "),
        ("raises.py:Mine", "scheduler: raises.py: line 3: NameError: name 'undefined' is not defined"),
        ("exits.py:Mine", "scheduler: exits.py: line 1: SystemExit: 0"),
        ("folder.py:Mine", "folder.py: is a folder; give a Python file"),
    ],
)
def test_what_cannot_be_loaded_is_said_in_one_line(text: str, said: str, folder: Path) -> None:
    (folder / "cut.py").write_text("a = 1\nclass Mine(\n", encoding="utf-8")
    (folder / "raises.py").write_text("a = 1\n\nb = undefined\n", encoding="utf-8")
    (folder / "exits.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    (folder / "folder.py").mkdir()
    with pytest.raises(ConfigError) as caught:
        loaded(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


class Fill:
    """A composition as most are."""

    def fill(self, view, plan):
        plan.continue_running()
        for job in view.waiting:
            if not plan.admit(job):
                break


class Key:
    def __init__(self, key):
        self.key = key


class Arrange:
    def __init__(self, arrange):
        self._how = arrange

    def arrange(self, waiting, view, ledger):
        return self._how(waiting)


class Does(Fill):
    def __init__(self, what):
        self._what = what

    def fill(self, view, plan):
        self._what(view, plan)
        super().fill(view, plan)


class Choose:
    def __init__(self, choose):
        self.choose = choose


class Tokens:
    def __init__(self, tokens):
        self.tokens = tokens


def setting(name, value):
    return Does(lambda view, plan: setattr(plan, name, value))


def set_job(job):
    job.priority = -1
    return (0,)


def endless(view, plan):
    while True:
        try:
            plan.admit(None)
        except Exception:  # as careless loops have it
            continue


def twice(view, plan):
    for job in view.waiting:
        if plan.admit(job):
            plan.admit(job)


WRONG = [
    (Key(lambda job: None), "key of request 0 is None; it must be a tuple of numbers"),
    (Key(lambda job: (float("nan"),)), "key of request 0 is (nan,)"),
    (
        Key(lambda job: (1 / (job.position - 3),)),
        "key at request 3 raised ZeroDivisionError: division by zero",
    ),
    (Key(lambda job: (job.output_tokens,)), "key at request 0 raised AttributeError"),
    (Key(set_job), "sets 'priority' of request 0 to -1: a job may only be read"),
    (Arrange(lambda waiting: None), "arrange returns None; it must give the waiting jobs in order"),
    (Arrange(lambda waiting: [7]), "the engine is given 7, which is no job of this replica"),
    (
        Arrange(lambda waiting: [waiting[0]] * 2),
        "arrange doubles request 0; it must give each waiting job once",
    ),
    (Arrange(lambda waiting: waiting[1:]), "arrange left out request 0; it must give each waiting job once"),
    (Arrange(lambda waiting: (1 / 0 for _ in waiting)), "arrange raised ZeroDivisionError"),
    (setting("budget_left_tokens", 9000), "sets 'budget_left_tokens' of the plan to 9000: over budget"),
    (setting("is_empty", True), "sets 'is_empty' of the plan to True: it may only be read"),
    (Does(lambda view, plan: view.running.clear()), "fill raised AttributeError"),
    (Does(lambda view, plan: plan.admit(3)), "admit is given 3, which is no job of this replica"),
    (Does(twice), "admits request 0, which does not wait"),
    (
        Does(lambda view, plan: [plan.run(job) for job in view.waiting]),
        "request 0 is to run, but is not running",
    ),
    (
        Does(lambda view, plan: [plan.run(j) for j in [*view.running] * 2]),
        "request 0 is to run twice in one step",
    ),
    (Does(lambda view, plan: exit(0)), "fill raised SystemExit: 0"),
    (Choose(lambda running: None), "choose returns None; it must be one of the running jobs"),
    (Choose(lambda running: 1 / 0), "choose raised ZeroDivisionError"),
    (Tokens(lambda job, end: None), "tokens of request 0 is None; it must be a whole number >= 0"),
    (Tokens(lambda job, end: -1), "tokens of request 0 is -1"),
    (Does(endless), "fill takes longer than 0.2 s of CPU time; does it loop?"),
]


@pytest.mark.parametrize(("own", "said"), WRONG, ids=[said[:50] for _, said in WRONG])
def test_what_it_does_wrong_ends_the_run_with_policy_job_and_limit(own: object, said: str) -> None:
    policy = watched(policy_of(own, name="mine"), most_cpu_s=0.2)
    with pytest.raises(PlanError) as caught:
        simulate(ASKED, policy, SMALL)
    assert str(caught.value).startswith("policy 'mine': ")
    assert said in str(caught.value)


def test_one_that_does_nothing_is_told_who_waits() -> None:
    class Idle:
        def fill(self, view, plan):
            pass

    with pytest.raises(PlanError, match="policy 'idle': nothing runs and request 0 waits for ever"):
        simulate(ASKED, policy_of(Idle(), name="idle"), SMALL)


def test_an_own_order_inside_one_of_ours_is_watched_over_too() -> None:
    policy = watched(Policy(name="mine", ordering=Aged(inner=Key(lambda job: None), limit_s=3.0)))
    with pytest.raises(PlanError, match="key of request 0 is None"):
        simulate(ASKED, policy, SMALL)
