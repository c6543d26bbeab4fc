"""Where what is not Python lies (assets/, dbt_project/, workspace.yaml): in the checkout, or in the installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_ROOT = _PACKAGE / "_bundle" if (_PACKAGE / "_bundle").is_dir() else _PACKAGE.parent

ASSETS = _ROOT / "assets"
DBT_PROJECT = _ROOT / "dbt_project"
WORKSPACE = _ROOT / "workspace.yaml"
DEMO_CORPUS = ASSETS / "demo_corpus"
