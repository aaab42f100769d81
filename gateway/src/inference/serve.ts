/**
 * One request, top to bottom: authenticate, limits, credit, read and validate, count the prompt, take the hold, dispatch,
 * relay, count the output, settle, release the limits, answer. Chat, completions and embeddings differ only in the
 * `Endpoint` they bring. The order of the refusals is part of the contract.
 */
import { suffixOf } from "../base/ids.ts";
import type { DispatchResult } from "../dispatch/dispatcher.ts";
import type { DispatchOrder } from "../dispatch/order.ts";
import { type FaultCode, fault } from "../faults.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import type { Meter, OutputCount } from "../metering/meter.ts";
import { type Hold, outputCap, outputRoom, placeHold } from "./admit.ts";
import type { Call, ReadAsk } from "./call.ts";
import { DeltaJoiner } from "./delta-joiner.ts";
import { type Ending, explainsWait, judge } from "./endings.ts";
import type { AnswerMeta, Endpoint, StreamWriter } from "./endpoint.ts";
import { type Caller, checkCredit, checkLength, enterKey, enterModel } from "./gate.ts";
import type { DrawnAnswer, Gateway } from "./gateway.ts";
import { ignoredHeaders, readAsk } from "./read.ts";
import { nodeSampling, Relay } from "./relay.ts";
import { requireKeywords } from "./schema-support.ts";
import { settle } from "./settle.ts";
import { bytesOf } from "./slices.ts";
import type { Story } from "./story.ts";
import type { Stay } from "./under-way.ts";

/** Throws a fault for every refusal before the reply is committed; afterwards it answers by itself. */
export async function serve(gw: Gateway, endpoint: Endpoint, call: Call): Promise<void> {
  const stay = gw.underWay.enter(call.gone);
  const story = gw.telling.begin(endpoint.name, call);
  try {
    await answerOne(gw, endpoint, call, { stay, story });
    story.end();
  } catch (error) {
    story.end(error);
    throw error;
  } finally {
    stay.leave();
  }
}

/** What goes along with a request: its place among those under way, and what operators are told of it. */
interface Along {
  stay: Stay;
  story: Story;
}

async function answerOne(gw: Gateway, endpoint: Endpoint, call: Call, { stay, story }: Along): Promise<void> {
  story.step("authenticate");
  const key = await gw.keys.authenticate(call.authorization);
  if (key === undefined) throw fault("invalid_api_key"); // 401
  story.by(key);
  const caller = { call, key, endpoint: endpoint.name };
  story.step("limits");
  await checkLength(gw, caller); // 413
  const pass = await enterKey(gw, caller); // 429
  let done = NOTHING_DONE;
  try {
    story.step("credit");
    await checkCredit(gw, key); // 402
    story.step("read and count");
    const asked = { call, payer: key.accountId, endpoint, allowed: key.models, labels: key.labels };
    const read = await stay.unlessStopped(readAsk(gw, asked)); // 413 · 415 · 503 · 400 · 404
    const { ask, model, meter, promptTokens } = read;
    story.asked({ model: model.id, stream: ask.stream, promptTokens });
    call.reply.setHeaders(ignoredHeaders(ask));
    requireKeywords(gw.dispatcher, ask, model.id); // 400
    story.step("model limit");
    const place = await enterModel(gw, caller, model, ask.stream); // 503 · 429
    try {
      story.step("hold");
      const hold = await placeHold(gw, { call, key, endpoint, ask, model, meter, promptTokens }); // 402
      done = await work(gw, { caller, stay, story, endpoint, ask, model, meter, promptTokens, hold });
    } finally {
      await place.leave(0);
    }
  } finally {
    await pass.leave(done.tokens);
  }
  // Last: who has its answer may send the next request at once, and must find its slot free and its tokens counted.
  story.step("answer");
  await done.answer();
}

interface Work extends Along {
  caller: Caller;
  endpoint: Endpoint;
  ask: ReadAsk;
  model: ActiveModel;
  meter: Meter;
  promptTokens: number;
  hold: Hold;
}

