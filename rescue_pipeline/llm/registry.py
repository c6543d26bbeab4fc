"""The model registry: which models there are, where they answer, what they cost. No request is made here.

The shipped assets/models.yaml is merged with the user's own models.yaml, model by model and field by field.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from rescue_pipeline.bundle import ASSETS
from rescue_pipeline.errors import UsageError
from rescue_pipeline.llm.addresses import host_of, is_vendors, is_within_reach, is_without_secrets, names_a_secret
from rescue_pipeline.llm.parameter_values import refuse_unsendable, wrong_parameter
from rescue_pipeline.llm.registry_files import describe, merged, read_models
from rescue_pipeline.settings import Settings

SHIPPED = ASSETS / "models.yaml"
BASELINE_PROVIDER = "baseline"
LEXICAL_JUDGE = "lexical-judge"
MODEL_ID = r"^[a-z0-9._-]{1,80}$"

# set by the request layer itself: an entry that names one would change what is asked, or whose key is sent
RESERVED_PARAMETERS = frozenset(
    [
        "model",
        "messages",
        "api_base",
        "base_url",
        "api_key",
        "response_format",
        "tools",
        "tool_choice",
        "functions",
        "function_call",
        "allowed_openai_params",
        "timeout",
        "num_retries",
        "max_retries",
        "drop_params",
        "caching",
        "stream",
        "n",
        "metadata",
        "mock_response",
        "fallbacks",
        "custom_llm_provider",
        "use_litellm_proxy",
        "model_list",
        "context_window_fallback_dict",
        "mock_tool_calls",
    ]
)

ANSWER_LIMITS = ("max_tokens", "max_completion_tokens")
"""The parameters that limit the length of an answer."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Limits(_Strict):
    """How hard a model may be pressed. rpm and tpm: requests and tokens a minute; null = no limit known."""

    concurrency: Annotated[int, Field(ge=1, le=1000)] = 4
    rpm: Annotated[float, Field(gt=0)] | None = None
    tpm: Annotated[float, Field(gt=0)] | None = None
    call_seconds: Annotated[float, Field(gt=0)] = 120.0
    """Wall-clock limit around one call."""
    question_seconds: Annotated[float, Field(gt=0)] = 600.0
    """Wall-clock limit around one question with all its retries."""


class Price(_Strict):
    """USD per million tokens. cached: input tokens served from the provider's cache; cache_write: those put into it
    (default of both: the input price). Reasoning tokens cost what output costs.
    """

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    cached: Annotated[float, Field(ge=0)] | None = None
    cache_write: Annotated[float, Field(ge=0)] | None = None
    up_to_tokens: Annotated[int, Field(gt=0)] | None = None
    """The longest prompt that has this price; null = any."""
    beyond: Price | None = None
    """The price of longer prompts."""

    @field_validator("input", "output", "cached", "cache_write", mode="before")
    @classmethod
    def _is_no_bytes(cls, value: Any) -> Any:
        if isinstance(value, bytes):  # YAML's !!binary would pass for a number
            raise ValueError("a number")
        return value

    @model_validator(mode="after")
    def _covers_every_length(self) -> Price:
        if (self.up_to_tokens is None) != (self.beyond is None):
            raise ValueError("up_to_tokens and beyond (the price of longer prompts) go together")
        return self

    def at(self, prompt_tokens: int) -> Price:
        """The price of a prompt of this length."""
        if self.beyond is None or self.up_to_tokens is None or prompt_tokens <= self.up_to_tokens:
            return self
        return self.beyond.at(prompt_tokens)

    @property
    def is_free(self) -> bool:
        own = self.input or self.output or self.cached or self.cache_write
        return not own and (self.beyond is None or self.beyond.is_free)


