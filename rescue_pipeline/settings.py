"""Settings from the environment (prefix RESCUE_) or a .env file in the working directory."""

from __future__ import annotations

from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Everything that may differ between machines; nothing that changes what a result means."""

    model_config = SettingsConfigDict(env_prefix="RESCUE_", env_file=".env", extra="ignore")

    data_dir: Path | None = None
    """The data directory; without it `./data/<corpus_id>` (the CLI) or what `./data/current` names (the UI)."""
    lake: str | None = None
    """Where the Parquet lake lies (fsspec URL); without it `<data_dir>/lake`."""
    models_file: Path = Path("models.yaml")
    """The user's own model registry, merged over the shipped one."""
    lock_timeout_seconds: float = 30.0
    """How long to wait for another process to release the warehouse."""
    log_level: str = "INFO"
