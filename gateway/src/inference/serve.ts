/**
 * Serves a whole request: authenticate, check limits and credit, read and validate, count the prompt, take the hold,
 * dispatch, relay, count the output, settle, release the limits, answer. Chat, completions and embeddings differ only
 * in their `Endpoint`. The order in which errors are checked is part of the API's contract.
 */

import { publicId, publicIdSuffix } from "../base/ids.ts";
import { runBeforeNeeded } from "../base/run-before-needed.ts";
import type { WaitBudget } from "../base/wait-budget.ts";
import type { DispatchRequest } from "../dispatch/dispatch-request.ts";
import type { DispatchResult } from "../dispatch/dispatch-result.ts";
import { type FaultCode, fault } from "../faults.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import type { OutputCount, TokenMeter } from "../metering/token-meter.ts";
import { computeOutputCap, computeOutputTokensLeft, type PlacedHold, placeHold } from "./admit.ts";
import type { Call, CountedRequest } from "./call-interface.ts";
import {
  type Caller,
  checkCredit,
  checkDeclaredBodyLength,
  countAgainstKeyLimit,
  countAgainstModelLimit,
} from "./check-limits.ts";
import { DeltaJoiner } from "./delta-joiner.ts";
import { encodeInSlices } from "./encode-in-slices.ts";
import type { AnswerMeta, Endpoint, StreamWriter } from "./endpoint.ts";
import type { InFlightEntry } from "./in-flight.ts";
import { buildIgnoredFieldsHeader, readRequest } from "./read-request.ts";
import { countRefusedCall, type RefusedCaller } from "./refused-calls.ts";
import { Relay, toNodeSamplingOptions } from "./relay.ts";
import {
  decideEnding,
  type EndingCircumstances,
  isNormalPace,
  isNormalWait,
  type RequestEnding,
} from "./request-endings.ts";
import type { RequestLog } from "./request-log.ts";
import type { AnswerToSpotCheck, RequestPathDependencies } from "./request-path-dependencies.ts";
import { requireSchemaKeywords } from "./schema-support.ts";
import { settleRequest } from "./settle.ts";

/** Serves a request. Throws errors until the reply has started; afterwards it sends them itself. */
export async function serveRequest(gw: RequestPathDependencies, endpoint: Endpoint, call: Call): Promise<void> {
  const entry = gw.inFlight.enter(call.cancelSignal);
  const requestLog = gw.requestLogger.begin(endpoint.name, call);
  const asker: RefusedCaller = { authorization: call.authorization };
  try {
    await answerOne(gw, endpoint, call, { entry, requestLog, asker });
    requestLog.end();
  } catch (error) {
    requestLog.end(error);
    countRefusedCall(gw, asker, error);
    throw error;
  } finally {
    entry.leave();
  }
}

/** The request's entry among those in flight, and its log. */
interface Along {
  entry: InFlightEntry;
  requestLog: RequestLog;
}

async function answerOne(
  gw: RequestPathDependencies,
  endpoint: Endpoint,
  call: Call,
  { entry, requestLog, asker }: Along & { asker: RefusedCaller },
): Promise<void> {
  const waits = gw.requestWaits.begin();
  try {
    const done = await admitAndWork(gw, endpoint, call, { entry, requestLog, asker, waits });
    // Answers last: when the client has the answer, it may send the next request at once, and its limits must be
    // released by then.
    requestLog.step("answer");
    await done.answer();
  } finally {
    waits.end();
  }
}

