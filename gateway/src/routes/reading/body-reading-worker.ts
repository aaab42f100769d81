/**
 * A worker thread that parses large bodies, so that the event loop does not block. For an inference request or a price
 * quote, it also validates the fields, counts the tokens and encodes the request for its node. A body of any other
 * route (a "form") is only parsed, and texts far longer than any field allows are truncated.
 */
import { parentPort, type Transferable, workerData } from "node:worker_threads";
import { invariant } from "../../base/invariant.ts";
import { lowerThreadPriority } from "../../base/thread-priority.ts";
import { Fault } from "../../faults.ts";
import { FORM_VALUES_MAX, parseJson } from "../../http/request-body.ts";
import { truncateLongTexts } from "../../http/truncate-long-texts.ts";
import type { BodyReadOptions } from "../../inference/call-interface.ts";
import type { Endpoint } from "../../inference/endpoint.ts";
import { deserializeModels, readFields } from "../../inference/read-request.ts";
import { openTokenMeter } from "../../metering/metering.ts";
import type { TokenMeter } from "../../metering/token-meter.ts";
import type { WorkerReply } from "../../metering/worker-pool.ts";
import { priceQuoteEndpoint } from "../console/models.ts";
import { chat } from "../openai/chat.ts";
import { completions } from "../openai/completions.ts";
import { embeddingsEndpoint } from "../openai/embeddings.ts";
import {
  type BodyReadingWorkerData,
  type ReadBodyJob,
  type ReadBodyResult,
  serializeFault,
} from "./body-worker-messages.ts";

const port = parentPort;
invariant(port !== null, "body-reading-worker.ts runs as a worker thread");
lowerThreadPriority();
const { tables, base64Compat } = workerData as BodyReadingWorkerData;
const meters = new Map<string, TokenMeter>();
for (const [name, found] of tables) meters.set(name, openTokenMeter(name, found, null));
const endpoints: Record<Endpoint["schema"], Endpoint> = {
  chat,
  completion: completions,
  embedding: embeddingsEndpoint({ base64Compat }),
  quote: priceQuoteEndpoint,
};
const utf8 = new TextEncoder();
/** The model catalogue of the latest message to this worker: as received, to detect changes, and as a map. */
let catalogue = { models: "[]", active: deserializeModels("[]") };

port.on("message", async ({ pieces, order }: ReadBodyJob) => {
  const transfer: Transferable[] = [];
  let reply: WorkerReply<ReadBodyResult>;
  try {
    reply = { result: await read(Buffer.concat(pieces), order, transfer) };
  } catch (error) {
    if (error instanceof Fault) reply = { result: { fault: serializeFault(error) } };
    else reply = { error: error instanceof Error ? error.message : String(error) };
  }
  port.postMessage(reply, transfer);
});

async function read(bytes: Buffer, order: BodyReadOptions | "form", transfer: Transferable[]): Promise<ReadBodyResult> {
  if (order === "form") return { form: truncateLongTexts(parseJson(bytes, FORM_VALUES_MAX)) };
  const { schema, sdk, models, allowed, labels, payer } = order;
  if (models !== catalogue.models) catalogue = { models, active: deserializeModels(models) };
  const { active } = catalogue;
  const gateway = { catalogue: () => ({ active }), meter: meterOf };
  const asked = { endpoint: endpoints[schema], json: parseJson(bytes), sdk, payer, allowed, labels };
  const { ask, promptTokens } = await readFields(gateway, asked);
  const { prompt: _, ...rest } = ask;
  const body = ask.body instanceof Uint8Array ? ask.body : utf8.encode(JSON.stringify(ask.body));
  transfer.push(body.buffer as ArrayBuffer);
  return { ask: { ...rest, body }, promptTokens };
}

function meterOf(tokenizer: string): TokenMeter {
  const meter = meters.get(tokenizer);
  invariant(meter !== undefined, `tokenizer ${tokenizer} does not exist`);
  return meter;
}
