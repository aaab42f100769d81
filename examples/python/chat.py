"""One question, one answer, and what it cost in tokens: python chat.py "Tell me a story about a fox"."""

import os
import sys

from openai import OpenAI

client = OpenAI()  # OPENAI_BASE_URL and OPENAI_API_KEY
answer = client.chat.completions.create(
    model=os.environ.get("MODEL", "tiny-3b"),
    messages=[{"role": "user", "content": sys.argv[1] if len(sys.argv) > 1 else "Tell me a story about a fox"}],
    max_tokens=300,  # also what is reserved of your balance while it runs
)
choice = answer.choices[0]
print(choice.message.content)
tokens = answer.usage
print(f"{tokens.prompt_tokens} tokens in, {tokens.completion_tokens} out, ended by {choice.finish_reason}", file=sys.stderr)
