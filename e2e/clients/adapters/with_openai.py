"""The official Python package; one adapter serves every major."""

from functools import cache

import openai
from driver import class_of, serve


@cache  # as a builder keeps it: making one reads every certificate
def client(base_url, api_key, max_retries):
    return openai.OpenAI(base_url=base_url, api_key=api_key, max_retries=max_retries)


def connect(at):
    return client(at["baseURL"], at["apiKey"], at["maxRetries"])


def body(ask):
    options = {"model": ask["model"], "messages": [{"role": "user", "content": ask["prompt"]}]}
    if "maxTokens" in ask:
        options["max_tokens"] = ask["maxTokens"]
    return options


def chat(at, ask, _on_text):
    answer = connect(at).chat.completions.create(**body(ask))
    choice = answer.choices[0]
    return {
        "text": choice.message.content,
        "finish": choice.finish_reason,
        "reasoning": getattr(choice.message, "vendor_reasoning_content", None),
        "tokens": answer.usage.completion_tokens,
    }


def stream(at, ask, on_text):
    for chunk in connect(at).chat.completions.create(**body(ask), stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            on_text(chunk.choices[0].delta.content)


def streamUsage(at, ask, _on_text):
    options = {"stream": True, "stream_options": {"include_usage": True}}
    return [chunk.usage for chunk in connect(at).chat.completions.create(**body(ask), **options)][-1].completion_tokens


def cancel(at, ask, _on_text):
    with connect(at).chat.completions.create(**body(ask), stream=True) as chunks:
        next(chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content)


def structured(at, ask, _on_text):
    answer = connect(at).chat.completions.parse(**body(ask), response_format=class_of(ask["schema"]))
    return answer.choices[0].message.parsed.model_dump()


def complete(at, ask, _on_text):
    return connect(at).completions.create(model=ask["model"], prompt=ask["prompt"]).choices[0].text


def embed(at, ask, _on_text):
    return [item.embedding for item in connect(at).embeddings.create(model=ask["model"], input=ask["input"]).data]


def models(at, _ask, _on_text):
    return [model.id for model in connect(at).models.list()]


def responses(at, ask, _on_text):
    return connect(at).responses.create(model=ask["model"], input=ask["prompt"]).output_text


if __name__ == "__main__":
    serve([chat, stream, streamUsage, cancel, structured, complete, embed, models, responses])
