"""Where the declarations (assets/) and the SQL (dbt_project/) lie: in the checkout, or inside the installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_ROOT = _PACKAGE / "_bundle" if (_PACKAGE / "_bundle").is_dir() else _PACKAGE.parent

ASSETS = _ROOT / "assets"
DBT_PROJECT = _ROOT / "dbt_project"
DEMO_CORPUS = ASSETS / "demo_corpus"