class ModelEntry(_Strict):
    """One model that can be asked."""

    id: Annotated[str, Field(pattern=MODEL_ID)]
    litellm: Annotated[str, Field(pattern=r"^[^\s/]+(/[^\s/]+)+$|^[^\s/]+$")]
    api_base: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None
    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    """Laid over the protocol's parameters; null takes one away (a model that refuses `temperature`)."""
    local_host: str | None = None
    """The host of api_base once more, where its name does not show that it is one's own."""
    local: bool = False
    vendor: str | None = None
    limits: Limits = Limits()
    price: Price | None = None
    revision: Annotated[str, Field(min_length=1)] = "1"
    judge: bool = False
    enabled: bool = False
    structured_output: Literal["auto", "json_schema", "tool", "json_object", "none"] = "auto"
    """How the form of the answer is asked for; auto finds out what the server takes and remembers it."""
    reasoning: bool = False
    """Thinks before it answers: gets the protocol's reasoning tokens on top of the answer's."""
    context_tokens: Annotated[int, Field(gt=0)] | None = None
    """The longest prompt and answer together; a longer question is not sent. null = the server says so itself."""

    @field_validator("params")
    @classmethod
    def _leaves_the_request_alone(cls, params: dict[str, Any]) -> dict[str, Any]:
        reserved = sorted(RESERVED_PARAMETERS & params.keys())
        if reserved:
            raise ValueError(f"parameters of the model; {', '.join(reserved)} is set by the request layer")
        if names_a_secret(params):
            raise ValueError("parameters without keys: they are stored with every answer; use api_key_env")
        for name in ANSWER_LIMITS:
            limit = params.get(name)
            if limit is not None and (type(limit) is not int or limit < 1):
                raise wrong_parameter(name, "a whole number of at least 1, or null", limit)
        refuse_unsendable(params)
        return params

    @field_validator("api_base")
    @classmethod
    def _holds_no_key(cls, address: str | None) -> str | None:
        if address is not None and not is_without_secrets(address):
            raise ValueError("an address without user, password and query; a key belongs in api_key_env")
        return address

    @field_validator("local")
    @classmethod
    def _is_plausible(cls, local: bool, info: ValidationInfo) -> bool:
        """Private sessions go to local models, so the word alone is not enough."""
        address = info.data.get("api_base")
        if local and not str(info.data.get("litellm")).startswith(f"{BASELINE_PROVIDER}/"):
            if address is None:
                raise ValueError("false, or api_base with the address of your own server")
            if is_vendors(address):
                raise ValueError("false: api_base is a vendor's own address")
            if not is_within_reach(address) and info.data.get("local_host") != host_of(address):
                raise ValueError(f"false, or, if that public host is your own server, local_host: {host_of(address)}")
        return local

    @property
    def is_baseline(self) -> bool:
        """Answered in this process by our own provider: no network, no cost."""
        return self.litellm.startswith(f"{BASELINE_PROVIDER}/")

    @property
    def is_paid(self) -> bool:
        """Neither local nor free: asking it needs the user's consent. An unknown price counts as paid."""
        return not (self.local or self.is_baseline or (self.price is not None and self.price.is_free))

    @property
    def endpoint(self) -> str:
        """Where requests go; part of a request's identity."""
        return self.api_base or self.litellm.split("/", 1)[0]


@dataclass(frozen=True)
class Registry:
    """All models by id, in the order of the files."""

    models: Mapping[str, ModelEntry]

    def get(self, model: str) -> ModelEntry:
        """The entry of a model; raises UsageError that lists close names."""
        if model in self.models:
            return self.models[model]
        close = difflib.get_close_matches(model, self.models, n=3, cutoff=0.4)
        raise UsageError(
            "there is no such model",
            expected=f"one of {', '.join(close or list(self.models))}",
            found=model,
            advice="`rescue models list` shows all; add yours to ./models.yaml",
        )

    def resolve(self, models: Iterable[str] | None) -> list[ModelEntry]:
        """The named models, or the default set: enabled, and not there only to judge."""
        if models is None:
            return [entry for entry in self.models.values() if entry.enabled and not entry.judge]
        return [self.get(model) for model in dict.fromkeys(models)]

    def judge(self, named: str | None = None) -> ModelEntry:
        """The judge to use: the named one, else the first enabled judge that is a model, else the lexical judge.

        Raises UsageError when the named model is not marked as a judge.
        """
        if named is None:
            judges = [
                entry for entry in self.models.values() if entry.judge and entry.enabled and not entry.is_baseline
            ]
            return judges[0] if judges else self.get(LEXICAL_JUDGE)
        entry = self.get(named)
        if not entry.judge:
            raise UsageError(
                "this model is not marked as a judge",
                expected="an entry with judge: true",
                found=named,
                advice=f"set `judge: true` for {named} in ./models.yaml, or use --judge {LEXICAL_JUDGE}",
            )
        return entry


def load_registry(user_file: Path | None = None, *, shipped: Path = SHIPPED) -> Registry:
    """The shipped registry with the user's own file merged over it.

    Raises UsageError (file, entry, field, expected, found). The default user file may be absent; a named one may not.
    """
    base = read_models(shipped)
    own = {} if user_file is None or _may_be_absent(user_file) else read_models(user_file)
    entries = {}
    for model, fields in merged(base, own).items():
        entries[model] = _entry(fields, user_file if user_file is not None and model in own else shipped)
    return Registry(entries)


def _may_be_absent(user_file: Path) -> bool:
    return not user_file.exists() and user_file == Settings.model_fields["models_file"].default


def _entry(fields: dict[str, Any], source: Path) -> ModelEntry:
    try:
        return ModelEntry.model_validate(fields)
    except ValidationError as error:
        raise describe(error, source, str(fields["id"])) from None
