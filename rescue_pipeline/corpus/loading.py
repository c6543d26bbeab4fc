"""One load in progress: records, transcripts and companions go into fresh raw tables, rejects are collected."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import duckdb

from rescue_pipeline.corpus import companions
from rescue_pipeline.corpus.annotations import HOPELESS_LINES, RecordText, decode, read_records
from rescue_pipeline.corpus.inventory import Inventory, SourceFile
from rescue_pipeline.corpus.oddities import Oddities
from rescue_pipeline.corpus.raw_tables import TableWriter
from rescue_pipeline.corpus.records import Record, parse_record
from rescue_pipeline.corpus.rejects import InvalidRecord, Reject
from rescue_pipeline.corpus.released import Recognition
from rescue_pipeline.corpus.transcripts import parse_cues, split_speaker
from rescue_pipeline.errors import RescueError

OnProgress = Callable[[str, int, int | None], None]

_PROGRESS_BYTES = 1024 * 1024


class Loading:
    """Must run inside a transaction: it says what is wrong by raising, and then its rows must not stay."""

    def __init__(
        self,
        inventory: Inventory,
        connection: duckdb.DuckDBPyConnection,
        version: str,
        on_progress: OnProgress | None,
    ) -> None:
        self.inventory, self.connection, self.version = inventory, connection, version
        self.encoding = inventory.source.encoding
        self.recognition = Recognition()
        self.names: dict[str, set[str]] = {}
        self.rejects: list[Reject] = []
        self.on_progress = on_progress
        self.bytes_done = self.bytes_told = 0

    def load_records(self) -> None:
        """Fill raw.samples and raw.turns. Raises RescueError when not one record is good."""
        samples, turns = self._writer("samples"), self._writer("turns")
        for file in self.inventory.records:
            n_before, n_rejects = samples.n_rows, len(self.rejects)
            for text in read_records(file):
                self._load_record(file, text, samples, turns)
                if samples.n_rows == n_before and len(self.rejects) - n_rejects >= HOPELESS_LINES:
                    self._reject(file, text.line, InvalidRecord("no record so far; the rest of the file was not read"))
                    break
        samples.flush()
        turns.flush()
        if not samples.n_rows:
            raise self._nothing_good()

    def load_transcripts(self) -> None:
        """Fill raw.transcript_cues; a transcript that cannot be read is a reject."""
        writer = self._writer("transcript_cues")
        seen: set[str] = set()
        for file in self.inventory.transcripts:
            if self.inventory.source.is_purged(str(file.sample_id)):
                continue
            try:
                writer.add(self._cue_rows(file, seen), file.size)
            except InvalidRecord as error:
                error.record = file.sample_id
                self._reject(file, 1, error)
            self._advance(file.size)
        writer.flush()

    def load_companions(self) -> None:
        """Fill raw.labels, raw.session_groups and raw.released_instances."""
        self._write("labels", companions.label_rows())
        groups = companions.session_group_rows(
            self.inventory.groups, self.names, is_released=self.recognition.is_released
        )
        self._write("session_groups", groups)
        for file in self.inventory.instances:
            rows = companions.released_rows(file)
            is_purged = self.inventory.source.is_purged
            self._write("released_instances", (row for row in rows if not is_purged(row["sample_id"])))

    def finish(self, ingest_version: str) -> None:
        """Fill raw.rejects and raw.corpus."""
        self._write("rejects", ({**asdict(reject), "corpus_version": self.version} for reject in self.rejects))
        row = {
            "corpus_version": self.version,
            "is_released": self.recognition.is_released,
            "annotations_sha256": self.inventory.annotations_sha256,
            "ingest_version": ingest_version,
            "companions_sha256": companions.companions_sha256(self.inventory),
            "n_records": len(self.names),
            "n_rejected": len(self.rejects),
            "loaded_at": datetime.now(UTC),
        }
        self._write("corpus", [row])
        if self.on_progress:
            self.on_progress("reading the corpus", self.inventory.n_bytes, self.inventory.n_bytes)

    def _load_record(self, file: SourceFile, text: RecordText, samples: TableWriter, turns: TableWriter) -> None:
        self._advance(len(text.content))
        try:
            record = self._accepted(file, text)
        except InvalidRecord as error:
            self._reject(file, text.line, error)
            return
        if self.inventory.source.is_purged(record.sample_id):
            return
        source = self._source(file, text.line)
        record.sample.update(source, record_sha256=hashlib.sha256(text.content).hexdigest())
        for turn in record.turns:
            turn.update(source)
        self.names[record.sample_id] = record.names
        self.recognition.see(record.sample)
        samples.add([record.sample])
        turns.add(record.turns, len(text.content))

    def _accepted(self, file: SourceFile, text: RecordText) -> Record:
        if text.problem:
            raise text.problem
        content, used_declared = decode(text.content, self.encoding)
        flags = ("declared_encoding",) if used_declared else ()
        record = parse_record(content, path_id=file.sample_id, extra_flags=flags)
        if record.sample_id in self.names:
            raise InvalidRecord(
                "this sample id was already used; the first record stays",
                record=record.sample_id,
                field="sample_id",
                expected="an id of its own",
                found="an id that occurs above",
            )
        return record

    def _cue_rows(self, file: SourceFile, seen: set[str]) -> list[dict[str, Any]]:
        sample_id = str(file.sample_id)
        if sample_id in seen:
            raise InvalidRecord("a second transcript of the same session", expected="one .srt or .vtt", found="both")
        if file.problem:
            raise InvalidRecord("the file cannot be read", expected="a readable file", found=file.problem)
        text, used_declared = decode(file.path.read_bytes(), self.encoding)
        names = self.names.get(sample_id, set())
        cues = [split_speaker(cue, names) for cue in parse_cues(text)]
        oddities = Oddities(("declared_encoding",) if used_declared else ())
        seen.add(sample_id)
        return [
            {
                "sample_id": sample_id,
                "cue_index": index,
                **{key: getattr(cue, key) for key in ("start_time", "end_time", "speaker", "text")},
                "flags": oddities.of_cue(cue.start_time, cue.end_time, cue.text),
                **self._source(file, cue.line),
            }
            for index, cue in enumerate(cues, start=1)
        ]

    def _nothing_good(self) -> RescueError:
        first = next((str(reject) for reject in self.rejects), "no record at all")
        others = f" (and {len(self.rejects) - 1} more)" if len(self.rejects) > 1 else ""
        return RescueError(
            "not one session could be read; nothing was changed",
            where=str(self.inventory.source.path),
            expected="JSON records with sample_id and rows, one a line (.jsonl) or one a file (.json)",
            found=first + others,
            advice="mend the first line named here, then try `rescue validate` on it",
        )

    def _reject(self, file: SourceFile, line: int, error: InvalidRecord) -> None:
        self.rejects.append(Reject.of(file, line, error))

    def _source(self, file: SourceFile, line: int) -> dict[str, Any]:
        """The columns that say where a row was read."""
        return {
            "corpus_version": self.version,
            "source_path": file.name,
            "source_line": line,
            "source_sha256": file.sha256,
        }

    def _writer(self, table: str) -> TableWriter:
        return TableWriter(self.connection, table)

    def _write(self, table: str, rows: Iterable[dict[str, Any]]) -> None:
        writer = self._writer(table)
        writer.add(list(rows))
        writer.flush()

    def _advance(self, n_bytes: int) -> None:
        self.bytes_done += n_bytes
        is_due = self.bytes_told + _PROGRESS_BYTES <= self.bytes_done < self.inventory.n_bytes
        if self.on_progress and is_due:
            self.bytes_told = self.bytes_done
            self.on_progress("reading the corpus", self.bytes_done, self.inventory.n_bytes)
