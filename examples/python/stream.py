"""A stream, shown as it comes and begun again while that is safe: python stream.py "Tell me a story about a fox"."""

import os
import sys

import openai
from retry_stream import stream_with_retry

model = os.environ.get("MODEL", "tiny-3b")
try:
    for chunk in stream_with_retry(
        openai.OpenAI(),
        model=model,
        messages=[{"role": "user", "content": sys.argv[1] if len(sys.argv) > 1 else "Tell me a story about a fox"}],
        max_tokens=300,
        stream_options={"include_usage": True},
        thinks=model.startswith("reason-"),
        on_retry=lambda error, wait_s: print(f"{error.code}: again in {wait_s:.1f} s", file=sys.stderr),
    ):
        if chunk.choices and chunk.choices[0].delta.content:
            print(chunk.choices[0].delta.content, end="", flush=True)
        if chunk.usage:
            print(f"\n{chunk.usage.prompt_tokens} tokens in, {chunk.usage.completion_tokens} out", file=sys.stderr)
except openai.APIError as error:
    # What came before stays yours, and was paid for. Another try is a new, paid request: ask first.
    sys.exit(f"\nbroken off: {error.code}")
