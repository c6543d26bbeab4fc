"""SubRip (SRT) and WebVTT transcripts: cues with times, speaker and words.

One small parser for both. The libraries for these formats do not fit: none tells the line a cue stands on, webvtt-py
and pysubs2 drop cues with comma time stamps without a word, webvtt-py ends a cue at a blank line inside it, pysubs2
cuts hours above 99 and drops speakers, srt takes `00:01.000` for a minute. Here whatever stands between two time lines
belongs to the first, so no cue and no word is lost: cues in = cues out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection
from dataclasses import dataclass

from rescue_pipeline.corpus.rejects import InvalidRecord

_STAMP = r"(?:(\d+):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,9}))?"
_TIMES = re.compile(rf"\s*{_STAMP}\s*-->\s*{_STAMP}(?:\s.*)?")
_LOOKS_LIKE_TIMES = re.compile(r"\s*(?=\d|-->)(?=.*-->)(?=.*\d:\d)")
_HEADER = re.compile(r"WEBVTT(?:[ \t].*)?")
_BLOCK_WITHOUT_CUE = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s.*)?")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^>]+)>")
_TAG = re.compile(
    r"</?(?:[ibucsv]|ruby|rt|lang|font)(?:\.[^\s<>]*)?(?:\s[^<>]*)?>"  # an unknown <word> is text
    r"|<(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}>"
    r"|\{\\[^{}]*\}",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z]+\d*);")


@dataclass(frozen=True)
class Cue:
    """One cue; times in seconds, exact to the millisecond; line counted from 1."""

    start_time: float
    end_time: float
    speaker: str | None
    text: str
    line: int


def parse_cues(text: str) -> list[Cue]:
    """The cues of a transcript in the order of the file. Raises InvalidRecord (with a line) when it is none."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    is_webvtt = _HEADER.fullmatch(next((line for line in lines if line.strip()), "").rstrip()) is not None
    times = {index: _times(line, index) for index, line in enumerate(lines) if _LOOKS_LIKE_TIMES.match(line)}
    if not times:
        raise InvalidRecord(
            "a transcript without cues",
            expected="cues with time lines such as 00:00:01.000 --> 00:00:02.500",
            found="an empty file" if not text.strip() else "no time line",
            line=1,
        )
    starts = [_first_line_of_cue(lines, index, is_webvtt) for index in times]
    if not is_webvtt:
        _refuse_words_before(lines[: starts[0]])
    ends = [*starts[1:], len(lines)]
    return [
        _cue(lines[index + 1 : end], span, index + 1, is_webvtt)
        for (index, span), end in zip(times.items(), ends, strict=True)
    ]


def split_speaker(cue: Cue, names: Collection[str]) -> Cue:
    """Read `Name: words` where Name is exactly one of the session's names; any other colon is part of the words."""
    before, colon, words = cue.text.partition(":")
    if cue.speaker is not None or not colon or before.strip() not in names:
        return cue
    return Cue(cue.start_time, cue.end_time, before.strip(), words.strip(), cue.line)


def _times(line: str, index: int) -> tuple[float, float]:
    match = _TIMES.fullmatch(line)
    parts = match.groups() if match else ()
    if not match or any(int(part) > 59 for part in (parts[1], parts[2], parts[5], parts[6])):
        raise InvalidRecord(
            "a time line that cannot be read",
            expected="hours:minutes:seconds.milliseconds --> the same; hours may be left out",
            found="another form" if not match else "minutes or seconds above 59",
            line=index + 1,
        )
    return _seconds(parts[:4]), _seconds(parts[4:])


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = parts
    milliseconds = round(int((fraction or "0").ljust(9, "0")) / 1_000_000)
    return (((int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)) * 1000 + milliseconds) / 1000


def _first_line_of_cue(lines: list[str], index: int, is_webvtt: bool) -> int:
    """The line a cue begins on: its time line, or the number or identifier right above."""
    above = lines[index - 1].strip() if index else ""
    starts_block = index == 1 or not lines[index - 2].strip()
    is_identifier = above.isdigit() or (is_webvtt and starts_block and not _HEADER.fullmatch(above))
    return index - 1 if above and is_identifier else index


def _refuse_words_before(lines: list[str]) -> None:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            raise InvalidRecord("words before the first cue", expected="a cue", found="text without times", line=number)


def _cue(lines: list[str], span: tuple[float, float], line: int, is_webvtt: bool) -> Cue:
    payload = "\n".join(_without_notes(lines) if is_webvtt else [line.strip() for line in lines if line.strip()])
    voices = {name.strip() for name in _VOICE.findall(payload)}
    words = _ENTITY.sub(lambda entity: html.unescape(entity[0]), _TAG.sub("", payload))
    speaker = html.unescape(voices.pop()) if len(voices) == 1 else None  # several voices in one cue have no one speaker
    return Cue(span[0], span[1], speaker, words.strip(), line)


def _without_notes(lines: list[str]) -> list[str]:
    """A cue's words without blank lines and without the comment, style and region blocks that follow it."""
    kept, in_note, after_blank = [], False, False
    for line in lines:
        if not line.strip():
            in_note, after_blank = False, True
            continue
        in_note = in_note or (after_blank and _BLOCK_WITHOUT_CUE.fullmatch(line) is not None)
        after_blank = False
        if not in_note:
            kept.append(line.strip())
    return kept
