"""The baselines as a LiteLLM provider: asked on the same path as any model, with the same journal and the same parser.

The provider alone is told which instance a question is about, through metadata; the messages never say it.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from functools import cache
from typing import Any

from rescue_pipeline.errors import RescueError
from rescue_pipeline.llm.adapter import prepare_litellm
from rescue_pipeline.llm.baselines.gold import GoldTable, Question
from rescue_pipeline.llm.baselines.lexical import Lexical
from rescue_pipeline.llm.baselines.lexical_judge import grade
from rescue_pipeline.llm.baselines.rules import Answer, NothingToLearnFrom, heuristic, majority, uniform
from rescue_pipeline.llm.registry import BASELINE_PROVIDER, LEXICAL_JUDGE
from rescue_pipeline.llm.workspace import Corpus, Workspace
from rescue_pipeline.tasks.lists import ANSWERS, ID

log = logging.getLogger(__name__)

NO_OTHER_GROUP = "no-other-group"
"""Stored as the response's system fingerprint: there was nothing to learn from, the answer is chance."""
RENAMED, ITEMS = "renamed", "items"
"""Metadata of a request to a baseline: that people bear invented names; the instance of each id of a list."""
DEFAULT_SEED = 7
_MOST_CORPORA = 4


class Knowledge:
    """All that the baselines know of one corpus version."""

    def __init__(self, corpus: Corpus) -> None:
        self.gold = GoldTable(corpus)
        self._lexical = Lexical(self.gold)
        self._told: set[tuple[str, str, str]] = set()

    def answer(self, baseline: str, metadata: dict[str, Any], seed: int) -> tuple[Answer, str | None]:
        """The answer of a baseline to one question or a list of them, and whether it had to fall back to chance."""
        if baseline == LEXICAL_JUDGE:
            gold = self.gold.gold_for_grading(metadata["instance_id"])
            return grade(metadata["instance_id"].split(":", 1)[0], gold, metadata["answer"]), None
        if ITEMS not in metadata:
            return self._answer(baseline, metadata["instance_id"], metadata, seed)
        found = {key: self._answer(baseline, instance, metadata, seed) for key, instance in metadata[ITEMS].items()}
        chance = next((told for _, told in found.values() if told), None)
        return {ANSWERS: [{ID: key, **answer} for key, (answer, _) in found.items()]}, chance

    def _answer(
        self, baseline: str, instance_id: str, metadata: dict[str, Any], seed: int
    ) -> tuple[Answer, str | None]:
        question, chance = self.gold.questions[instance_id], None
        try:
            answer = self._learned(baseline, question, metadata["modality"], seed)
        except NothingToLearnFrom:
            self._tell(baseline, question)
            answer, chance = uniform(question, seed), NO_OTHER_GROUP
        if metadata.get(RENAMED):  # it knows people by their own names, the question by invented ones
            answer = self.gold.corpus.renaming_of(question.group).rename(answer)
        return answer, chance

    def _learned(self, baseline: str, question: Question, modality: str, seed: int) -> Answer:
        match baseline:
            case "uniform":
                return uniform(question, seed)
            case "majority":
                return majority(question, self.gold)
            case "heuristic":
                return heuristic(question, self.gold)
            case "lexical":
                return self._lexical.answer(question, modality)
        raise RescueError("there is no such baseline", expected="uniform, majority, heuristic, lexical", found=baseline)

    def _tell(self, baseline: str, question: Question) -> None:
        about = (baseline, question.task, question.scenario)
        if about not in self._told:
            self._told.add(about)
            log.warning(
                "%s: no other %s group to learn %s from; it answers by chance there", baseline, about[2], about[1]
            )


_known: OrderedDict[str, Knowledge] = OrderedDict()


def corpus_key(workspace: Workspace) -> str:
    """Names a corpus version to the provider; not part of a request's identity."""
    return f"{workspace.lake.root}#{workspace.corpus_version}"


def register_baselines(workspace: Workspace) -> None:
    """Let LiteLLM know our provider, and the provider this corpus."""
    key = corpus_key(workspace)
    if key not in _known or _known[key].gold.corpus is not workspace.corpus:  # read anew: the tables may have changed
        _known[key] = Knowledge(workspace.corpus)
    _known.move_to_end(key)
    while len(_known) > _MOST_CORPORA:
        _known.popitem(last=False)
    _register()


@cache
def _register() -> None:
    litellm = prepare_litellm()
    from litellm.utils import custom_llm_setup

    litellm.custom_provider_map.append({"provider": BASELINE_PROVIDER, "custom_handler": _provider()})
    custom_llm_setup()


def _provider() -> Any:
    from litellm import CustomLLM, ModelResponse, Usage

    class Baseline(CustomLLM):  # type: ignore[misc]
        def completion(self, model: str, model_response: ModelResponse, **call: Any) -> ModelResponse:
            metadata = call["litellm_params"]["metadata"]
            seed = int((call.get("optional_params") or {}).get("seed", DEFAULT_SEED))
            answer, fingerprint = _known[metadata["corpus"]].answer(model, metadata, seed)
            model_response.model = f"{BASELINE_PROVIDER}/{model}"
            model_response.choices[0].message.content = json.dumps(answer, ensure_ascii=False, allow_nan=False)
            model_response.choices[0].finish_reason = "stop"
            model_response.system_fingerprint = fingerprint
            model_response.usage = Usage(prompt_tokens=0, completion_tokens=0, total_tokens=0)
            # a stated cost spares LiteLLM a search of its price table, half the time of such a call
            model_response._hidden_params = {"response_cost": 0.0, "cache_hit": True}
            return model_response

        async def acompletion(self, *positional: Any, **call: Any) -> ModelResponse:
            return self.completion(*positional, **call)

    return Baseline()