async function admitAndWork(
  gw: RequestPathDependencies,
  endpoint: Endpoint,
  call: Call,
  { entry, requestLog, asker, waits }: Along & { asker: RefusedCaller; waits: WaitBudget },
): Promise<Done> {
  requestLog.step("authenticate");
  const key = await waits.of(gw.keys.authenticate(call.authorization));
  if (key === undefined) throw fault("invalid_api_key"); // Throws 401.
  requestLog.by(key);
  asker.key = key;
  const caller = { call, key, endpoint: endpoint.name };
  requestLog.step("limits");
  await waits.of(checkDeclaredBodyLength(gw, caller)); // Throws 413.
  const pass = await waits.of(countAgainstKeyLimit(gw, caller), (late) => late.leave(0)); // Throws 429.
  let done = NOTHING_DONE;
  try {
    requestLog.step("credit");
    await waits.of(checkCredit(gw, key)); // Throws 402.
    requestLog.step("read and count");
    const asked = { call, payer: key.accountId, endpoint, allowed: key.models, labels: key.labels };
    const read = await entry.unlessStopped(readRequest(gw, asked)); // Throws 413, 415, 503, 400 or 404.
    const { ask, model, meter, promptTokens } = read;
    requestLog.asked({ model: model.id, stream: ask.stream, promptTokens });
    asker.model = model.id;
    call.reply.setHeaders(buildIgnoredFieldsHeader(ask));
    requireSchemaKeywords(gw.dispatcher, ask, model.id); // Throws 400.
    requestLog.step("model limit");
    // Throws 503 or 429.
    const place = await waits.of(countAgainstModelLimit(gw, caller, model, ask.stream), (late) => late.leave(0));
    try {
      requestLog.step("hold");
      const order = { caller, endpoint, ask, model, meter, promptTokens };
      const holding = placeHold(gw, { call, key, endpoint, ask, model, meter, promptTokens });
      // Prepares the job while the database commits the hold. The job is not offered before that.
      const job = runBeforeNeeded(gw.clock, () => prepareJob(gw, order));
      const hold = await waits.of(holding, ({ id }) => gw.ledger.void(id)); // Throws 402.
      done = await work(gw, { ...order, entry, requestLog, hold, job });
    } finally {
      await waits.cleanup(place.leave(0));
    }
  } finally {
    await waits.cleanup(pass.leave(done.tokens));
  }
  return done;
}

interface Order {
  caller: Caller;
  endpoint: Endpoint;
  ask: CountedRequest;
  model: ActiveModel;
  meter: TokenMeter;
  promptTokens: number;
}

interface Work extends Along, Order {
  hold: PlacedHold;
  job: () => Job;
}

/** The job for a node, and the sink for its output. It is not sent yet. */
interface Job {
  meta: AnswerMeta;
  writer: StreamWriter | null;
  stream: DeltaJoiner | null;
  relay: Relay;
  order: DispatchRequest;
}

function prepareJob(gw: RequestPathDependencies, { caller, endpoint, ask, model, meter, promptTokens }: Order): Job {
  const { call, key } = caller;
  const meta: AnswerMeta = {
    suffix: publicIdSuffix(call.id),
    created: Math.floor(gw.clock.now() / 1000),
    model: model.id,
    reasoningContent: key.reasoningContent,
  };
  const writer = ask.stream && endpoint.stream !== null ? endpoint.stream(meta, ask) : null;
  const outputTokensMax = computeOutputTokensLeft(model, { cap: computeOutputCap(model, ask), promptTokens });
  const { clock } = gw;
  const stream = writer && new DeltaJoiner({ writer, reply: call.reply, clock, perSecondMax: model.speedMax });
  const relay = new Relay({
    model,
    endpoint: endpoint.name,
    meter,
    outputTokensMax,
    vectorsDue: ask.vectorsDue,
    stop: ask.sampling.stop,
    stream,
    // Undefined for keys that opted out of spot checks, so their answers are never drawn.
    draws: key.spotChecks ? (nodeId: string) => gw.checks.draws(nodeId, model.id) : undefined,
  });
  const header = {
    model: model.id,
    endpoint: endpoint.name,
    stream: writer !== null,
    output_tokens_max: outputTokensMax,
    sampling: toNodeSamplingOptions(model, ask.sampling),
  };
  const body = ask.body instanceof Uint8Array ? ask.body : Buffer.from(JSON.stringify(ask.body));
  const origin = { accountId: key.accountId, promptTokens };
  const { formatted, keywords } = ask;
  const order = { request: meta.suffix, header, body, origin, formatted, keywords, proven: !key.spotChecks };
  return { meta, writer, stream, relay, order };
}

/** The result of a request that was settled. */
interface Done {
  /** The number of tokens to count against the key's limit per minute. */
  tokens: number;
  /** Sends the end of the response. Throws the error if no status was sent yet. */
  answer: () => void | Promise<void>;
}

const NOTHING_DONE: Done = { tokens: 0, answer: () => {} };

