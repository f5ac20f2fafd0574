"""Counts the texts beside this file with OpenAI's own tokenizer, for the tests to compare with.

    pip install tiktoken && python reference.py > reference.json

`long` counts the text written so many times over that it is longer than what is counted exactly.
"""

import json
import math
import pathlib

import tiktoken

EXACT_BYTES = 64 * 1024
ENCODINGS = {"o200k": "o200k_base", "cl100k": "cl100k_base"}


def main() -> None:
    encodings = {key: tiktoken.get_encoding(name) for key, name in ENCODINGS.items()}
    counts = {}
    for path in sorted(pathlib.Path(__file__).parent.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        size = len(text.encode())
        times = math.ceil(4 * EXACT_BYTES / size)
        counts[path.stem] = {
            "bytes": size,
            **{key: len(encoding.encode(text)) for key, encoding in encodings.items()},
            "long": {
                "times": times,
                **{key: len(encoding.encode(text * times)) for key, encoding in encodings.items()},
            },
        }
    print(json.dumps(counts, indent=2))


main()
