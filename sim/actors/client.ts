/** A client: sends one request to one gateway and records every word of the answer that it receives. */
import { UnreachableError } from "../../gateway/src/base/dependency.ts";
import type { Uuid } from "../../gateway/src/base/ids.ts";
import { isRetryableDatabaseError } from "../../gateway/src/db/errors.ts";
import { Fault } from "../../gateway/src/faults.ts";
import type { Call, Reply } from "../../gateway/src/inference/call-interface.ts";
import type { Endpoint } from "../../gateway/src/inference/endpoint.ts";
import { serveRequest } from "../../gateway/src/inference/serve.ts";
import { chat } from "../../gateway/src/routes/openai/chat.ts";
import { completions } from "../../gateway/src/routes/openai/completions.ts";
import { embeddings } from "../../gateway/src/routes/openai/embeddings.ts";
import { makeSentence } from "../world/one-token-words.ts";
import type { World } from "../world/world.ts";
import type { RequestPlan } from "../world-plan.ts";
import { EMBEDDING_MODEL } from "./catalogue.ts";
import type { RunningGateway } from "./gateway.ts";

interface Usage {
  prompt_tokens: number;
  completion_tokens?: number;
  completion_tokens_details?: { reasoning_tokens: number };
}

/** Everything that a client observed of its request. */
export interface ClientObservation {
  id: Uuid;
  ask: RequestPlan;
  gateway: string;
  machine: number;
  askedMs: number;
  /** When the last byte arrived or the connection ended, in virtual milliseconds. */
  endedMs: number | null;
  /**
   * How the request ended for the client. `answered`: the whole answer arrived, or the whole stream with its [DONE].
   * `refused`: an error arrived, as a status or as the stream's last event.
   */
  end: "answered" | "refused" | "left" | "connection lost" | null;
  status: number | null;
  code: string | null;
  text: string;
  reasoning: string;
  vectors: number[][];
  usage: Usage | null;
  /** When the process of the request's gateway ended, by a crash or after a drain; null while the process runs. */
  gatewayEndedMs: number | null;
  /** Whether the gateway sent anything after the end of the answer. */
  saidAfterEnd: boolean;
}

export function sendRequest(
  world: World,
  running: RunningGateway,
  order: RequestPlan,
  token: string,
): ClientObservation {
  const { gateway, life, newId } = running;
  const id = newId();
  const sight: ClientObservation = {
    id,
    ask: order,
    gateway: running.name,
    machine: life.machine,
    askedMs: world.scheduler.nowMs,
    endedMs: null,
    end: null,
    status: null,
    code: null,
    text: "",
    reasoning: "",
    vectors: [],
    usage: null,
    gatewayEndedMs: null,
    saidAfterEnd: false,
  };
  const who = `client ${id.slice(-6)}`;
  const gone = new AbortController();
  const end = (how: ClientObservation["end"]): void => {
    if (sight.end !== null) {
      sight.saidAfterEnd = sight.end === "answered" || sight.end === "refused";
      return;
    }
    sight.end = how;
    sight.endedMs = world.scheduler.nowMs;
    world.trace.add(who, `${how} ${sight.status ?? ""} ${sight.code ?? ""} ${sight.text.length}`);
  };
  const hears = (): boolean => life.hears && !gone.signal.aborted;
  life.onEnd(() => {
    sight.gatewayEndedMs = world.scheduler.nowMs;
    if (sight.end === null) end("connection lost");
  });
  const reply: Reply = {
    setHeaders() {},
    json(status, body) {
      if (!hears()) return;
      sight.status = status;
      readWhole(sight, typeof body === "string" ? body : Buffer.concat(body).toString("utf8"));
      end("answered");
    },
    openStream() {
      if (hears()) sight.status = 200;
    },
    event(data) {
      if (!hears()) return;
      if (sight.end !== null) sight.saidAfterEnd = true;
      if (data === "[DONE]") end("answered");
      else if (readEvent(sight, data)) end("refused");
    },
    endStream() {},
    failStream(data) {
      this.event(data);
    },
  };
  const [endpoint, body] = requestOf(order);
  const call: Call = {
    id,
    arrivedAt: gateway.clock.monotonic(),
    authorization: `Bearer ${token}`,
    client: "simulated",
    headers: {},
    sdk: null,
    checkDeclaredLength() {},
    readBody: () => Promise.resolve({ isSmall: true, json: () => body, pieces: [], keep() {} }),
    reply,
    cancelSignal: gone.signal,
  };
  if (order.leavesMs !== null)
    world.scheduler.after(order.leavesMs, () => {
      if (sight.end !== null || !life.hears) return;
      world.faults["client left"] += 1;
      end("left");
      gone.abort();
    });
  world.trace.add(who, `asks ${running.name} for ${order.model}, stream ${order.stream}`);
  serveRequest(gateway, endpoint, call).then(
    () => {
      if (hears() && sight.end === null) world.fail("every request is answered", `${id} was served and told nothing`);
    },
    (error: unknown) => {
      if (!hears()) return;
      const [status, code] = refusalOf(error);
      if (status === 500) world.fail("nothing fails on our side", `${id}: ${(error as Error).stack}`);
      sight.status = status;
      sight.code = code;
      end("refused");
    },
  );
  return sight;
}