/** Runs the request, from the hold to the settlement. The hold always ends here. */
async function work(gw: RequestPathDependencies, order: Work): Promise<Done> {
  const { caller, entry, requestLog, endpoint, ask, model, promptTokens, hold, job } = order;
  const { call, key } = caller;
  const letGo = gw.leases.keep(hold.id);
  let settled = false;
  requestLog.step("dispatch and relay");
  try {
    const { meta, writer, stream, relay, order: dispatched } = job();
    if (writer !== null) openStream(call, writer); // From here on, the status is 200.
    const { header } = dispatched;
    const startedAt = gw.clock.monotonic();
    const result = await gw.dispatcher.run(dispatched, relay, entry.signal);
    const end = result.end === "cancelled" && entry.isStopped ? "stopped" : result.end;
    // After a protocol violation, later output is dropped. If the gateway breaks an answer off, only delivered output
    // counts.
    const onlyDelivered = end === "broken" || end === "cut" || end === "stopped";
    const counts = onlyDelivered ? relay.delivered() : relay.end();
    stream?.flush();
    const { reachedClient } = relay;
    const hadOutput = counts.answerTokens + counts.reasoningTokens > 0 || relay.embeddings.length > 0;
    const accepted = result.server !== null;
    const explained =
      end === "cancelled"
        ? explains(gw, model.id, result, { startedAt, promptTokens, counts })
        : { waitExplained: true, paceExplained: true };
    const ending = decideEnding(end, { accepted, hadOutput, reachedClient, ...explained });
    // The gateway's reason if it ended the output, otherwise the node's.
    const finish = relay.cut ?? result.finish ?? "stop";
    requestLog.ended(ending, result, counts);
    const completionTokens = counts.answerTokens + counts.reasoningTokens;
    const thinksApart = model.build.reasoning !== undefined;
    const reasoning = thinksApart ? relay.reasoning : undefined;
    const usage = { promptTokens, completionTokens, reasoningTokens: thinksApart ? counts.reasoningTokens : undefined };
    const answer = { text: relay.text, reasoning, finish, vectors: relay.embeddings, usage } as const;
    requestLog.step("settle");
    const settling = settleRequest(gw, {
      ...{ call, key, endpoint: endpoint.name, model, hold, promptTokens, counts, result, ending, finish },
    });
    // A response in one piece is built while the database commits the settlement, and sent after the commit.
    const isWhole = ending.outcome === "ok" && writer === null && endpoint.parts === undefined;
    const whole = isWhole ? runBeforeNeeded(gw.clock, () => endpoint.whole(meta, answer, ask)) : undefined;
    await settling;
    settled = true;

    if (relay.isDrawn && isChecked(ending, completionTokens))
      gw.checks.check(makeAnswerToSpotCheck(order, relay, { result, header, counts, ending }));
    if (ending.outcome === "ok") {
      const { accountId } = key;
      const { stream, formatted, keywords, sampling, vectorsDue: texts } = ask;
      const outputTokensMax = header.output_tokens_max;
      const request = { accountId, endpoint: endpoint.name, stream, outputTokensMax, sampling, texts };
      const tokens = { prompt: promptTokens, output: completionTokens };
      const hasSchema = keywords.length > 0;
      gw.dispatcher.measured(model.id, result, tokens, { ...request, formatted, hasSchema });
    }
    return {
      tokens: ending.billed === "nothing" ? 0 : promptTokens + completionTokens,
      answer: () => {
        if (ending.fault !== null) return tellFault(call, ending, writer, end === "unbuilt"); // Throws 502 or 503.
        if (ending.outcome !== "ok") return;
        if (writer !== null) return endStream(call, writer, ask, answer);
        if (whole !== undefined) return call.reply.json(200, whole());
        if (endpoint.parts !== undefined) return tellParts(gw, call, endpoint.parts(meta, answer, ask));
      },
    };
  } catch (error) {
    // After an unexpected error, the hold must not stay until its lease expires.
    if (!settled) await gw.ledger.void(hold.id);
    throw error;
  } finally {
    letGo();
  }
}

