"""The official Python package, driven over standard input: one JSON request a line, one JSON answer a line."""

import json
import sys

import openai


def body(ask):
    options = {"model": ask["model"], "messages": [{"role": "user", "content": ask["prompt"]}]}
    if "maxTokens" in ask:
        options["max_tokens"] = ask["maxTokens"]
    return options


def chat(client, ask, _on_text):
    answer = client.chat.completions.create(**body(ask))
    choice = answer.choices[0]
    return {
        "text": choice.message.content,
        "finish": choice.finish_reason,
        "reasoning": getattr(choice.message, "vendor_reasoning_content", None),
        "tokens": answer.usage.completion_tokens,
    }


def stream(client, ask, on_text):
    for chunk in client.chat.completions.create(**body(ask), stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            on_text(chunk.choices[0].delta.content)


def complete(client, ask, _on_text):
    return client.completions.create(model=ask["model"], prompt=ask["prompt"]).choices[0].text


def embed(client, ask, _on_text):
    return [item.embedding for item in client.embeddings.create(model=ask["model"], input=ask["input"]).data]


def models(client, _ask, _on_text):
    return [model.id for model in client.models.list()]


def responses(client, ask, _on_text):
    return client.responses.create(model=ask["model"], input=ask["prompt"]).output_text


OPERATIONS = {f.__name__: f for f in (chat, stream, complete, embed, models, responses)}

for line in sys.stdin:
    request = json.loads(line)
    at, pieces = request["at"], []
    with openai.OpenAI(base_url=at["baseURL"], api_key=at["apiKey"], max_retries=at["maxRetries"]) as client:
        try:
            value = OPERATIONS[request["operation"]](client, request.get("ask"), pieces.append)
            answer = {"value": value}
        except openai.APIError as error:
            answer = {
                "raised": type(error).__name__,
                "status": getattr(error, "status_code", None),
                "code": error.code,
                "message": str(error),
                "required": error.body.get("required_micro") if isinstance(error.body, dict) else None,
            }
    print(json.dumps({**answer, "pieces": pieces}), flush=True)
