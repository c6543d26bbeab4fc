"""What a run costs: told before, capped while it runs, on record afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm import Workspace
from rescue_pipeline.llm.answering import parse_partition
from rescue_pipeline.llm.asking import ask_partitions
from rescue_pipeline.llm.budget import Spending
from rescue_pipeline.llm.estimate import Estimate
from rescue_pipeline.llm.estimating import estimate, expected_cost
from rescue_pipeline.llm.forecast import total
from rescue_pipeline.llm.judges import judge_partitions
from rescue_pipeline.llm.permission import budget_for
from rescue_pipeline.llm.spent import spent_in_run
from rescue_pipeline.llm.tokens import count_text, count_tokens
from rescue_pipeline.llm.workspace import Partition
from rescue_pipeline.schemas import JUDGED_TASKS, TASKS, Estimates, Responses
from tests.llm.conftest import QUICK
from tests.llm.server import Received, Said, Script, Server, completion
from tests.llm.world import World, with_models

Serve = Callable[[Script], Server]
PAID = Partition("paid", "dialogue")
PRICE = {"input": 2.0, "output": 8.0}
ANSWERS = {
    "should_speak": {"should_speak": "yes"},
    "relation_top3": {"relation_top3": ["mixed_transition"]},
    "target_top3": {"target_top3": ["Therapist"]},
    "strategy_top3": {"strategy_top3": ["track"]},
    "viewpoints": {"viewpoints": [{"source": "A", "target": "B", "viewpoint": "thinks that nothing helps any more"}]},
    "intensity": {"emotion": "tense and unheard", "intensity": 5},
}
JUDGEMENTS = {
    "pairing": {"reason": "The pair is right, the rest is not.", "pairing": 2, "content": 1, "similarity": 2},
    "similarity": {"reason": "Weakly related to the gold.", "similarity": 2},
}


def answering(request: Received, _number: int) -> Said:
    """An answer to whatever is asked, counted honestly."""
    text = " ".join(message["content"] for message in request.body["messages"])
    known = JUDGEMENTS if request.body["model"] == "judge-model" else ANSWERS
    answer = json.dumps(next(answer for field, answer in known.items() if field in text))
    if people := re.search(r"Participants: (.+)\nSpeaker of the current turn: (.+)", text):
        source, others = people[2], [name for name in people[1].split(", ") if name != people[2]]
        answer = answer.replace('"A"', f'"{source}"').replace('"B"', f'"{others[0]}"')
    return completion(answer, usage=(count_tokens(request.body["messages"]), count_text(answer)))


def world(tmp_path: Path, server: Server, sessions: int = 2, **fields: Any) -> Workspace:
    common = {"api_base": server.url, "price": PRICE}
    models = (
        {"id": "paid", "litellm": "openai/paid-model", "vendor": "one", **common, **fields},
        {"id": "grader", "litellm": "openai/judge-model", "vendor": "other", "judge": True, **common},
    )
    return World(sessions_per_group=sessions).write(tmp_path, with_models(*models))


def spent(workspace: Workspace) -> dict[str, dict[str, float]]:
    """What was really used, by purpose."""
    tables = {"answer": [f"responses_{t}" for t in TASKS], "judge": [f"judge_responses_{t}" for t in JUDGED_TASKS]}
    used = {}
    for purpose, names in tables.items():
        rows = [row for name in names for row in workspace.lake.read(name, Responses).iter_rows(named=True)]
        mine = [row for row in rows if row["model"] in ("paid", "grader")]
        columns = ("prompt_tokens", "completion_tokens", "cost_usd")
        used[purpose] = {name: sum(row[name] for row in mine) for name in columns} | {"requests": len(mine)}
    return used


def told(expected: Estimate, purpose: str) -> dict[str, float]:
    lines = [line for line in expected.lines if line.purpose == purpose and line.model in ("paid", "grader")]
    return {
        "prompt_tokens": sum(line.prompt_tokens for line in lines),
        "completion_tokens": sum(line.completion_tokens for line in lines),
        "cost_usd": total(line.cost_usd for line in lines) or 0.0,
        "requests": sum(line.remaining for line in lines),
    }


def run_all(workspace: Workspace, limit: int | None = None) -> None:
    spending = Spending(budget_usd=100.0)
    ask_partitions(workspace, [PAID], TASKS, limit, spending=spending, policy=QUICK)
    for task in TASKS:
        parse_partition(workspace, PAID, task)
    judge_partitions(workspace, [PAID], TASKS, ["grader"], spending=spending, policy=QUICK)


def test_the_estimate_is_within_15_percent_of_what_is_then_used(tmp_path: Path, serve: Serve) -> None:
    workspace = world(tmp_path, serve(answering), sessions=3)
    unmeasured = estimate(workspace, [PAID], TASKS, judges=["grader"])
    run_all(workspace, limit=6)
    begun = spent(workspace)
    measured = estimate(workspace, [PAID], TASKS, judges=["grader"])
    run_all(workspace)
    used = spent(workspace)
    for purpose in ("answer", "judge"):
        whole, rest = told(unmeasured, purpose), told(measured, purpose)
        assert whole["requests"] == pytest.approx(used[purpose]["requests"], rel=0.15)
        assert whole["prompt_tokens"] == pytest.approx(used[purpose]["prompt_tokens"], rel=0.15)
        for name, value in rest.items():
            assert begun[purpose][name] + value == pytest.approx(used[purpose][name], rel=0.15), (purpose, name)
    assert told(measured, "answer")["cost_usd"] + told(measured, "judge")["cost_usd"] == pytest.approx(
        sum(used[p]["cost_usd"] - begun[p]["cost_usd"] for p in used), rel=0.15
    )


def listing(request: Received, number: int) -> Said:
    """An answer to a list of questions, or to a single one."""
    messages = request.body["messages"]
    ids = re.findall(r"^=== Question (\S+)$", "\n".join(message["content"] for message in messages), re.MULTILINE)
    said = answering(request, number)
    if not ids:
        return said
    one = json.loads(said.body["choices"][0]["message"]["content"])
    answer = json.dumps({"answers": [{"id": key, **one} for key in ids]})
    return completion(answer, usage=(count_tokens(messages), count_text(answer)))


@pytest.mark.parametrize("is_known", [True, False])
def test_lists_are_expected_to_take_what_their_questions_take(tmp_path: Path, serve: Serve, is_known: bool) -> None:
    """Measured of single questions, the length of a list is within 15 %; and so are single questions of lists."""
    workspace = world(tmp_path, serve(listing), sessions=2)
    clean, official = PAID, Partition("paid", "dialogue", "official")
    first, then = (clean, official) if is_known else (official, clean)
    # baselines' replies without tokens are no measure of anything
    ask_partitions(workspace, [Partition("majority", "dialogue")], TASKS)
    spending = Spending(budget_usd=100.0)
    ask_partitions(workspace, [first], TASKS, spending=spending, policy=QUICK)
    before = spent(workspace)["answer"]
    expected = told(estimate(workspace, [then], TASKS), "answer")
    ask_partitions(workspace, [then], TASKS, spending=spending, policy=QUICK)
    used = {name: value - before[name] for name, value in spent(workspace)["answer"].items()}
    assert expected["requests"] == used["requests"]
    assert expected["completion_tokens"] == pytest.approx(used["completion_tokens"], rel=0.15)
    assert expected["cost_usd"] == pytest.approx(used["cost_usd"], rel=0.15)


def test_declared_lengths_grow_with_the_questions_and_baselines_are_no_measure(tmp_path: Path, serve: Serve) -> None:
    workspace = world(tmp_path, serve(answering), sessions=2)
    parts = {name: Partition("paid", "dialogue", name) for name in ("clean", "official")}
    unmeasured = {name: told(estimate(workspace, [part], ["itp"]), "answer") for name, part in parts.items()}
    assert unmeasured["official"]["completion_tokens"] >= unmeasured["clean"]["completion_tokens"] > 0
    assert unmeasured["official"]["requests"] < unmeasured["clean"]["requests"]
    ask_partitions(workspace, [Partition("majority", "dialogue")], ["itp"])
    assert told(estimate(workspace, [parts["clean"]], ["itp"]), "answer") == unmeasured["clean"]


def test_an_estimate_asks_nothing_plans_nothing_and_knows_what_is_done(tmp_path: Path, serve: Serve) -> None:
    server = serve(answering)
    workspace = world(tmp_path, server, sessions=1)
    before = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    expected = estimate(workspace, [PAID, Partition("majority", "dialogue")], TASKS, judges=["grader"])
    assert server.requests == []
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == before
    assert {line.model for line in expected.to_pay} == {"paid", "grader"}
    assert {line.cost_usd for line in expected.lines if line.model == "majority"} == {0.0}
    run_all(workspace)
    again = estimate(workspace, [PAID], TASKS, judges=["grader"])
    assert again.to_pay == []
    assert again.most_usd == 0
    full = {(line.model, line.task): line.full_cost_usd for line in again.lines}
    assert all(cost and cost > 0 for cost in full.values())
    assert all(line.pace.startswith("measured") for line in again.lines)


def test_without_a_budget_nothing_is_asked_and_the_amount_to_type_is_told(tmp_path: Path, serve: Serve) -> None:
    server = serve(answering)
    workspace = world(tmp_path, server, sessions=1)
    with pytest.raises(UsageError, match="cost money") as refused:
        ask_partitions(workspace, [PAID], ["itp"], policy=QUICK)
    expected = estimate(workspace, [PAID], ["itp"])
    assert expected.most_usd is not None
    assert f"--budget {budget_for(expected.most_usd)}" in str(refused.value)
    assert "paid (15 open questions" in str(refused.value)
    assert server.requests == []
    assert workspace.lake.read("estimates", Estimates).is_empty()


def test_the_budget_to_type_is_rounded_up_to_cents() -> None:
    assert [budget_for(usd) for usd in (0.0, 0.001, 0.01, 0.0101, 1.0, 12.345)] == [
        "0.01",
        "0.01",
        "0.01",
        "0.02",
        "1.00",
        "12.35",
    ]


def test_a_model_without_a_price_is_refused_even_under_a_budget(tmp_path: Path, serve: Serve) -> None:
    server = serve(answering)
    workspace = world(tmp_path, server, sessions=1, price=None)
    with pytest.raises(UsageError, match="price of a model is unknown") as refused:
        ask_partitions(workspace, [PAID], ["itp"], spending=Spending(budget_usd=5.0), policy=QUICK)
    assert "entry paid, field price" in str(refused.value)
    assert server.requests == []
    assert estimate(workspace, [PAID], ["itp"]).unpriced == ["paid"]


def test_a_budget_is_passed_by_no_more_than_what_was_in_flight(tmp_path: Path, serve: Serve) -> None:
    """A provider that counts four times as many tokens as we do, and answers beyond the limit."""

    def greedy(request: Received, _number: int) -> Said:
        said = completion('{"should_speak": "yes"}', usage=(4 * count_tokens(request.body["messages"]), 5000))
        return Said(body=said.body, delay=0.02)

    concurrency, budget = 4, 0.25
    workspace = world(tmp_path, serve(greedy), sessions=4, limits={"concurrency": concurrency})
    [summary] = ask_partitions(workspace, [PAID], ["itp"], spending=Spending(budget_usd=budget), policy=QUICK)
    rows = workspace.lake.read("responses_itp", Responses)
    dearest = float(rows["cost_usd"].max() or 0)  # type: ignore[arg-type]
    assert budget * 0.7 < rows["cost_usd"].sum() <= budget + concurrency * dearest
    assert summary.by_status["not_run"] > 0
    assert summary.stopped_reason is not None
    assert "budget" in summary.stopped_reason


def test_an_honest_provider_never_passes_the_budget(tmp_path: Path, serve: Serve) -> None:
    workspace = world(tmp_path, serve(answering), sessions=4, limits={"concurrency": 8})
    ask_partitions(workspace, [PAID], ["itp"], spending=Spending(budget_usd=0.05), policy=QUICK)
    rows = workspace.lake.read("responses_itp", Responses)
    assert 0.02 < rows["cost_usd"].sum() <= 0.05


def test_answers_and_judgements_of_a_run_share_one_budget(tmp_path: Path, serve: Serve) -> None:
    workspace = world(tmp_path, serve(answering), sessions=1)
    run = Spending("one-run", budget_usd=0.03)
    ask_partitions(workspace, [PAID], ["er"], spending=run, policy=QUICK)
    parse_partition(workspace, PAID, "er")
    asked = spent_in_run(workspace, "one-run")
    assert 0.01 < asked < 0.03
    judge_partitions(workspace, [PAID], ["er"], ["grader"], spending=run, policy=QUICK)
    assert asked < spent_in_run(workspace, "one-run") <= 0.03
    assert spent_in_run(workspace, "another-run") == 0
    judged = workspace.lake.read("judge_responses_er", Responses)
    assert 0 < judged.height < workspace.lake.read("responses_er", Responses).height


def test_an_answer_of_unknown_cost_counts_with_the_most_it_can_have_cost(tmp_path: Path, serve: Serve) -> None:
    workspace = world(tmp_path, serve(lambda *_: completion('{"should_speak": "yes"}', usage=None)), sessions=1)
    ask_partitions(workspace, [PAID], ["itp"], 2, spending=Spending("silent", 1.0), policy=QUICK)
    assert workspace.lake.read("responses_itp", Responses)["cost_usd"].to_list() == [None, None]
    assert spent_in_run(workspace, "silent") > 0.01


def test_what_is_expected_is_on_record_before_and_told_with_the_plan(tmp_path: Path, serve: Serve) -> None:
    workspace = world(tmp_path, serve(answering), sessions=1)
    told_with_plan = expected_cost(workspace, PAID, ["itp", "er"], 3)
    ask_partitions(workspace, [PAID], ["itp", "er"], 3, spending=Spending("r", 1.0), policy=QUICK)
    rows = workspace.lake.read("estimates", Estimates)
    assert sorted(rows.select("run_id", "model", "purpose", "task", "requests").rows()) == [
        ("r", "paid", "answer", "er", 3),
        ("r", "paid", "answer", "itp", 3),
    ]
    assert told_with_plan["open_questions"] == 6
    assert told_with_plan["expected_cost_usd"] == pytest.approx(rows["cost_usd"].sum())
    assert expected_cost(workspace, Partition("majority", "dialogue"), ["itp"], 3) == {}


def test_private_sessions_do_not_leave_the_machine_unless_a_consent_is_recorded(tmp_path: Path, serve: Serve) -> None:
    server = serve(answering)
    workspace = world(tmp_path, server, sessions=1)
    spending = Spending(budget_usd=1.0)
    workspace.datadir.record_use("private", None)
    for ask in (
        lambda: ask_partitions(workspace, [PAID], ["itp"], 1, spending=spending, policy=QUICK),
        lambda: judge_partitions(workspace, [Partition("majority", "dialogue")], ["er"], ["grader"], spending=spending),
    ):
        ask_partitions(workspace, [Partition("majority", "dialogue")], ["er"], 1)
        parse_partition(workspace, Partition("majority", "dialogue"), "er")
        with pytest.raises(UsageError, match="private") as refused:
            ask()
        assert "corpus.yaml" in str(refused.value)
        assert "consent" in str(refused.value)
    assert server.requests == []
    workspace.datadir.record_use("private", "ethics board 2026-17")
    ask_partitions(workspace, [PAID], ["itp"], 1, spending=spending, policy=QUICK)
    assert len(server.requests) == 1


def test_a_directory_that_does_not_say_how_it_may_be_used_is_private(tmp_path: Path, serve: Serve) -> None:
    workspace = world(tmp_path, serve(answering), sessions=1)
    workspace.datadir.corpus_file.unlink()
    with pytest.raises(UsageError, match="private"):
        ask_partitions(workspace, [PAID], ["itp"], 1, spending=Spending(budget_usd=1.0), policy=QUICK)


def test_private_sessions_may_go_to_local_models(tmp_path: Path, serve: Serve) -> None:
    server = serve(answering)
    workspace = world(tmp_path, server, sessions=1, local=True, price=None)
    workspace.datadir.record_use("private", None)
    ask_partitions(workspace, [PAID], ["itp"], 1, policy=QUICK)
    assert len(server.requests) == 1


def test_a_local_model_with_a_price_needs_no_budget(tmp_path: Path, serve: Serve) -> None:
    workspace = world(tmp_path, serve(answering), sessions=1, local=True)
    [summary] = ask_partitions(workspace, [PAID], ["itp"], 1, policy=QUICK)
    assert summary.by_status == {"ok": 1}


def test_a_variable_that_would_send_a_key_elsewhere_is_refused(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(answering)
    workspace = world(tmp_path, server, sessions=1, api_base=None)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-1234567890")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    with pytest.raises(UsageError, match="OPENAI_BASE_URL"):
        ask_partitions(workspace, [PAID], ["itp"], 1, spending=Spending(budget_usd=1.0), policy=QUICK)
    assert server.requests == []
