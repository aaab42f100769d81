/**
 * A stub of vLLM, written after its sources (vllm/entrypoints). Errors have a number as their code and a Python class
 * as their type.
 */
import { type StubHandler, sendJson } from "../stub-http.ts";
import { makeEmbeddingList, streamCompletion } from "./sse-stub.ts";
import { countWords, type StubEngine, type StubRoutes } from "./stub-engine.ts";

const SERVER = { server: "uvicorn" };
const error = (code: number, type: string, message: string): object => ({
  error: { message, type, param: null, code },
});

export function createVllmStub(stub: StubEngine): StubHandler {
  const tooLong = (contextTokens: number, tokens: number, cap: number): object =>
    error(
      400,
      "BadRequestError",
      `This model's maximum context length is ${contextTokens} tokens. However, you requested ${cap} output tokens and your prompt contains ${tokens} input tokens, for a total of ${tokens + cap} tokens.`,
    );
  const generate: StubRoutes[string] = async (request, response) => {
    const body = stub.take(request);
    if (stub.dead)
      return sendJson(response, error(500, "InternalServerError", "EngineCore encountered an issue."), 500, SERVER);
    if (stub.refuses()) return sendJson(response, error(503, "ServiceUnavailable", "overloaded"), 503, SERVER);
    const model = stub.model(body.model);
    if (model === undefined)
      return sendJson(response, error(404, "NotFoundError", "The model does not exist."), 404, SERVER);
    const tokens = stub.promptTokens(body);
    const cap = (body.max_tokens ?? 0) as number;
    if (tokens + cap > model.contextTokens)
      return sendJson(response, tooLong(model.contextTokens, tokens, cap), 400, SERVER);
    await streamCompletion(
      stub,
      response,
      { path: request.path, body },
      {
        thinking: "reasoning",
        common: { model: body.model },
        headers: SERVER,
        opens: true,
      },
    );
  };
  const routes: StubRoutes = {
    "GET /health": (_, response) => void response.writeHead(200, SERVER).end(),
    "GET /version": (_, response) => sendJson(response, { version: "0.11.0" }, 200, SERVER),
    "GET /v1/models": (_, response) => {
      const data = stub.models.map(({ name, contextTokens }) => ({
        id: name,
        object: "model",
        created: 1,
        owned_by: "vllm",
        root: name,
        parent: null,
        max_model_len: contextTokens,
        permission: [],
      }));
      sendJson(response, { object: "list", data }, 200, SERVER);
    },
    "GET /metrics": (_, response) => {
      const blocks = stub.slots * 512;
      const context = stub.models[0]?.contextTokens ?? 0;
      response.writeHead(200, { "content-type": "text/plain" });
      response.end(
        `# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{block_size="${context / 512}",cache_dtype="auto",engine="0",num_gpu_blocks="${blocks}",num_gpu_blocks_override="None"} 1.0\nvllm:num_requests_running{engine="0",model_name="x"} 1.0\nvllm:num_requests_waiting{engine="0",model_name="x"} ${stub.waiting}.0\n`,
      );
    },
    "GET /server_info?config_format=json": (_, response) => {
      if (stub.sequencesTold === undefined) return sendJson(response, { detail: "Not Found" }, 404, SERVER);
      const config = { scheduler_config: { max_num_seqs: stub.sequencesTold } };
      sendJson(response, { vllm_config: config, vllm_env: {}, system_env: {} }, 200, SERVER);
    },
    "POST /tokenize": (request, response) => {
      const { prompt } = JSON.parse(request.body) as { prompt: string };
      const tokens = Array.from({ length: countWords(prompt) }, (_, i) => i);
      sendJson(response, { count: tokens.length, max_model_len: 8192, tokens, token_strs: null }, 200, SERVER);
    },
    "POST /v1/chat/completions": generate,
    "POST /v1/completions": generate,
    "POST /v1/embeddings": (request, response) => {
      const body = stub.take(request);
      const input = body.input as string[];
      const context = stub.model(body.model)?.contextTokens ?? 0;
      const long = input.find((text) => countWords(text) > context);
      if (long === undefined) return sendJson(response, makeEmbeddingList(stub, body.model, input), 200, SERVER);
      sendJson(response, tooLong(context, countWords(long), 0), 400, SERVER);
    },
  };
  return (request, response) => {
    const route = routes[`${request.method} ${request.path}`];
    if (route === undefined) sendJson(response, { detail: "Not Found" }, 404, SERVER);
    else void route(request, response);
  };
}
