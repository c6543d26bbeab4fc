"""Settings from the environment (prefix RESCUE_) or a .env file in the working directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from rescue_pipeline.errors import UsageError

CORPUS_URL = "https://raw.githubusercontent.com/Tomsawyerhu/RESCUE-bench/0d0b0793e23157c7af76d1d301e63fc705b27f2a/data"


class Settings(BaseSettings):
    """Everything that may differ between machines; nothing that changes what a result means."""

    model_config = SettingsConfigDict(env_prefix="RESCUE_", env_file=".env", env_ignore_empty=True, extra="ignore")

    data_dir: Path | None = None
    """The data directory; without it `./data/<corpus_id>` (the CLI) or what `./data/current` names (the UI)."""
    lake: str | None = None
    """Where the Parquet lake lies (fsspec URL); without it `<data_dir>/lake`."""
    models_file: Path = Path("models.yaml")
    """The user's own model registry, merged over the shipped one."""
    budget_usd: float | None = Field(default=None, ge=0)
    """What a run may spend on models that cost money, judges included; without it nothing that costs money is asked."""
    bertscore_model: str = "distilbert-base-uncased"
    """BERTScore's backbone: a folder, or a name whose weights are in the hub's cache on this machine."""
    bertscore_layer: int | None = Field(default=None, ge=1)
    """Its layer; without it the one known for the model (distilbert-base-uncased: 5), else the last."""
    lock_timeout_seconds: float = Field(default=30.0, ge=0)
    """How long to wait for another process to release the warehouse."""
    corpus_url: str = Field(default=CORPUS_URL, pattern=r"^https?://\S+$")
    """Where `rescue fetch` finds the files of the public benchmark."""

    def __init__(self, **values: Any) -> None:
        """Raises UsageError that names the variable."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise UsageError(
                "a setting is wrong; nothing was started",
                where=f"RESCUE_{'_'.join(map(str, first['loc'])).upper()} (environment or .env)",
                expected=first["msg"],
                found=repr(first["input"])[:100],
            ) from None
