"""Commands about the models that can be asked."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="The models that can be asked.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def models_list() -> None:
    """Show the shipped models and those of ./models.yaml."""
    from rescue_pipeline.llm.registry import load_registry
    from rescue_pipeline.printing import print_models
    from rescue_pipeline.settings import Settings

    print_models(load_registry(Settings().models_file))


@app.command("check")
def models_check(
    models: Annotated[list[str] | None, typer.Argument(metavar="ID", help="ids (default: the enabled ones)")] = None,
) -> None:
    """Send a tiny request to each.

    Is there a key, does it answer, in the form asked for, at what price, how fast? A paid model bills a few tokens.
    """
    from rescue_pipeline.llm.checking import check_models
    from rescue_pipeline.llm.registry import load_registry
    from rescue_pipeline.printing import print_checks
    from rescue_pipeline.settings import Settings

    checks = check_models(load_registry(Settings().models_file), models or None)
    print_checks(checks)
    raise typer.Exit(0 if all(check.ok for check in checks) else 1)
