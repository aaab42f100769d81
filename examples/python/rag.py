"""Answers from a folder of text files, by nearness of meaning: python rag.py FOLDER "What does it cost?"."""

import os
import sys
from pathlib import Path

from openai import OpenAI

NEAREST = 3
PASSAGE_CHARS_MAX = 1_500
BATCH = 64

if len(sys.argv) != 3:
    sys.exit('usage: python rag.py FOLDER "QUESTION"')
folder, question = sys.argv[1:]
client = OpenAI()


def read_passages(folder):
    """Paragraphs, the long ones cut, each with the name of its file."""
    for path in sorted(Path(folder).iterdir()):
        if path.suffix not in (".md", ".txt"):
            continue
        for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
            for at in range(0, len(paragraph.strip()), PASSAGE_CHARS_MAX):
                yield path.name, paragraph.strip()[at : at + PASSAGE_CHARS_MAX]


def embed(texts):
    vectors = []
    for at in range(0, len(texts), BATCH):
        answer = client.embeddings.create(
            model=os.environ.get("EMBEDDING_MODEL", "embed-m3"), input=texts[at : at + BATCH], encoding_format="float"
        )
        vectors += [item.embedding for item in answer.data]
    return vectors


def nearness(a, b):
    """Vectors have length 1: their product is the cosine."""
    return sum(x * y for x, y in zip(a, b))


passages = list(read_passages(folder))
if not passages:
    sys.exit(f"{folder} holds no .md or .txt files with text")
asked, *vectors = embed([question, *(text for _, text in passages)])
scored = sorted(zip((nearness(asked, vector) for vector in vectors), passages), reverse=True)[:NEAREST]

sources = "\n\n".join(f"[{i}] {name}\n{text}" for i, (_, (name, text)) in enumerate(scored, 1))
answer = client.chat.completions.create(
    model=os.environ.get("MODEL", "tiny-3b"),
    messages=[
        {"role": "system", "content": f"Answer from these passages alone and name their numbers.\n\n{sources}"},
        {"role": "user", "content": question},
    ],
    max_tokens=300,
)
print(answer.choices[0].message.content)
for i, (score, (name, _)) in enumerate(scored, 1):
    print(f"[{i}] {name} ({score:.2f})", file=sys.stderr)