/** For a client that disconnected: whether the time before the first token, and the pace after it, were normal. */
function explains(
  { clock, dispatcher }: RequestPathDependencies,
  model: string,
  { queueMs, pace }: DispatchResult,
  { startedAt, promptTokens, counts }: { startedAt: number; promptTokens: number; counts: OutputCount },
): Pick<EndingCircumstances, "waitExplained" | "paceExplained"> {
  const usual = dispatcher.speedOf(model);
  const waitedMs = clock.monotonic() - startedAt - (queueMs ?? 0);
  const tokens = counts.answerTokens + counts.reasoningTokens;
  const outputMs = pace === null ? 0 : pace.spanMs - pace.ttftMs;
  return {
    waitExplained: isNormalWait({ waitedMs, promptTokens }, usual),
    // Embeddings have no tokens, and thus no pace.
    paceExplained: tokens === 0 || isNormalPace({ tokens, outputMs }, usual),
  };
}

/**
 * Whether an answer that was drawn for a spot check is really checked. Answers that clients abandoned are included,
 * because junk makes clients disconnect.
 */
const isChecked = ({ outcome, share }: RequestEnding, completionTokens: number): boolean =>
  share === "paid" && (outcome === "ok" || (outcome === "client_closed" && completionTokens > 0));

function makeAnswerToSpotCheck(
  { caller, endpoint, ask, model, promptTokens }: Work,
  relay: Relay,
  {
    result,
    header,
    counts,
    ending,
  }: { result: DispatchResult; header: DispatchRequest["header"]; counts: OutputCount; ending: RequestEnding },
): AnswerToSpotCheck {
  const completionTokens = counts.answerTokens + counts.reasoningTokens;
  return {
    requestId: caller.call.id,
    nodeId: result.server === null ? "" : publicId("node", result.server.nodeId),
    endpoint: endpoint.name,
    model,
    sampling: ask.sampling,
    formatted: ask.formatted,
    body: ask.body,
    // If the client disconnected, it ended the output. The answer must not look as if the node ended it early.
    outputTokensMax: ending.outcome === "ok" ? header.output_tokens_max : completionTokens,
    promptTokens,
    completionTokens,
    text: relay.text,
    reasoning: relay.reasoning,
    vectors: relay.embeddings,
  };
}

function openStream(call: Call, writer: StreamWriter): void {
  call.reply.openStream();
  const opening = writer.open();
  if (opening !== null) call.reply.event(opening);
}

async function tellParts(gw: RequestPathDependencies, call: Call, parts: Iterable<string>): Promise<void> {
  const body = await encodeInSlices(parts, { clock: gw.clock, cancelSignal: call.cancelSignal });
  if (body !== undefined) call.reply.json(200, body);
}

function endStream(
  call: Call,
  writer: StreamWriter,
  ask: CountedRequest,
  answer: Parameters<Endpoint["whole"]>[1],
): void {
  call.reply.event(writer.finish(answer));
  if (ask.includeUsage) call.reply.event(writer.usage(answer.usage));
  call.reply.event("[DONE]");
  call.reply.endStream();
}

/** Throws the error as a status, or sends it as the stream's final event if the stream has started. */
function tellFault(
  call: Call,
  { fault: code, billed }: RequestEnding,
  writer: StreamWriter | null,
  isUnbuilt: boolean,
): void {
  if (code === null) return;
  const failure = fault(code, isUnbuilt ? { message: UNBUILT } : detailsOf(code, billed));
  if (writer === null) throw failure;
  call.reply.failStream(JSON.stringify(failure.body()));
}

const UNBUILT = "The node's engine could not build a grammar from response_format. Nothing is billed.";

function detailsOf(code: FaultCode, billed: RequestEnding["billed"]): Parameters<typeof fault>[1] {
  if (code === "upstream_stall" && billed === "delivered")
    return {
      message: "The platform failed during this response. The prompt and the output delivered so far are billed.",
    };
  // A stall that is not charged has no x-should-retry header, so the client decides whether to retry.
  if (code === "upstream_stall" && billed === "nothing") return { retry: "unsaid" };
  if (code !== "upstream_failed" || billed === "all") return {};
  const cost = billed === "nothing" ? "Nothing is billed." : "The prompt and the output delivered so far are billed.";
  return { message: `The platform lost its connection to the node that served this request. ${cost}` };
}
