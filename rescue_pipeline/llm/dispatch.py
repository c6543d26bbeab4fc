"""Sending many questions at once: one event loop for all models and partitions, each model at its own pace.

Used for questions and for judgements alike; what is asked and where it is stored comes with the Assignment.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rescue_pipeline.errors import RescueError
from rescue_pipeline.keys import is_tellable, read_key
from rescue_pipeline.llm.adapter import close_connections, prepare_litellm
from rescue_pipeline.llm.assignments import Asked, Assignment
from rescue_pipeline.llm.budget import Budget
from rescue_pipeline.llm.capabilities import Capabilities
from rescue_pipeline.llm.client import Client, RetryPolicy
from rescue_pipeline.llm.exchange import Reply
from rescue_pipeline.llm.journal import Journal
from rescue_pipeline.llm.limits import Endpoint, Gate
from rescue_pipeline.llm.redaction import without_keys
from rescue_pipeline.llm.registry import ModelEntry
from rescue_pipeline.llm.stopping import GRACE_SECONDS, Interruption

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
        interruption = Interruption()
        with interruption.handled():
            _run(_Dispatcher(open_ones, journal, budget, policy or RetryPolicy(), on_progress, interruption))
            journal.flush()
            interruption.raise_again()


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
        interruption: Interruption,
    ) -> None:
        self.assignments, self.journal, self.budget = assignments, journal, budget
        self.policy, self.on_progress, self.interruption = policy, on_progress, interruption
        self.capabilities = Capabilities(journal.root)
        self._endpoints: dict[tuple[str, str | None], Endpoint] = {}
        self._clients: dict[str, Client] = {}
        self._places: dict[str, asyncio.Semaphore] = {}
        self._committed: deque[tuple[asyncio.Future[None], RescueError | None]] = deque()
        self._told = False

    async def run(self) -> None:
        """Ask everything, or what a signal leaves time for."""
        self.interruption.on_first(self._wind_down)
        self._asking = asyncio.ensure_future(self._ask_all())
        try:
            await self._asking
        except asyncio.CancelledError:
            if self.interruption.signal is None:
                raise
        finally:
            await close_connections()

    async def _ask_all(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for assignment in self.assignments:
                    group.create_task(self._partition(assignment))
        except BaseExceptionGroup as errors:
            raise _first(errors) from None

    def _wind_down(self) -> None:
        """Send no new question; what is in flight is paid for and may come back for a while."""
        for client in self._clients.values():
            client.close()
        longest_call = max((client.entry.limits.call_seconds for client in self._clients.values()), default=0.0)
        asyncio.get_running_loop().call_later(min(GRACE_SECONDS, longest_call), self._asking.cancel)
        if self.on_progress is not None:
            self.on_progress("stopping: waiting for the calls in flight (once more leaves at once)", 0, None)

    async def _partition(self, assignment: Assignment[Any]) -> None:
        started, client = time.monotonic(), self._client(assignment.entry)
        questions = iter(assignment.questions)
        workers = min(assignment.entry.limits.concurrency, len(assignment.questions))
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self._worker(assignment, client, questions))
        assignment.stopped, assignment.seconds = client.stopped, time.monotonic() - started

    async def _worker(self, assignment: Assignment[Any], client: Client, questions: Iterator[Any]) -> None:
        places = self._places[client.entry.id]
        for question in questions:
            # a place is kept until the reply is on the disk: a crash repeats no more questions than there are places
            async with places:
                if client.stopped is not None or client.closing:
                    return
                reply = await client.ask(assignment.request(question))
                if reply.attempts or reply.final:
                    # handed over before anything else is awaited: an interrupt cannot come between
                    await self._stored(assignment, question, reply)
                    self._count(assignment, question, reply)

    def _stored(self, assignment: Assignment[Any], question: Asked, reply: Reply) -> asyncio.Future[None]:
        """Hand a reply to the journal; done once it is on the disk, so that a crash repeats only what was in flight."""
        loop = asyncio.get_running_loop()
        stored: asyncio.Future[None] = loop.create_future()
        # only what came from outside: an identity is made of hashes and names
        answered = without_keys(vars(reply), _key(assignment.entry))
        record = {"request_id": question.request_id, **assignment.identity(question), **answered}

        def committed(failure: RescueError | None) -> None:
            self._committed.append((stored, failure))
            if not self._told:  # many are committed at once: the loop is woken once
                self._told = True
                with contextlib.suppress(RuntimeError):  # interrupted: the loop is gone
                    loop.call_soon_threadsafe(self._resolve)

        self.journal.append(assignment.stream(question.task), record, committed)
        return stored

    def _resolve(self) -> None:
        """Let the workers whose replies are on the disk go on."""
        self._told = False  # before the queue is emptied: what comes from now on is told anew
        while self._committed:
            stored, failure = self._committed.popleft()
            if stored.done():
                continue  # the worker was interrupted; the record is safe all the same
            if failure is None:
                stored.set_result(None)
            else:
                stored.set_exception(failure)

    def _count(self, assignment: Assignment[Any], question: Asked, reply: Reply) -> None:
        assignment.tallies[question.task].add(reply, assignment.size(question))
        if self.on_progress is not None:
            self.on_progress(assignment.what, assignment.done(), assignment.planned())

    def _client(self, entry: ModelEntry) -> Client:
        """One client per model, one endpoint per address and key: their limits hold across partitions."""
        if entry.id not in self._clients:
            endpoint = self._endpoints.setdefault((entry.endpoint, entry.api_key_env), Endpoint())
            gate = Gate(entry.limits, endpoint)
            self._clients[entry.id] = Client(entry, gate, self.policy, self.budget, self.capabilities)
            self._places[entry.id] = asyncio.Semaphore(entry.limits.concurrency)
        return self._clients[entry.id]


def _key(entry: ModelEntry) -> list[str]:
    key = read_key(entry.api_key_env) if entry.api_key_env else None
    return [key] if key and is_tellable(key) else []


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
