/**
 * A stub of mlx_lm.server, written after mlx_lm/server.py: HTTP/1.0, progress as comments in the stream, errors as 404,
 * no embeddings.
 */
import { type StubHandler, sendJson } from "../stub-http.ts";
import { streamCompletion } from "./sse-stub.ts";
import type { StubEngine, StubRoutes } from "./stub-engine.ts";

const SERVER = { server: "BaseHTTP/0.6 Python/3.12.4", connection: "close" };

export function createMlxStub(stub: StubEngine): StubHandler {
  const generate: StubRoutes[string] = async (request, response) => {
    const body = stub.take(request);
    if (stub.dead) return sendJson(response, { error: "generation failed" }, 500, SERVER);
    if (stub.refuses()) return sendJson(response, { error: "busy" }, 503, SERVER);
    const traits = {
      thinking: "reasoning" as const,
      common: { model: body.model, system_fingerprint: "0.27-x" },
      headers: SERVER,
      opens: false,
    };
    await streamCompletion(stub, response, { path: request.path, body }, traits, () => {
      const total = stub.promptTokens(body);
      for (let step = 0; step <= stub.promptSteps && stub.promptSteps > 0; step++)
        response.write(`: keepalive ${Math.round((total * step) / stub.promptSteps)}/${total}\n\n`);
    });
  };
  const routes: StubRoutes = {
    "GET /health": (_, response) => sendJson(response, { status: "ok" }, 200, SERVER),
    "GET /v1/models": (_, response) => {
      const data = stub.models.map(({ name }) => ({ id: name, object: "model", created: 1 }));
      sendJson(response, { object: "list", data }, 200, SERVER);
    },
    "POST /v1/chat/completions": generate,
    "POST /v1/completions": generate,
  };
  return (request, response) => {
    const route = routes[`${request.method} ${request.path}`];
    if (route === undefined) response.writeHead(404, SERVER).end("Not Found");
    else void route(request, response);
  };
}
