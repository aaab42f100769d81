"""LlamaIndex's package for services that speak the dialect, for Python."""

from driver import class_of, serve
from llama_index.core.llms import ChatMessage
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike


def model(at, ask, **more):
    if "maxTokens" in ask:
        more["max_tokens"] = ask["maxTokens"]
    return OpenAILike(
        model=ask["model"],
        api_base=at["baseURL"],
        api_key=at["apiKey"],
        max_retries=at["maxRetries"],
        is_chat_model=True,
        context_window=8192,
        **more,
    )


def messages(ask):
    return [ChatMessage(role="user", content=ask["prompt"])]


def chat(at, ask, _on_text):
    raw = model(at, ask).chat(messages(ask)).raw
    message = raw.choices[0].message
    return {
        "text": message.content,
        "finish": raw.choices[0].finish_reason,
        "reasoning": getattr(message, "vendor_reasoning_content", None),
        "tokens": raw.usage.completion_tokens,
    }


def stream(at, ask, on_text):
    for chunk in model(at, ask).stream_chat(messages(ask)):
        if chunk.delta:
            on_text(chunk.delta)


def streamUsage(at, ask, _on_text):
    llm = model(at, ask, additional_kwargs={"stream_options": {"include_usage": True}})
    return [chunk.raw.usage for chunk in llm.stream_chat(messages(ask)) if chunk.raw.usage][-1].completion_tokens


def cancel(at, ask, _on_text):
    chunks = model(at, ask).stream_chat(messages(ask))
    next(chunk for chunk in chunks if chunk.delta)
    chunks.close()


def structured(at, ask, _on_text):
    llm = model(at, ask, should_use_structured_outputs=True).as_structured_llm(class_of(ask["schema"]))
    return llm.chat(messages(ask)).raw.model_dump()


def complete(at, ask, _on_text):
    llm = model(at, ask)
    llm.is_chat_model = False
    return llm.complete(ask["prompt"]).text


def embed(at, ask, _on_text):
    embedding = OpenAILikeEmbedding(
        model_name=ask["model"], api_base=at["baseURL"], api_key=at["apiKey"], max_retries=at["maxRetries"]
    )
    return embedding.get_text_embedding_batch(ask["input"])


if __name__ == "__main__":
    serve([chat, stream, streamUsage, cancel, structured, complete, embed])
