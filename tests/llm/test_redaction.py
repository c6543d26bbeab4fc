"""The one place where text from outside loses its secrets."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from rescue_pipeline.llm.redaction import MAX_CHARACTERS, redact, without_keys

KEY = "abcdef-1234567890-ghijkl"
SENTENCE = 'Nobody said "stay" when the harbour lights went out, not even Bo.'


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}",
        f"Authorization: Bearer {KEY}",
        f"GET https://host.example/v1/models?key={KEY}&alt=sse failed",
        f'{{"api_key": "{KEY}"}}',
        "key sk-proj-abcdefghijklmnop was refused",
        "key AIzaSyA1234567890abcdefg was refused",
    ],
)
def test_no_key_survives(text: str) -> None:
    shown = redact(text, secrets=[KEY])
    for secret in (KEY, "sk-proj-abcdefghijklmnop", "AIzaSyA1234567890abcdefg"):
        assert secret not in shown


def test_a_key_in_the_environment_is_removed_though_nobody_named_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VENDOR_API_KEY", "plain9looking8value")
    assert "plain9looking8value" not in redact("refused: plain9looking8value")


@pytest.mark.parametrize("echo", [SENTENCE, json.dumps(SENTENCE), SENTENCE[:30], SENTENCE[25:60], repr(SENTENCE)])
def test_what_was_sent_does_not_come_back_whole_or_in_part(echo: str) -> None:
    shown = redact(f"422: input {echo} is not valid", quotes=[f"Turn 3\n{SENTENCE}\nAnswer."])
    assert "harbour" not in shown
    assert "stay" not in shown
    assert shown.startswith("422: input ")
    assert shown.endswith("is not valid")


def test_what_explains_the_error_stays_on_one_short_line() -> None:
    assert redact("Rate limit reached\nfor made-model") == "Rate limit reached for made-model"
    assert len(redact("x" * 100_000)) == MAX_CHARACTERS


SLASHED = "live/key+41:with=signs"


@pytest.mark.parametrize(
    "form",
    [
        SLASHED,
        quote(SLASHED, safe=""),
        base64.b64encode(SLASHED.encode()).decode(),
        base64.urlsafe_b64encode(SLASHED.encode()).decode().rstrip("="),
        SLASHED.replace("/", "\\/"),
    ],
)
def test_a_known_key_goes_in_every_form_it_may_be_written_in(form: str) -> None:
    assert redact(f"refused <{form}> here", secrets=[SLASHED]) == "refused <[key]> here"
    assert without_keys({"content": f"<{form}>", "attempts": 1, "error": None}, [SLASHED]) == {
        "content": "<[key]>",
        "attempts": 1,
        "error": None,
    }