/** A request whose books are closed. */
interface Done {
  /** What counts against the key's minute. */
  tokens: number;
  /** Says the last that the client is told. Throws the fault of an ending that still has a status to tell it by. */
  answer: () => void | Promise<void>;
}

const NOTHING_DONE: Done = { tokens: 0, answer: () => {} };

/** From the hold to the settled ending. The hold ends here, whatever happens. */
async function work(gw: Gateway, order: Work): Promise<Done> {
  const { caller, stay, story, endpoint, ask, model, meter, promptTokens, hold } = order;
  const { call, key } = caller;
  const meta: AnswerMeta = {
    suffix: suffixOf(call.id),
    created: Math.floor(gw.clock.now() / 1000),
    model: model.id,
    reasoningContent: key.reasoningContent,
  };
  const writer = ask.stream && endpoint.stream !== null ? endpoint.stream(meta, ask) : null;
  const letGo = gw.leases.keep(hold.id);
  let settled = false;
  story.step("dispatch and relay");
  try {
    if (writer !== null) openStream(call, writer); // HTTP 200 is committed here
    const outputTokensMax = outputRoom(model, { cap: outputCap(model, ask), promptTokens });
    const { vectorsDue } = ask;
    const { clock } = gw;
    const stream = writer && new DeltaJoiner({ writer, reply: call.reply, clock, perSecondMax: model.speedMax });
    // The only cost of checks to a request that is not drawn: one random number.
    const draws = key.spotChecks ? (nodeId: string) => gw.checks.draws(nodeId) : undefined;
    const { stop } = ask.sampling;
    const relay = new Relay({
      model,
      endpoint: endpoint.name,
      meter,
      outputTokensMax,
      vectorsDue,
      stop,
      stream,
      draws,
    });
    const header = {
      model: model.id,
      endpoint: endpoint.name,
      stream: writer !== null,
      output_tokens_max: outputTokensMax,
      sampling: nodeSampling(model, ask.sampling),
    };
    const origin = { accountId: key.accountId, promptTokens };
    const startedAt = gw.clock.monotonic();
    const result = await gw.dispatcher.run(
      {
        ...{ request: meta.suffix, header, body: ask.body, origin },
        ...{ formatted: ask.formatted, keywords: ask.keywords, proven: !key.spotChecks },
      },
      relay,
      stay.signal,
    );
    const end = result.end === "cancelled" && stay.isStopped ? "stopped" : result.end;
    // What a broken node gave last is not let through any more; of an answer that we break off, only what went out counts.
    const onlyDelivered = end === "broken" || end === "cut" || end === "stopped";
    const counts = onlyDelivered ? relay.delivered() : relay.end();
    stream?.flush();
    const { reachedClient } = relay;
    const hadOutput = counts.answerTokens + counts.reasoningTokens > 0 || relay.embeddings.length > 0;
    const accepted = result.server !== null;
    const waitedMs = gw.clock.monotonic() - startedAt - (result.queueMs ?? 0);
    const waitExplained =
      end !== "cancelled" || hadOutput || explainsWait({ waitedMs, promptTokens }, gw.dispatcher.speedOf(model.id));
    const ending = judge(end, { accepted, hadOutput, reachedClient, waitExplained });
    // What the gateway cut it ended itself; all else is the node's to say.
    const finish = relay.cut ?? result.finish ?? "stop";
    story.ended(ending, result, counts);
    story.step("settle");
    await settle(gw, { call, key, endpoint: endpoint.name, model, hold, promptTokens, counts, result, ending, finish });
    settled = true;

    const completionTokens = counts.answerTokens + counts.reasoningTokens;
    if (ending.outcome === "ok") {
      if (relay.isDrawn) gw.checks.check(drawnAnswer(order, relay, { result, header, counts }));
      const { accountId } = key;
      const { stream, formatted, sampling } = ask;
      const request = { accountId, endpoint: endpoint.name, stream, outputTokensMax, formatted };
      const shape = { ...request, temperature: sampling.temperature };
      gw.dispatcher.measured(model.id, result, { prompt: promptTokens, output: completionTokens }, shape);
    }
    const thinksApart = model.build.reasoning !== undefined;
    const reasoning = thinksApart ? relay.reasoning : undefined;
    const usage = { promptTokens, completionTokens, reasoningTokens: thinksApart ? counts.reasoningTokens : undefined };
    const answer = { text: relay.text, reasoning, finish, vectors: relay.embeddings, usage } as const;
    return {
      tokens: ending.billed === "nothing" ? 0 : promptTokens + completionTokens,
      answer: () => {
        if (ending.fault !== null) return tellFault(call, ending, writer, end === "unbuilt"); // 502 · 503
        if (ending.outcome !== "ok") return;
        if (writer !== null) return endStream(call, writer, ask, answer);
        return tellWhole(gw, endpoint, call, meta, answer, ask);
      },
    };
  } catch (error) {
    // A bug on the way must not keep the builder's credit until the lease ends.
    if (!settled) await gw.ledger.void(hold.id);
    throw error;
  } finally {
    letGo();
  }
}

