/**
 * A stub of Ollama's own API, written after its sources (server/routes.go, api/types.go): JSON lines, `options`,
 * `truncate`.
 */
import { type StubHandler, sendJson } from "../stub-http.ts";
import { countWords, type StubEngine, type StubRoutes } from "./stub-engine.ts";

export function createOllamaStub(stub: StubEngine): StubHandler {
  const generate: StubRoutes[string] = async (request, response) => {
    const body = stub.take(request);
    if (stub.dead) return sendJson(response, { error: "llama runner process has terminated" }, 500);
    if (stub.refuses())
      return sendJson(response, { error: "server busy, please try again.  maximum pending requests exceeded" }, 503);
    const model = stub.model(body.model);
    if (model === undefined) return sendJson(response, { error: `model '${body.model}' not found` }, 404);
    const chat = request.path === "/api/chat";
    if (chat !== Array.isArray(body.messages)) return sendJson(response, { error: "invalid request" }, 400);
    const { num_ctx: asked } = body.options as { num_ctx?: number };
    const cut = body.truncate !== false;
    if (!cut && stub.promptTokens(body) > Math.min(model.contextTokens, asked ?? Number.POSITIVE_INFINITY))
      return sendJson(response, { error: "the input length exceeds the context length" }, 400);
    const line = (fields: object): string =>
      `${JSON.stringify({ model: body.model, created_at: "2026-01-01T00:00:00Z", ...fields })}\n`;
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    await stub.speak(response, body, (kind, word) => {
      const knownRole = kind === "answer" ? { content: word } : { content: "", thinking: word };
      const raw = kind === "answer" ? { response: word } : { response: "", thinking: word };
      return line({ ...(chat ? { message: { role: "assistant", ...knownRole } } : raw), done: false });
    });
    const empty = chat ? { message: { role: "assistant", content: "" } } : { response: "" };
    response.end(line({ ...empty, done: true, done_reason: stub.finish, eval_count: 9e9 }));
  };
  const routes: StubRoutes = {
    "GET /api/version": (_, response) => sendJson(response, { version: "0.12.0" }),
    "GET /api/tags": (_, response) =>
      sendJson(response, {
        models: [
          ...stub.models.map(({ name }) => ({ name, model: name, size: 1, digest: "x", details: {} })),
          { name: "qwq:32b-cloud", model: "qwq:32b-cloud", remote_model: "qwq:32b", remote_host: "https://elsewhere" },
        ],
      }),
    "GET /api/ps": (_, response) =>
      sendJson(response, {
        models: stub.models.slice(0, 1).map(({ name }) => ({ name, model: name, context_length: 4096 })),
      }),
    "POST /api/chat": generate,
    "POST /api/generate": generate,
    "POST /api/embed": (request, response) => {
      const body = stub.take(request);
      const input = body.input as string[];
      const context = stub.model(body.model)?.contextTokens ?? 0;
      if (body.truncate === false && input.some((text) => countWords(text) > context))
        return sendJson(response, { error: "the input length exceeds the context length" }, 400);
      sendJson(response, {
        model: body.model,
        embeddings: input.map((text) => stub.vector(text)),
        prompt_eval_count: 9,
      });
    },
  };
  return (request, response) => {
    const route = routes[`${request.method} ${request.path}`];
    if (route === undefined) response.writeHead(404, { "content-type": "text/plain" }).end("404 page not found");
    else void route(request, response);
  };
}
