/**
 * A stub of LM Studio, written after its REST documentation. It reports a prompt that is too long as an event in the
 * stream, after status 200.
 */
import { type StubHandler, sendJson } from "../stub-http.ts";
import { makeEmbeddingList, streamCompletion } from "./sse-stub.ts";
import { countWords, type StubEngine, type StubRoutes } from "./stub-engine.ts";

/** `v0`: a version before 0.4, which has only the older API. */
export function createLmStudioStub(stub: StubEngine, version: "v0" | "v1" = "v1"): StubHandler {
  const generate: StubRoutes[string] = async (request, response) => {
    const body = stub.take(request);
    if (stub.dead) return sendJson(response, { error: "The model has crashed without additional information." }, 500);
    if (stub.refuses())
      return sendJson(response, { error: "Too many requests are queued" }, 429, { "retry-after": "0" });
    const context = stub.model(body.model)?.contextTokens ?? 0;
    const tokens = stub.promptTokens(body);
    if (tokens > context) {
      const message = `Trying to keep the first ${tokens} tokens when context the overflows. However, the model is loaded with context length of only ${context} tokens, which is not enough.`;
      response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.end(`event: error\ndata: ${JSON.stringify({ error: { message } })}\n\n`);
    }
    await streamCompletion(
      stub,
      response,
      { path: request.path, body },
      {
        thinking: "reasoning_content",
        common: { model: body.model, system_fingerprint: body.model },
        opens: false,
      },
    );
  };
  const routes: StubRoutes = {
    [version === "v1" ? "GET /api/v1/models" : ""]: (_, response) =>
      sendJson(response, {
        models: stub.models.map(({ name, contextTokens, embeds }) => ({
          type: embeds ? "embedding" : "llm",
          key: name,
          loaded_instances: [
            { id: name, config: { context_length: contextTokens, ...(embeds ? {} : { parallel: stub.slots }) } },
          ],
          max_context_length: 131_072,
        })),
      }),
    "GET /api/v0/models": (_, response) =>
      sendJson(response, {
        object: "list",
        data: stub.models.map(({ name, contextTokens, embeds }) => ({
          id: name,
          object: "model",
          type: embeds ? "embeddings" : "llm",
          state: "loaded",
          max_context_length: 131_072,
          loaded_context_length: contextTokens,
        })),
      }),
    "GET /v1/models": (_, response) =>
      sendJson(response, {
        object: "list",
        data: stub.models.map(({ name }) => ({ id: name, object: "model", owned_by: "organization_owner" })),
      }),
    "POST /v1/chat/completions": generate,
    "POST /v1/completions": generate,
    "POST /v1/embeddings": (request, response) => {
      const body = stub.take(request);
      const input = body.input as string[];
      const context = stub.model(body.model)?.contextTokens ?? 0;
      if (input.every((text) => countWords(text) <= context))
        return sendJson(response, makeEmbeddingList(stub, body.model, input));
      sendJson(response, { error: "The input is longer than the context length of the model" }, 400);
    },
  };
  return (request, response) => {
    const route = routes[`${request.method} ${request.path}`];
    if (route === undefined) sendJson(response, { error: `Unexpected endpoint or method. (${request.path})` });
    else void route(request, response);
  };
}
