"""Sending many questions at once: one event loop for all models and partitions, each model at its own pace.

Used for questions and for judgements alike; what is asked and where it is stored comes with the Assignment.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rescue_pipeline.errors import RescueError
from rescue_pipeline.llm.adapter import close_connections, prepare_litellm
from rescue_pipeline.llm.assignments import Asked, Assignment
from rescue_pipeline.llm.budget import Budget
from rescue_pipeline.llm.client import Client, RetryPolicy
from rescue_pipeline.llm.exchange import Reply
from rescue_pipeline.llm.journal import Journal
from rescue_pipeline.llm.limits import Endpoint, Gate
from rescue_pipeline.llm.registry import ModelEntry

OnProgress = Callable[[str, int, int | None], None]
"""Called with what is being done, how many are done (reused ones too), and of how many."""


def dispatch(
    assignments: Sequence[Assignment[Any]],
    journal: Journal,
    *,
    budget: Budget,
    policy: RetryPolicy | None = None,
    on_progress: OnProgress | None = None,
) -> None:
    """Ask everything. What is received is handed to the journal at once, also when the run is interrupted."""
    open_ones = [assignment for assignment in assignments if assignment.questions]
    if open_ones:
        prepare_litellm()
        _run(_Dispatcher(open_ones, journal, budget, policy or RetryPolicy(), on_progress))


def _run(dispatcher: _Dispatcher) -> None:
    """Run the loop here, or in a thread of its own where this thread already runs one (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(dispatcher.run())
        return
    failures: list[BaseException] = []

    def target() -> None:
        try:
            asyncio.run(dispatcher.run())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=target, name="asking")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


class _Dispatcher:
    def __init__(
        self,
        assignments: Sequence[Assignment[Any]],
        journal: Journal,
        budget: Budget,
        policy: RetryPolicy,
        on_progress: OnProgress | None,
    ) -> None:
        self.assignments, self.journal, self.budget = assignments, journal, budget
        self.policy, self.on_progress = policy, on_progress
        self._endpoints: dict[tuple[str, str | None], Endpoint] = {}
        self._clients: dict[str, Client] = {}

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for assignment in self.assignments:
                    group.create_task(self._partition(assignment))
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        finally:
            await close_connections()

    async def _partition(self, assignment: Assignment[Any]) -> None:
        started, client = time.monotonic(), self._client(assignment.entry)
        questions = iter(assignment.questions)
        workers = min(assignment.entry.limits.concurrency, len(assignment.questions))
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self._worker(assignment, client, questions))
        assignment.stopped, assignment.seconds = client.stopped, time.monotonic() - started

    async def _worker(self, assignment: Assignment[Any], client: Client, questions: Iterator[Any]) -> None:
        for question in questions:
            if client.stopped is not None:
                return
            reply = await client.ask(assignment.request(question))
            if reply.attempts:
                # handed over before anything else is awaited: an interrupt cannot come between
                await self._stored(assignment, question, reply)
                self._count(assignment, question.task, reply)

    def _stored(self, assignment: Assignment[Any], question: Asked, reply: Reply) -> asyncio.Future[None]:
        """Hand a reply to the journal; done once it is on the disk, so that a crash repeats only what was in flight."""
        loop = asyncio.get_running_loop()
        stored: asyncio.Future[None] = loop.create_future()
        record = {"request_id": question.request_id, **assignment.identity(question), **vars(reply)}

        def resolve(failure: RescueError | None) -> None:
            if stored.done():
                return  # the worker was interrupted; the record is safe all the same
            if failure is None:
                stored.set_result(None)
            else:
                stored.set_exception(failure)

        def committed(failure: RescueError | None) -> None:
            with contextlib.suppress(RuntimeError):  # interrupted: the loop is gone
                loop.call_soon_threadsafe(resolve, failure)

        self.journal.append(assignment.stream(question.task), record, committed)
        return stored

    def _count(self, assignment: Assignment[Any], task: str, reply: Reply) -> None:
        assignment.tallies[task].add(reply)
        if self.on_progress is not None:
            self.on_progress(assignment.what, assignment.done(), assignment.planned())

    def _client(self, entry: ModelEntry) -> Client:
        """One client per model, one endpoint per address and key: their limits hold across partitions."""
        if entry.id not in self._clients:
            endpoint = self._endpoints.setdefault((entry.endpoint, entry.api_key_env), Endpoint())
            self._clients[entry.id] = Client(entry, Gate(entry.limits, endpoint), self.policy)
        return self._clients[entry.id]


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