/** Returns the status and error code that the HTTP layer would send (`http/http-call.ts`). */
function refusalOf(error: unknown): [number, string | null] {
  if (error instanceof Fault) return [error.status, error.code ?? null];
  if (error instanceof UnreachableError || isRetryableDatabaseError(error)) return [503, "no_capacity"];
  return [500, "internal_error"];
}

const promptOf = ({ promptWords }: RequestPlan): string => makeSentence(0, promptWords).trim();

function requestOf(order: RequestPlan): [Endpoint, object] {
  if (order.model === EMBEDDING_MODEL) return [embeddings, embeddingBody(order)];
  if (order.endpoint === "completion")
    return [completions, { ...generationBody(order), prompt: makeSentence(0, order.promptWords) }];
  return [chat, { ...generationBody(order), messages: [{ role: "user", content: promptOf(order) }] }];
}

const generationBody = (order: RequestPlan): object => ({
  model: order.model,
  max_tokens: order.maxTokens,
  stream: order.stream,
  ...(order.stream && { stream_options: { include_usage: true } }),
  ...(order.stop !== null && { stop: order.stop }),
  ...(order.formatted && { response_format: { type: "json_object" } }),
});

const embeddingBody = (order: RequestPlan): object => ({
  model: order.model,
  // Each of the texts begins with a different word.
  input: Array.from({ length: order.texts }, (_, i) => makeSentence(i, order.promptWords)),
});

interface WholeAnswer {
  /** A chat's choices have messages, a completion's choices have texts. */
  choices?: { message?: { content: string; vendor_reasoning_content?: string }; text?: string }[];
  data?: { index: number; embedding: number[] }[];
  usage: Usage;
}

function readWhole(sight: ClientObservation, body: string): void {
  const { choices, data, usage } = JSON.parse(body) as WholeAnswer;
  const choice = choices?.[0];
  sight.text = choice?.message?.content ?? choice?.text ?? "";
  sight.reasoning = choice?.message?.vendor_reasoning_content ?? "";
  for (const { index, embedding } of data ?? []) sight.vectors[index] = embedding;
  sight.usage = usage;
}

interface Chunk {
  choices?: { delta?: { content?: string; vendor_reasoning_content?: string }; text?: string }[];
  usage?: Usage | null;
  error?: { code: string };
}

/** Reads one event of the stream. Returns whether it was the error that ends the stream. */
function readEvent(sight: ClientObservation, data: string): boolean {
  const { choices, usage, error } = JSON.parse(data) as Chunk;
  if (error !== undefined) {
    sight.code = error.code;
    return true;
  }
  const choice = choices?.[0];
  sight.text += choice?.delta?.content ?? choice?.text ?? "";
  sight.reasoning += choice?.delta?.vendor_reasoning_content ?? "";
  if (usage) sight.usage = usage;
  return false;
}
