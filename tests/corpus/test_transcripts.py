"""SRT and WebVTT, well formed and not."""

from __future__ import annotations

import itertools

import pytest

from rescue_pipeline.corpus.rejects import InvalidRecord
from rescue_pipeline.corpus.transcripts import parse_cues, split_speaker

SRT = (
    "1\n00:00:01,000 --> 00:00:02,500\nUma: Hello there.\n\n"
    "2\n00:00:02,500 --> 00:00:04,000\nTherapist: Good morning.\n"
)
VTT = (
    "WEBVTT - a title\nKind: captions\n\nNOTE made by hand\nover two lines\n\nSTYLE\n::cue { color: lime }\n\n"
    "intro\n00:01.000 --> 00:02.500 align:start\n<v Uma>Hello there.\n\n"
    "NOTE between cues\n\n00:00:02.500 --> 00:00:04.000\n<v.loud Therapist>Good <b>morning</b>.</v>\n"
)


def spoken(text: str) -> list[tuple[float, float, str | None, str]]:
    return [(cue.start_time, cue.end_time, cue.speaker, cue.text) for cue in parse_cues(text)]


def test_srt_and_webvtt_of_one_session_have_the_same_cues() -> None:
    srt = [split_speaker(cue, {"Uma", "Therapist"}) for cue in parse_cues(SRT)]
    expected = [(1.0, 2.5, "Uma", "Hello there."), (2.5, 4.0, "Therapist", "Good morning.")]
    assert spoken(VTT) == expected
    assert [(cue.start_time, cue.end_time, cue.speaker, cue.text) for cue in srt] == expected


def test_every_cue_knows_its_line() -> None:
    assert [cue.line for cue in parse_cues(SRT)] == [2, 6]
    assert [cue.line for cue in parse_cues(VTT)] == [11, 16]


@pytest.mark.parametrize("text", [SRT, VTT])
@pytest.mark.parametrize(
    ("bom", "newline", "blanks"), list(itertools.product(["", "\ufeff"], ["\n", "\r\n"], ["", "\n\n"]))
)
def test_bom_crlf_and_leading_blanks_change_nothing(text: str, bom: str, newline: str, blanks: str) -> None:
    assert spoken(bom + (blanks + text).replace("\n", newline)) == spoken(text)


@pytest.mark.parametrize("header", ["", "WEBVTT\n\n"])
@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("00:00:01,000", 1.0),
        ("00:00:01.000", 1.0),
        ("100:00:01,000", 360001.0),
        ("1234:00:00.001", 4442400.001),
        ("00:01.000", 1.0),
        ("01:02,345", 62.345),
        ("1:02:03,004", 3723.004),
        ("0:00:01.5", 1.5),
        ("00:00:59.999", 59.999),
        ("00:00:01", 1.0),
    ],
)
def test_every_form_of_time_stamp_is_read_to_the_millisecond(header: str, stamp: str, seconds: float) -> None:
    assert parse_cues(f"{header}1\n{stamp} --> 2000:00:00.000\nx\n")[0].start_time == seconds


@pytest.mark.parametrize(
    "line",
    [
        "00:00:xx,000 --> 00:00:02,000",
        "00:00:01,000 --> later",
        "00:00:75,000 --> 00:01:20,000",
        "00:61:00.000 --> 01:02:00.000",
        "1:2 --> 1:3:4:5",
        "00:00:01,000 -->",
    ],
)
@pytest.mark.parametrize("header", ["", "WEBVTT\n\n"])
def test_a_time_line_that_cannot_be_read_is_refused_with_its_line(header: str, line: str) -> None:
    text = f"{header}1\n00:00:00,000 --> 00:00:01,000\nfine\n\n2\n{line}\nlost?\n"
    with pytest.raises(InvalidRecord) as caught:
        parse_cues(text)
    assert caught.value.line == text.split("\n").index(line) + 1
    assert "lost" not in str(vars(caught.value))


