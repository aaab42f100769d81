"""OpenAI's Agents SDK, switched to chat completions."""

import asyncio
import logging
from functools import cache

import openai
from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    set_tracing_disabled,
)
from driver import class_of, serve

set_tracing_disabled(True)
logging.getLogger("openai.agents").setLevel(logging.CRITICAL)  # it logs what it raises
# The one that its functions without `async` use: connections belong to a loop.
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)


@cache
def client(base_url, api_key, max_retries):
    return openai.AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=max_retries)


def agent(at, ask, made=OpenAIChatCompletionsModel, **more):
    model = made(ask["model"], client(at["baseURL"], at["apiKey"], at["maxRetries"]))
    settings = ModelSettings(max_tokens=ask.get("maxTokens"), include_usage=True)
    return Agent(name="matrix", model=model, model_settings=settings, **more)


def chat(at, ask, _on_text):
    result = Runner.run_sync(agent(at, ask), ask["prompt"])
    return {"text": result.final_output, "finish": None, "tokens": result.context_wrapper.usage.output_tokens}


def deltas(result):
    return (
        event.data.delta
        async for event in result.stream_events()
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
    )


def stream(at, ask, on_text):
    async def read():
        async for text in deltas(Runner.run_streamed(agent(at, ask), ask["prompt"])):
            on_text(text)

    loop.run_until_complete(read())


def streamUsage(at, ask, _on_text):
    async def read():
        result = Runner.run_streamed(agent(at, ask), ask["prompt"])
        async for _text in deltas(result):
            pass
        return result.context_wrapper.usage.output_tokens

    return loop.run_until_complete(read())


def cancel(at, ask, _on_text):
    async def leave():
        result = Runner.run_streamed(agent(at, ask), ask["prompt"])
        async for _text in deltas(result):
            result.cancel()

    loop.run_until_complete(leave())


def structured(at, ask, _on_text):
    return Runner.run_sync(agent(at, ask, output_type=class_of(ask["schema"])), ask["prompt"]).final_output.model_dump()


def responses(at, ask, _on_text):
    return Runner.run_sync(agent(at, ask, made=OpenAIResponsesModel), ask["prompt"]).final_output


if __name__ == "__main__":
    serve([chat, stream, streamUsage, cancel, structured, responses])
