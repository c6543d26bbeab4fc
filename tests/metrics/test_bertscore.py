"""Which texts are compared, and what their F1s make of an answer; the real library where it is installed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rescue_pipeline.metrics.backbone import NotComputed, find_backbone, weights_sha256
from rescue_pipeline.metrics.bertscore import Pair, answer_f1, cut_texts, pair_sha256, pairs_of, score_pairs


class Words:
    """A scorer that counts words in common and notes what it was given."""

    id, max_tokens = "words", 5

    def __init__(self) -> None:
        self.asked: list[Pair] = []

    def f1(self, pairs: Sequence[Pair]) -> list[float]:
        self.asked += pairs
        return [2 * len(set(a.split()) & set(b.split())) / len(a.split() + b.split()) for a, b in pairs]

    def is_cut(self, texts: Sequence[str]) -> list[bool]:
        return [len(text.split()) > self.max_tokens for text in texts]


def view(source: str, target: str, text: str) -> dict[str, str]:
    return {"source": source, "target": target, "viewpoint": text}


def scored(task: str, gold: Any, answer: Any) -> float:
    return answer_f1(task, gold, answer, score_pairs(Words(), pairs_of(task, gold, answer)))


def test_emotions_are_compared_as_phrases_and_intensity_is_left_out() -> None:
    gold = {"emotion": "tired hope", "intensity": 3}
    assert scored("er", gold, {"emotion": "tired hope", "intensity": 9}) == 1
    assert scored("er", gold, {"emotion": "tired anger", "intensity": 3}) == 0.5


def test_a_gold_viewpoint_takes_the_best_prediction_of_its_pair_and_none_scores_nothing() -> None:
    gold = {"viewpoints": [view("A", "B", "he hides"), view("A", "C", "she helps"), view("A", "D", "he left")]}
    answer = {
        "viewpoints": [
            view("A", "B", "he shouts"),
            view("A", "B", "he hides"),
            view("C", "A", "she helps"),  # the pair turned round is another pair
            view("A", "D", "she left"),
            view("B", "A", "more is not better"),
        ]
    }
    assert scored("vp", gold, answer) == pytest.approx((1 + 0 + 0.5) / 3)


def test_gold_viewpoints_of_one_pair_are_each_compared_with_all_predictions_of_it() -> None:
    gold = {"viewpoints": [view("A", "B", "he hides"), view("A", "B", "he cares")]}
    assert scored("vp", gold, {"viewpoints": [view("A", "B", "he cares")]}) == pytest.approx((0.5 + 1) / 2)


def test_the_gold_as_the_answer_scores_one() -> None:
    gold = {"viewpoints": [view("A", "B", "he hides"), view("B", "A", "she stays")]}
    assert scored("vp", gold, gold) == 1


def test_each_pair_is_scored_once_and_empty_texts_never_reach_the_scorer() -> None:
    words = Words()
    pairs = [("a b", "a"), ("a b", "a"), ("", "a"), ("a", "  "), ("", ""), (" ", "\n")]
    f1 = score_pairs(words, pairs)
    assert words.asked == [("a b", "a")]
    assert [f1[pair] for pair in pairs] == pytest.approx([2 / 3, 2 / 3, 0, 0, 1, 1], abs=1e-6)
    assert score_pairs(words, []) == {}


def test_a_text_longer_than_the_scorer_reads_is_found() -> None:
    assert cut_texts(Words(), [("one two", "one two three four five six"), ("", "one")]) == {
        "one two three four five six"
    }


def test_what_is_not_compared_does_not_change_a_pairs_identity() -> None:
    gold, answer = {"emotion": "calm", "intensity": 3}, {"emotion": "calm", "intensity": 8}
    assert pair_sha256("er", gold, answer) == pair_sha256("er", {**gold, "intensity": 1}, answer)
    assert pair_sha256("er", gold, answer) != pair_sha256("er", {**gold, "emotion": "glad"}, answer)
    views = {"viewpoints": [{**view("A", "B", "x"), "attitude": "warm"}]}
    assert pair_sha256("vp", views, views) == pair_sha256("vp", {"viewpoints": [view("A", "B", "x")]}, views)
    assert pair_sha256("vp", views, views) != pair_sha256("vp", {"viewpoints": [view("B", "A", "x")]}, views)


# --- the real library


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT of two layers, its tokenizer without a stated length, as a folder."""
    for library in ("bert_score", "torch", "transformers"):
        pytest.importorskip(library, reason="the extra `bertscore` is not installed")
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny-bert")
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    torch.manual_seed(3)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=len(words), max_position_embeddings=48, **sizes)).save_pretrained(folder)
    BertTokenizerFast(vocab={word: number for number, word in enumerate(words)}).save_pretrained(folder)
    stated = json.loads((folder / "tokenizer_config.json").read_text())
    stated.pop("model_max_length", None)
    (folder / "tokenizer_config.json").write_text(json.dumps(stated))
    return folder


