"""Recognising the released corpus: the one whose numbers may stand beside the paper's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rescue_pipeline.corpus.companions import RELEASED_GROUPS, read_map

N_SAMPLES = {"couple": 174, "family": 17}
N_TURNS = {"couple": 5875, "family": 1204}
_ID = {
    "couple": re.compile(r"\w+(?:_and_\w+)+/\d{3}_s\d{2}e\d{2}_ct\d{2}_segment\d{2}", re.ASCII),
    "family": re.compile(r"family_therapy/\d{3}/merged", re.ASCII),
}


@dataclass
class Recognition:
    """Sees every accepted record once; `is_released` then says whether together they are the released corpus."""

    n_samples: dict[str, int] = field(default_factory=lambda: dict.fromkeys(N_SAMPLES, 0))
    n_turns: dict[str, int] = field(default_factory=lambda: dict.fromkeys(N_TURNS, 0))
    families: set[str] = field(default_factory=set)
    all_ids_fit: bool = True

    def see(self, sample: Mapping[str, object]) -> None:
        scenario, sample_id, n_rows = str(sample["scenario"]), str(sample["sample_id"]), sample["n_rows"]
        assert isinstance(n_rows, int)
        self.n_samples[scenario] += 1
        self.n_turns[scenario] += n_rows
        self.all_ids_fit = self.all_ids_fit and _ID[scenario].fullmatch(sample_id) is not None
        if scenario == "family":
            self.families.add("/".join(sample_id.split("/")[:2]))

    @property
    def is_released(self) -> bool:
        counts_fit = self.n_samples == N_SAMPLES and self.n_turns == N_TURNS
        return counts_fit and self.all_ids_fit and set(read_map(RELEASED_GROUPS, "family")) <= self.families