@pytest.mark.parametrize("text", ["", "  \n\n", "WEBVTT\n\n", "just some words\nand more\n", "1\n\n2\n\n"])
def test_a_transcript_without_cues_is_an_error(text: str) -> None:
    with pytest.raises(InvalidRecord, match="without cues"):
        parse_cues(text)


def test_words_before_the_first_cue_of_an_srt_are_not_dropped_silently() -> None:
    with pytest.raises(InvalidRecord) as caught:
        parse_cues("Hello\n\n1\n00:00:01,000 --> 00:00:02,000\nx\n")
    assert caught.value.line == 1


@pytest.mark.parametrize("header", ["", "WEBVTT\n\n"])
def test_a_blank_line_inside_a_cue_loses_neither_words_nor_cues(header: str) -> None:
    cues = parse_cues(f"{header}1\n00:00:01.000 --> 00:00:02.000\nA\n\nB\n\n2\n00:00:02.000 --> 00:00:03.000\nC\n")
    assert [cue.text for cue in cues] == ["A\nB", "C"]


@pytest.mark.parametrize("header", ["", "WEBVTT\n\n"])
def test_cues_in_are_cues_out_with_overlaps_ties_and_empty_cues(header: str) -> None:
    times = [
        ("00:01.000", "00:09.000"),
        ("00:02.000", "00:03.000"),
        ("00:02.000", "00:03.000"),
        ("00:01.500", "00:01.400"),
    ]
    text = header + "\n\n".join(
        f"{i}\n{start} --> {end}\n{'' if i == 2 else 'x'}" for i, (start, end) in enumerate(times)
    )
    cues = parse_cues(text)
    assert [cue.start_time for cue in cues] == [1.0, 2.0, 2.0, 1.5]
    assert [cue.text for cue in cues] == ["x", "x", "", "x"]


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ("I<00:00:01.500><c> am</c>", "I am"),
        ("a < b", "a < b"),
        ("a &lt; b &amp; c&nbsp;d", "a < b & c\u00a0d"),
        ("&lt;i&gt;literal&lt;/i&gt;", "<i>literal</i>"),
        ("<i>soft</i> <b.x.y>hard</b> <u>low</u>", "soft hard low"),
        ('<font color="#fff">white</font>', "white"),
        ("<lang de>ja</lang> <ruby>kan<rt>ka</rt></ruby>", "ja kanka"),
        ("{\\an8}above", "above"),
        ("<laughs> I see", "<laughs> I see"),
        ("AT&T &copy", "AT&T &copy"),
        ("one\ntwo", "one\ntwo"),
        ("from a --> b", "from a --> b"),
    ],
)
@pytest.mark.parametrize("header", ["", "WEBVTT\n\n"])
def test_known_tags_go_entities_are_read_and_every_word_stays(header: str, payload: str, text: str) -> None:
    assert [cue.text for cue in parse_cues(f"{header}1\n00:00:01.000 --> 00:00:02.000\n{payload}\n")] == [text]


def test_a_cue_with_two_voices_has_no_single_speaker() -> None:
    cue = parse_cues("WEBVTT\n\n00:01.000 --> 00:02.000\n<v Uma>Yes.</v>\n<v Vik>No.</v>\n")[0]
    assert (cue.speaker, cue.text) == (None, "Yes.\nNo.")


@pytest.mark.parametrize(
    ("words", "speaker"), [("Uma: yes", "Uma"), ("Listen: I said no", None), ("uma: yes", None), ("no colon", None)]
)
def test_a_name_before_a_colon_is_a_speaker_only_if_the_session_knows_it(words: str, speaker: str | None) -> None:
    cue = split_speaker(parse_cues(f"1\n00:00:01,000 --> 00:00:02,000\n{words}\n")[0], {"Uma"})
    assert (cue.speaker, cue.text) == (speaker, "yes" if speaker else words)


def test_cues_without_blank_lines_between_them_stay_apart() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nA\n2\n00:00:02,000 --> 00:00:03,000\nB\n"
    assert [cue.text for cue in parse_cues(text)] == ["A", "B"]