def test_the_real_library_scores_long_short_and_empty_texts(tiny: Path) -> None:
    backbone = find_backbone(str(tiny))
    long = "word " * 200
    f1 = score_pairs(backbone, [("calm", "calm"), ("calm", "furious"), (long, "calm"), (long, long), ("", "calm")])
    assert f1["calm", "calm"] == f1[long, long] == 1
    assert f1["", "calm"] == 0
    assert -1 <= f1["calm", "furious"] < 1
    assert cut_texts(backbone, [(long, "calm")]) == {long}


def test_a_pair_scores_the_same_alone_and_in_a_batch(tiny: Path) -> None:
    backbone = find_backbone(str(tiny))
    pairs = [(f"some {word}", f"{word} of another length") for word in ("fear", "hope", "grief and rage", "calm")]
    together = score_pairs(backbone, pairs)
    assert {pair: score_pairs(backbone, [pair])[pair] for pair in pairs} == pytest.approx(together, abs=2e-6)


def test_a_text_of_nothing_that_counts_is_no_text(tiny: Path) -> None:
    assert score_pairs(find_backbone(str(tiny)), [("\u200b", "calm"), ("calm", "\u200b")]) == {
        ("\u200b", "calm"): 0,
        ("calm", "\u200b"): 0,
    }


def test_a_path_that_looks_like_another_kind_of_model_changes_nothing(tiny: Path, tmp_path: Path) -> None:
    misleading = tmp_path / "t5-of-mine"
    shutil.copytree(tiny, misleading)
    pairs = [("calm", "furious")]
    assert score_pairs(find_backbone(str(misleading)), pairs) == score_pairs(find_backbone(str(tiny)), pairs)


def test_a_scorers_id_names_all_that_scores_depend_on_but_no_path(tiny: Path) -> None:
    backbone = find_backbone(str(tiny), layer=1)
    parts = backbone.id.split("_")
    assert [parts[0], parts[1]] == [tiny.name, "L1"]
    assert f"weights={weights_sha256(tiny)[:12]}" in parts
    assert {part.split("=")[0] for part in parts} >= {"bert-score", "transformers", "max", "no-rescale"}
    assert "/" not in backbone.id
    assert find_backbone(str(tiny)).id != backbone.id
    assert backbone.max_tokens == 48


def test_a_layer_that_does_not_exist_or_a_folder_without_weights_is_said_plainly(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(NotComputed, match="2 layers"):
        find_backbone(str(tiny), layer=3)
    with pytest.raises(NotComputed, match="holds no model"):
        find_backbone(str(tmp_path))


def test_weights_that_are_not_here_are_not_fetched(tiny: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(NotComputed, match="not on this machine"):
        find_backbone("nobody/no-such-model")


def test_without_the_extra_the_reason_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(NotComputed, match=r"rescue-pipeline\[bertscore\]"):
        find_backbone("distilbert-base-uncased")
