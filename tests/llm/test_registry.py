"""models.yaml: what merges, and what a malformed one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.registry import ModelEntry, load_registry

BASELINES = ["uniform", "majority", "heuristic", "lexical"]


def user_file(folder: Path, text: str) -> Path:
    path = folder / "models.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_default_set_is_the_four_baselines_and_none_costs_money() -> None:
    entries = load_registry().resolve(None)
    assert [entry.id for entry in entries] == BASELINES
    assert not any(entry.is_paid for entry in entries)


def test_the_papers_ten_models_and_a_local_one_are_listed_but_disabled() -> None:
    models = load_registry().models
    others = [entry for entry in models.values() if not entry.is_baseline]
    assert not any(entry.enabled for entry in others)
    assert sum(entry.is_paid and not entry.judge for entry in others) == 10
    local = models["ollama-qwen3-8b"]
    assert local.local
    assert local.params["num_ctx"] > 0
    assert not local.is_paid


def test_a_user_file_merges_per_model_and_per_field(tmp_path: Path) -> None:
    path = user_file(
        tmp_path,
        "models:\n"
        "  - {id: uniform, limits: {rpm: 60}, enabled: false}\n"
        "  - {id: mine, litellm: openai/mine, api_base: 'http://127.0.0.1:1/v1', local: true, enabled: true}\n",
    )
    registry = load_registry(path)
    uniform = registry.get("uniform")
    assert (uniform.litellm, uniform.limits.concurrency, uniform.limits.rpm) == ("baseline/uniform", 32, 60)
    assert [entry.id for entry in registry.resolve(None)] == [*BASELINES[1:], "mine"]


def test_null_takes_a_shipped_value_away(tmp_path: Path) -> None:
    path = user_file(tmp_path, "models:\n  - {id: ollama-qwen3-8b, price: null}\n")
    assert load_registry(path).get("ollama-qwen3-8b").price is None


def test_the_default_user_file_may_be_absent_but_a_named_one_may_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    load_registry(Path("models.yaml"))
    with pytest.raises(UsageError, match=r"other\.yaml"):
        load_registry(Path("other.yaml"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("models: {a: b}", ["models.yaml", "field models", "a list of models", "a mapping"]),
        ("- just\n- a list", ["field models", "found: a list"]),
        ("", ["field models", "found: nothing"]),
        ("models: [", ["YAML", "line 1"]),
        ("models:\n  - litellm: x/y", ["number 1", "field id", "found: nothing"]),
        ("models:\n  - {id: Mine!, litellm: x/y}", ["entry Mine!", "field id", "pattern"]),
        ("models:\n  - {id: a, litellm: x/y}\n  - {id: a, litellm: x/z}", ["entry a", "each id once", "twice"]),
        ("models:\n  - {id: a, id: b, litellm: x/y}", ["the key id stands twice"]),
        ("models:\n  - {id: a}", ["entry a", "field litellm", "found: nothing"]),
        ("models:\n  - {id: a, litellm: x/y, limits: {concurrency: 0}}", ["field limits.concurrency", "a number 0"]),
        ("models:\n  - {id: a, litellm: x/y, enabeld: true}", ["field enabeld", "a field that exists"]),
        ("models:\n  - {id: a, litellm: x/y, price: {input: -1, output: 0}}", ["field price.input", "a number -1"]),
        ("models:\n  - {id: a, litellm: x/y, params: {api_key: abc}}", ["field params", "request layer"]),
    ],
)
def test_a_malformed_file_is_told_by_file_entry_field_expected_and_found(
    tmp_path: Path, text: str, told: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        load_registry(user_file(tmp_path, text))
    for part in told:
        assert part in str(caught.value)


def test_a_key_pasted_into_the_file_is_not_shown(tmp_path: Path) -> None:
    path = user_file(tmp_path, "models:\n  - {id: a, litellm: x/y, api_key_env: sk-pasted-by-mistake}")
    with pytest.raises(UsageError) as caught:
        load_registry(path)
    assert "api_key_env" in str(caught.value)
    assert "sk-pasted" not in str(caught.value)


def test_an_unknown_model_is_answered_with_close_names() -> None:
    with pytest.raises(UsageError, match="majority"):
        load_registry().get("majorty")


def test_the_judge_is_the_named_one_else_the_enabled_one_else_the_lexical_one(tmp_path: Path) -> None:
    assert load_registry().judge().id == "lexical-judge"
    enabled = load_registry(user_file(tmp_path, "models:\n  - {id: gpt-5.4, enabled: true}\n"))
    assert enabled.judge().id == "gpt-5.4"
    assert enabled.judge("lexical-judge").id == "lexical-judge"
    assert "gpt-5.4" not in [entry.id for entry in enabled.resolve(None)]
    with pytest.raises(UsageError, match="not marked as a judge"):
        enabled.judge("uniform")


def test_an_unknown_price_counts_as_paid(tmp_path: Path) -> None:
    path = user_file(
        tmp_path, "models:\n  - {id: a, litellm: x/y}\n  - {id: b, litellm: x/y, price: {input: 0, output: 0}}\n"
    )
    registry = load_registry(path)
    assert registry.get("a").is_paid
    assert not registry.get("b").is_paid


@pytest.mark.parametrize(
    "moved",
    [
        "api_base: 'https://proxy.example/v1'",
        "litellm: openrouter/openai/gpt-4o",
        "litellm: openai/other, api_base: 'http://127.0.0.1:8000/v1'",
    ],
)
def test_a_key_stays_with_the_address_it_was_stated_for(tmp_path: Path, moved: str) -> None:
    entry = load_registry(user_file(tmp_path, f"models:\n  - {{id: gpt-4o, {moved}}}\n")).get("gpt-4o")
    assert entry.api_key_env is None
    named = load_registry(user_file(tmp_path, f"models:\n  - {{id: gpt-4o, {moved}, api_key_env: MY_KEY}}\n"))
    assert named.get("gpt-4o").api_key_env == "MY_KEY"


def test_what_leaves_the_address_alone_keeps_the_key(tmp_path: Path) -> None:
    path = user_file(tmp_path, "models:\n  - {id: gpt-4o, litellm: openai/gpt-4o-2024-11-20, limits: {rpm: 5}}\n")
    assert load_registry(path).get("gpt-4o").api_key_env == "OPENAI_API_KEY"


def test_a_local_entry_that_is_sent_elsewhere_is_neither_local_nor_free_until_it_says_so(tmp_path: Path) -> None:
    far = "models:\n  - {id: ollama-qwen3-8b, api_base: 'https://gpu.example'}\n"
    entry = load_registry(user_file(tmp_path, far)).get("ollama-qwen3-8b")
    assert (entry.local, entry.price, entry.is_paid) == (False, None, True)
    near = "models:\n  - {id: ollama-qwen3-8b, api_base: 'http://localhost:11500'}\n"
    entry = load_registry(user_file(tmp_path, near)).get("ollama-qwen3-8b")
    assert (entry.local, entry.is_paid) == (True, False)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ("litellm: openai/gpt-4o, local: true", ["field local", "address of your own server"]),
        ("litellm: openai/m, api_base: 'https://api.openai.com/v1', local: true", ["field local", "vendor's own"]),
        ("litellm: openai/m, api_base: 'https://eu.api.openai.com./v1', local: true", ["field local", "vendor's own"]),
        ("litellm: openai/m, api_base: 'https://user:pass1234@host/v1'", ["field api_base", "without user"]),
        ("litellm: openai/m, api_base: 'https://host/v1?key=abcd1234'", ["field api_base", "query"]),
        ("litellm: openai/m, params: {extra_headers: {Authorization: abcd1234}}", ["field params", "api_key_env"]),
        ("litellm: bedrock/m, params: {aws_secret_access_key: abcd1234}", ["field params", "api_key_env"]),
    ],
)
def test_what_could_leak_sessions_or_keys_is_refused(tmp_path: Path, fields: str, told: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        load_registry(user_file(tmp_path, f"models:\n  - {{id: a, {fields}}}\n"))
    assert all(part in str(caught.value) for part in told), str(caught.value)
    assert "1234" not in str(caught.value)


def test_a_server_of_ones_own_may_be_local(tmp_path: Path) -> None:
    path = user_file(
        tmp_path, "models:\n  - {id: a, litellm: openai/m, api_base: 'http://gpu.internal:8000/v1', local: true}\n"
    )
    assert load_registry(path).get("a").local


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "10.0.0.7", "192.168.1.2", "172.16.0.1", "169.254.1.1", "[fd00::1]", "gpu", "a.local", "a.internal"],
)
def test_a_host_that_is_ones_own_by_its_name_may_be_local(host: str) -> None:
    assert ModelEntry(id="a", litellm="openai/m", api_base=f"http://{host}:8000/v1", local=True).local


@pytest.mark.parametrize("host", ["llm.example.com", "8.8.8.8", "0.0.0.0", "[2600::1]"])
def test_a_public_host_is_local_only_when_it_is_named_again(host: str) -> None:
    made = {"id": "a", "litellm": "openai/m", "api_base": f"https://{host}/v1", "local": True}
    for other in (None, "other.example.com"):
        with pytest.raises(ValueError, match="local_host: "):
            ModelEntry.model_validate({**made, "local_host": other})
    assert ModelEntry.model_validate({**made, "local_host": host.strip("[]")}).local
