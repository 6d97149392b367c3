"""Loads Parquet files by SkyRL's own data set code and prints what its environment would get.

    python skyrl_rows.py FILE…

One JSON list a file, of `[messages, env_class, extras]`.
"""

import importlib.util
import json
import sys
import types
from typing import Any


class Tokenizer:
    """Stands for the model's: the placeholder of a row is short in any."""

    def apply_chat_template(self, messages: Any, **_options: Any) -> list[int]:
        return [0] * len(messages)


def load_dataset_class() -> Any:
    """`PromptDataset` from its own file: the package around it wants torch's whole world."""
    transformers = types.ModuleType("transformers")
    # A class of its own: `datasets` treats instances of it apart when it compares files.
    vars(transformers)["PreTrainedTokenizerBase"] = type("PreTrainedTokenizerBase", (), {})
    sys.modules["transformers"] = transformers
    root = importlib.util.find_spec("skyrl")
    assert root is not None
    [folder] = root.submodule_search_locations or []
    spec = importlib.util.spec_from_file_location("dataset", f"{folder}/train/dataset/dataset.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PromptDataset


def main() -> None:
    dataset_class = load_dataset_class()
    answer, sys.stdout = sys.stdout, sys.stderr
    for file in sys.argv[1:]:
        rows = dataset_class([file], Tokenizer(), max_prompt_length=512, num_workers=1)
        items = [rows[place][:3] for place in range(len(rows))]
        answer.write(json.dumps(items) + "\n")


if __name__ == "__main__":
    main()
