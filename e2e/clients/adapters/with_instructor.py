"""instructor. Without `response_model` it hands on what the official package returns."""

from functools import cache

import instructor
import openai
from driver import class_of, serve


@cache
def client(base_url, api_key, max_retries):
    plain = openai.OpenAI(base_url=base_url, api_key=api_key, max_retries=max_retries)
    return instructor.from_openai(plain, mode=instructor.Mode.JSON_SCHEMA)


def create(at, ask, **more):
    if "maxTokens" in ask:
        more["max_tokens"] = ask["maxTokens"]
    completions = client(at["baseURL"], at["apiKey"], at["maxRetries"]).chat.completions
    messages = [{"role": "user", "content": ask["prompt"]}]
    return completions.create(**{"model": ask["model"], "messages": messages, "response_model": None, **more})


def chat(at, ask, _on_text):
    answer = create(at, ask)
    choice = answer.choices[0]
    return {
        "text": choice.message.content,
        "finish": choice.finish_reason,
        "reasoning": getattr(choice.message, "vendor_reasoning_content", None),
        "tokens": answer.usage.completion_tokens,
    }


def stream(at, ask, on_text):
    for chunk in create(at, ask, stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            on_text(chunk.choices[0].delta.content)


def streamUsage(at, ask, _on_text):
    chunks = create(at, ask, stream=True, stream_options={"include_usage": True})
    return [chunk.usage for chunk in chunks][-1].completion_tokens


def cancel(at, ask, _on_text):
    with create(at, ask, stream=True) as chunks:
        next(chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content)


def structured(at, ask, _on_text):
    return create(at, ask, response_model=class_of(ask["schema"])).model_dump()


if __name__ == "__main__":
    serve([chat, stream, streamUsage, cancel, structured])
