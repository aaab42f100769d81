/**
 * A stub of llama.cpp's llama-server, written after its sources (tools/server: server-context.cpp, server-task.cpp).
 */
import { type StubHandler, sendJson } from "../stub-http.ts";
import { makeEmbeddingList, streamCompletion } from "./sse-stub.ts";
import { countWords, type StubEngine, type StubRoutes } from "./stub-engine.ts";

const SERVER = { server: "llama.cpp" };
const error = (code: number, type: string, message: string, more: object = {}): object => ({
  error: { code, message, type, ...more },
});

export function createLlamaServerStub(stub: StubEngine): StubHandler {
  const contextTokens = (): number => stub.models[0]?.contextTokens ?? 0;
  const generate: StubRoutes[string] = async (request, response) => {
    const body = stub.take(request);
    if (stub.dead) return sendJson(response, error(500, "server_error", "Invalid input batch."), 500, SERVER);
    if (stub.refuses()) return sendJson(response, error(503, "unavailable_error", "no slot is available"), 503, SERVER);
    const tokens = stub.promptTokens(body);
    if (tokens >= contextTokens()) {
      const message = `request (${tokens} tokens) exceeds the available context size (${contextTokens()} tokens), try increasing it`;
      const more = { n_prompt_tokens: tokens, n_ctx: contextTokens() };
      return sendJson(response, error(400, "exceed_context_size_error", message, more), 400, SERVER);
    }
    const traits = {
      thinking: "reasoning_content" as const,
      common: { model: body.model, system_fingerprint: "b1-x" },
      headers: SERVER,
      opens: true,
    };
    await streamCompletion(stub, response, { path: request.path, body }, traits, () => {
      for (let step = 0; step <= stub.promptSteps && body.return_progress === true && stub.promptSteps > 0; step++) {
        const progress = { total: tokens, cache: 0, processed: (tokens * step) / stub.promptSteps, time_ms: step };
        const choices = [{ finish_reason: null, index: 0, delta: { role: "assistant", content: null } }];
        response.write(`data: ${JSON.stringify({ choices, prompt_progress: progress })}\n\n`);
      }
    });
  };
  const routes: StubRoutes = {
    "GET /health": (_, response) => sendJson(response, { status: "ok" }, 200, SERVER),
    "GET /props": (_, response) => {
      const settings = { id: 0, n_ctx: contextTokens(), is_processing: false };
      sendJson(response, { default_generation_settings: settings, total_slots: stub.slots }, 200, SERVER);
    },
    "GET /v1/models": (_, response) => {
      const data = stub.models.map(({ name }) => ({ id: name, object: "model", created: 1, owned_by: "llamacpp" }));
      sendJson(
        response,
        { models: data.map(({ id }) => ({ name: id, model: id })), object: "list", data },
        200,
        SERVER,
      );
    },
    "POST /tokenize": (request, response) => {
      const { content } = JSON.parse(request.body) as { content: string };
      sendJson(response, { tokens: Array.from({ length: countWords(content) }, (_, i) => i) }, 200, SERVER);
    },
    "POST /v1/chat/completions": generate,
    "POST /v1/completions": generate,
    "POST /v1/embeddings": (request, response) => {
      const body = stub.take(request);
      const input = body.input as string[];
      const long = input.find((text) => countWords(text) > contextTokens());
      if (long === undefined) return sendJson(response, makeEmbeddingList(stub, body.model, input), 200, SERVER);
      const message = `input (${countWords(long)} tokens) is larger than the max context size (${contextTokens()} tokens). skipping`;
      sendJson(response, error(400, "exceed_context_size_error", message), 400, SERVER);
    },
  };
  return (request, response) => {
    if (stub.loading) return sendJson(response, error(503, "unavailable_error", "Loading model"), 503, SERVER);
    const route = routes[`${request.method} ${request.path}`];
    if (route === undefined) sendJson(response, error(404, "not_found_error", "File Not Found"), 404, SERVER);
    else void route(request, response);
  };
}
