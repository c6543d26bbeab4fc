"""The journal: every response on disk before it counts, written by one thread so that nobody waits for the disk.

The journal is the truth; the lake's response tables are made from it, segment by segment.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from rescue_pipeline.errors import RescueError
from rescue_pipeline.lake import Lake
from rescue_pipeline.llm.segments import Segment, Stream, repair, seal, unsealed

log = logging.getLogger(__name__)
GATHER_SECONDS = 0.02
"""How long records are gathered to be written together: waking this thread for each would cost more than writing."""

Committed = Callable[[RescueError | None], None]
"""Called in the journal's thread, exactly once per record: when it is on the disk, or with why it never will be."""
Record = dict[str, Any]


_Item = tuple[Stream, Record, Committed]


class _Flush(threading.Event):
    """Passed through the queue: set once everything before it is on the disk."""


class Journal:
    """Group commit: records that arrive while the disk is busy are written together.

    A segment is sealed into the lake after `segment_rows` records or `segment_seconds`, and at the end.
    """

    def __init__(self, root: Path, lake: Lake, *, segment_rows: int = 2000, segment_seconds: float = 120.0) -> None:
        self.root, self.lake = root, lake
        self.segment_rows, self.segment_seconds = segment_rows, segment_seconds
        self._queue: queue.SimpleQueue[_Item | _Flush | None] = queue.SimpleQueue()
        self._open: dict[Stream, tuple[Segment, float]] = {}
        self._failure: RescueError | None = None
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    def __enter__(self) -> Journal:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.put(None)
        self._thread.join()
        if error is None:
            self.check()

    def append(self, stream: Stream, record: Record, committed: Committed) -> None:
        """Hand over a record; it counts once `committed` has been called with None."""
        self._queue.put((stream, record, committed))

    def flush(self) -> None:
        """Wait until everything handed over is on the disk."""
        done = _Flush()
        self._queue.put(done)
        done.wait()
        self.check()

    def check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        last = False
        while not last:
            batch, last = self._next_batch()
            try:
                if self._failure is None:
                    self._commit([item for item in batch if not isinstance(item, _Flush)])
                    self._report(batch)
                    batch = []
                    self._seal_due(everything=last)
            except OSError as error:
                self._failure = _unwritable(self.root, error)
            except RescueError as error:
                self._failure = error
            except Exception as error:  # whatever it is, asking must stop and nobody may wait for ever
                self._failure = RescueError("the journal failed", where=str(self.root), found=type(error).__name__)
                log.error("the journal failed: %s", type(error).__name__)  # its text may quote a record
            self._report(batch)
        for segment, _ in self._open.values():
            segment.close()

    def _next_batch(self) -> tuple[list[_Item | _Flush], bool]:
        """Everything that waits, and whether it is the end; nothing after a second of quiet, so that age is seen."""
        batch: list[_Item | _Flush] = []
        try:
            item = self._queue.get(timeout=1.0)
            if item is not None and not isinstance(item, _Flush):
                time.sleep(GATHER_SECONDS)
            while item is not None:
                batch.append(item)
                item = self._queue.get_nowait()
        except queue.Empty:
            return batch, False
        return batch, True

    def _report(self, batch: list[_Item | _Flush]) -> None:
        for item in batch:
            if isinstance(item, _Flush):
                item.set()
            else:
                item[2](self._failure)

    def _commit(self, batch: list[_Item]) -> None:
        by_stream: dict[Stream, list[Record]] = defaultdict(list)
        for stream, record, _ in batch:
            by_stream[stream].append(record)
        for stream, records in by_stream.items():
            if stream not in self._open:
                self._open[stream] = (Segment(self.root, stream), time.monotonic())
            self._open[stream][0].append(records)

    def _seal_due(self, *, everything: bool) -> None:
        now = time.monotonic()
        for stream, (segment, opened) in list(self._open.items()):
            if everything or segment.rows >= self.segment_rows or now - opened >= self.segment_seconds:
                del self._open[stream]
                segment.close()
                seal(segment.path, stream, self.lake)


def recover(root: Path, lake: Lake, streams: Iterable[Stream]) -> int:
    """Mend and seal what a killed process left behind; returns the number of segments. The caller holds the lease."""
    count = 0
    for stream in streams:
        for path in unsealed(root, stream, lake):
            repair(path)
            count += seal(path, stream, lake) > 0
    return count


def _unwritable(root: Path, error: OSError) -> RescueError:
    return RescueError(
        "the journal cannot be written; asking was stopped, what was written before is kept",
        where=str(error.filename or root),
        found=error.strerror or type(error).__name__,
        advice="make room or give write permission, then run again: nothing finished is asked twice",
    )
