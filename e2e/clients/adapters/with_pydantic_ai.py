"""pydantic-ai with its model for chat completions."""

import asyncio
from functools import cache

import openai
from driver import class_of, serve
from pydantic_ai import Agent, Embedder, NativeOutput
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider

# As docs/builders/clients/pydantic-ai.md has it.
PROFILE = OpenAIModelProfile(
    supports_json_schema_output=True, openai_chat_thinking_field="vendor_reasoning_content"
)

# The one that its functions without `async` use: connections belong to a loop.
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)


@cache
def provider_of(base_url, api_key, max_retries):
    client = openai.AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=max_retries)
    return OpenAIProvider(openai_client=client)


def provider(at):
    return provider_of(at["baseURL"], at["apiKey"], at["maxRetries"])


def agent(at, ask, output_type=str):
    settings = {"max_tokens": ask["maxTokens"]} if "maxTokens" in ask else {}
    model = OpenAIChatModel(ask["model"], provider=provider(at), profile=PROFILE)
    return Agent(model, output_type=output_type, model_settings=settings)


def chat(at, ask, _on_text):
    answer = agent(at, ask).run_sync(ask["prompt"]).response
    return {
        "text": answer.text,
        "finish": answer.finish_reason,
        "reasoning": answer.thinking,
        "tokens": answer.usage.output_tokens,
    }


def stream(at, ask, on_text):
    async def read():
        async with agent(at, ask).run_stream(ask["prompt"]) as result:
            async for text in result.stream_text(delta=True, debounce_by=None):
                on_text(text)

    loop.run_until_complete(read())


def streamUsage(at, ask, _on_text):
    async def read():
        async with agent(at, ask).run_stream(ask["prompt"]) as result:
            await result.get_output()
            return result.usage.output_tokens

    return loop.run_until_complete(read())


def cancel(at, ask, _on_text):
    async def leave():
        async with agent(at, ask).run_stream(ask["prompt"]) as result:
            async for _text in result.stream_text(delta=True, debounce_by=None):
                break
            await result.cancel()

    loop.run_until_complete(leave())


def structured(at, ask, _on_text):
    form = NativeOutput(class_of(ask["schema"]))
    return agent(at, ask, form).run_sync(ask["prompt"]).output.model_dump()


def embed(at, ask, _on_text):
    model = OpenAIEmbeddingModel(ask["model"], provider=provider(at))
    return [list(vector) for vector in Embedder(model).embed_sync(ask["input"], input_type="document").embeddings]


def responses(at, ask, _on_text):
    return Agent(OpenAIResponsesModel(ask["model"], provider=provider(at))).run_sync(ask["prompt"]).output


def read_error(error):
    body = error.body if isinstance(error.body, dict) else {}
    return {
        "raised": type(error).__name__,
        "status": getattr(error, "status_code", None),
        "code": error.provider_error_code,
        "message": str(error),
        "required": body.get("required_micro"),
    }


if __name__ == "__main__":
    serve([chat, stream, streamUsage, cancel, structured, embed, responses], ModelAPIError, read_error)
