"""LangChain's OpenAI package for Python."""

from driver import serve
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings


def options(at, ask):
    given = {"base_url": at["baseURL"], "api_key": at["apiKey"], "max_retries": at["maxRetries"], "model": ask["model"]}
    if "maxTokens" in ask:
        given["max_tokens"] = ask["maxTokens"]
    return given


def chat(at, ask, _on_text):
    answer = ChatOpenAI(**options(at, ask)).invoke(ask["prompt"])
    return {
        "text": answer.content,
        "finish": answer.response_metadata["finish_reason"],
        "tokens": answer.usage_metadata["output_tokens"],
    }


def stream(at, ask, on_text):
    for chunk in ChatOpenAI(**options(at, ask)).stream(ask["prompt"]):
        if chunk.content:
            on_text(chunk.content)


def streamUsage(at, ask, _on_text):
    chunks = ChatOpenAI(**options(at, ask), stream_usage=True).stream(ask["prompt"])
    return [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata][-1]["output_tokens"]


def cancel(at, ask, _on_text):
    chunks = ChatOpenAI(**options(at, ask)).stream(ask["prompt"])
    next(chunk for chunk in chunks if chunk.content)
    chunks.close()


def structured(at, ask, _on_text):
    model = ChatOpenAI(**options(at, ask))
    return model.with_structured_output(ask["schema"], method="json_schema", strict=True).invoke(ask["prompt"])


def complete(at, ask, _on_text):
    return OpenAI(**options(at, ask)).invoke(ask["prompt"])


def embed(at, ask, _on_text):
    # Otherwise it cuts the texts by a tokenizer of OpenAI's models and sends token ids.
    return OpenAIEmbeddings(**options(at, ask), check_embedding_ctx_length=False).embed_documents(ask["input"])


def responses(at, ask, _on_text):
    return ChatOpenAI(**options(at, ask), use_responses_api=True).invoke(ask["prompt"]).content


if __name__ == "__main__":
    serve([chat, stream, streamUsage, cancel, structured, complete, embed, responses])
