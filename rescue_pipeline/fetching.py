"""`rescue fetch`: the public benchmark, once its terms are accepted."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import httpx

from rescue_pipeline import progress
from rescue_pipeline.datadir import DATA_ROOT, write_atomically
from rescue_pipeline.errors import RescueError
from rescue_pipeline.settings import Settings

FILES = ("benchmark_191.jsonl", "er.jsonl", "vp.jsonl")
TERMS = """\
RESCUE-BENCH (arXiv 2609.09657) is made of annotated therapy sessions. Its authors allow research
only: no commercial use, no clinical use, no passing on, no attempt to find out who the people are,
no profiling of them. The public repository carries no licence file.
By going on you agree to keep to these terms.
"""


def fetch(target: Path | None = None) -> Path:
    """Download the released files below `target` (default ./data/corpora/rescue-bench) and note that the terms were
    accepted. Call it only after the user accepted TERMS. Existing files are replaced only by complete ones."""
    folder = target or DATA_ROOT / "corpora" / "rescue-bench"
    base = Settings().corpus_url.rstrip("/")
    folder.mkdir(parents=True, exist_ok=True)
    with httpx.Client(follow_redirects=True, timeout=60) as client:
        for done, name in enumerate(FILES):
            progress.report("files downloaded", done, len(FILES))
            _download(client, f"{base}/{name}", folder / name)
    progress.report("files downloaded", len(FILES), len(FILES))
    write_atomically(folder / "corpus.yaml", "name: rescue-bench\ndata_class: public-research\n")
    accepted = {"terms": TERMS, "accepted_at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), "source": base}
    write_atomically(folder / "terms_accepted.json", json.dumps(accepted, indent=1) + "\n")
    return folder


def _download(client: httpx.Client, url: str, target: Path) -> None:
    part = target.with_name(target.name + ".part")
    try:
        with client.stream("GET", url) as response, part.open("wb") as file:
            response.raise_for_status()
            for chunk in response.iter_bytes():
                file.write(chunk)
        _refuse_other_content(part, url)
        part.replace(target)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise _not_downloaded(url, f"{type(error).__name__}: {error}".splitlines()[0]) from error
    finally:
        part.unlink(missing_ok=True)


def _refuse_other_content(part: Path, url: str) -> None:
    """A login page or a notice also arrives with status 200."""
    with part.open("rb") as file:
        if not file.read(1000).lstrip().startswith(b"{"):
            raise _not_downloaded(url, "something else, perhaps a login page", expected="lines of JSON")


def _not_downloaded(url: str, found: str, expected: str | None = None) -> RescueError:
    return RescueError(
        "the benchmark could not be downloaded; files from an earlier download are unchanged",
        where=url,
        expected=expected,
        found=found,
        advice="check the network and the disk, or set RESCUE_CORPUS_URL to another address of these files",
    )