function drawnAnswer(
  { caller, endpoint, ask, model, promptTokens }: Work,
  relay: Relay,
  { result, header, counts }: { result: DispatchResult; header: DispatchOrder["header"]; counts: OutputCount },
): DrawnAnswer {
  return {
    requestId: caller.call.id,
    nodeId: result.pace?.nodeId ?? "",
    endpoint: endpoint.name,
    model,
    sampling: ask.sampling,
    formatted: ask.formatted,
    body: ask.body,
    outputTokensMax: header.output_tokens_max,
    promptTokens,
    completionTokens: counts.answerTokens + counts.reasoningTokens,
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

function tellWhole(
  gw: Gateway,
  endpoint: Endpoint,
  call: Call,
  ...told: Parameters<Endpoint["whole"]>
): void | Promise<void> {
  if (endpoint.parts !== undefined) return tellParts(gw, call, endpoint.parts(...told));
  call.reply.json(200, endpoint.whole(...told));
}

async function tellParts(gw: Gateway, call: Call, parts: Iterable<string>): Promise<void> {
  const body = await bytesOf(parts, { clock: gw.clock, gone: call.gone });
  if (body !== undefined) call.reply.json(200, body);
}

function endStream(call: Call, writer: StreamWriter, ask: ReadAsk, answer: Parameters<Endpoint["whole"]>[1]): void {
  call.reply.event(writer.finish(answer));
  if (ask.includeUsage) call.reply.event(writer.usage(answer.usage));
  call.reply.event("[DONE]");
  call.reply.endStream();
}

/** As a status, or, where the status is gone, as the stream's terminal event. */
function tellFault(call: Call, { fault: code, billed }: Ending, writer: StreamWriter | null, isUnbuilt: boolean): void {
  if (code === null) return;
  const failure = fault(code, isUnbuilt ? { message: UNBUILT } : detailsOf(code, billed));
  if (writer === null) throw failure;
  call.reply.failStream(JSON.stringify(failure.body()));
}

const UNBUILT = "The node's engine could not build a grammar from response_format. Nothing is billed.";

function detailsOf(code: FaultCode, billed: Ending["billed"]): Parameters<typeof fault>[1] {
  if (code === "upstream_stall" && billed === "delivered")
    return {
      message: "The platform failed during this response. The prompt and the output delivered so far are billed.",
    };
  // Silence that cost nothing may be tried again; the client decides.
  if (code === "upstream_stall" && billed === "nothing") return { retry: "unsaid" };
  if (code !== "upstream_failed" || billed === "all") return {};
  const cost = billed === "nothing" ? "Nothing is billed." : "The prompt and the output delivered so far are billed.";
  return { message: `The platform lost its connection to the node that served this request. ${cost}` };
}
