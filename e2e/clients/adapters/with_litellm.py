"""LiteLLM as a package."""

import json
import os

# Read as it is loaded: otherwise it fetches a list of prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm  # noqa: E402
from driver import serve  # noqa: E402

litellm.suppress_debug_info = True


def options(at, ask):
    given = {
        "model": f"openai/{ask['model']}",
        "api_base": at["baseURL"],
        "api_key": at["apiKey"],
        "max_retries": at["maxRetries"],
    }
    if "prompt" in ask:
        given["messages"] = [{"role": "user", "content": ask["prompt"]}]
    if "maxTokens" in ask:
        given["max_tokens"] = ask["maxTokens"]
    return given


def chat(at, ask, _on_text):
    answer = litellm.completion(**options(at, ask))
    choice = answer.choices[0]
    fields = choice.message.provider_specific_fields or {}
    return {
        "text": choice.message.content,
        "finish": choice.finish_reason,
        "reasoning": fields.get("vendor_reasoning_content"),
        "tokens": answer.usage.completion_tokens,
    }


def stream(at, ask, on_text):
    for chunk in litellm.completion(**options(at, ask), stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            on_text(chunk.choices[0].delta.content)


def streamUsage(at, ask, _on_text):
    chunks = litellm.completion(**options(at, ask), stream=True, stream_options={"include_usage": True})
    used = [chunk.usage for chunk in chunks if getattr(chunk, "usage", None)]
    return used[-1].completion_tokens


def cancel(at, ask, _on_text):
    # What it hands out has no way to be closed.
    chunks = litellm.completion(**options(at, ask), stream=True)
    next(chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content)


def structured(at, ask, _on_text):
    form = {"type": "json_schema", "json_schema": {"name": "number", "schema": ask["schema"], "strict": True}}
    return json.loads(litellm.completion(**options(at, ask), response_format=form).choices[0].message.content)


def complete(at, ask, _on_text):
    given = {**options(at, ask), "model": f"text-completion-openai/{ask['model']}"}
    given.pop("messages")
    return litellm.text_completion(**given, prompt=ask["prompt"]).choices[0].text


def embed(at, ask, _on_text):
    answer = litellm.embedding(**options(at, ask), input=ask["input"], encoding_format="float")
    return [item["embedding"] for item in answer.data]


if __name__ == "__main__":
    serve([chat, stream, streamUsage, cancel, structured, complete, embed])
