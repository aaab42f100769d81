/**
 * One request, top to bottom: authenticate, limits, credit, read and validate, count the prompt, take the hold, dispatch,
 * relay, count the output, settle, release the limits, answer. Chat, completions and embeddings differ only in the
 * `Endpoint` they bring. The order of the refusals is part of the contract.
 */
import { suffixOf } from "../base/ids.ts";
import { fault } from "../faults.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import type { Meter } from "../metering/meter.ts";
import { type Hold, outputCap, placeHold } from "./admit.ts";
import type { Call } from "./call.ts";
import { type Ending, judge } from "./endings.ts";
import type { AnswerMeta, Endpoint, StreamWriter } from "./endpoint.ts";
import { checkCredit, checkLength, enterKey, enterModel, type Visitor } from "./gate.ts";
import type { Gateway } from "./gateway.ts";
import { readAsk } from "./read.ts";
import type { ReadAsk } from "./reader.ts";
import { Relay } from "./relay.ts";
import { settle } from "./settle.ts";

/** Throws a fault for every refusal before the reply is committed; afterwards it answers by itself. */
export async function serve(gw: Gateway, endpoint: Endpoint, call: Call): Promise<void> {
  const key = await gw.keys.authenticate(call.authorization);
  if (key === undefined) throw fault("invalid_api_key"); // 401
  const visitor = { call, key, endpoint: endpoint.name };
  await checkLength(gw, visitor); // 413
  const pass = await enterKey(gw, visitor); // 429
  let done: Done = { tokens: 0, answer: () => {} };
  try {
    await checkCredit(gw, key); // 402
    const read = await readAsk(gw, { call, payer: key.accountId, endpoint }); // 413 · 415 · 503 · 400 · 404
    const { ask, model, meter, promptTokens } = read;
    const place = await enterModel(gw, visitor, model, ask.stream); // 429
    try {
      const hold = await placeHold(gw, { call, key, endpoint, ask, model, meter, promptTokens }); // 402
      done = await work(gw, { visitor, endpoint, ask, model, meter, promptTokens, hold });
    } finally {
      await place.leave(0);
    }
  } finally {
    await pass.leave(done.tokens);
  }
  // Last: who has its answer may send the next request at once, and must find its slot free and its tokens counted.
  done.answer();
}

interface Work {
  visitor: Visitor;
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
  answer: () => void;
}

/** From the hold to the settled ending. The hold ends here, whatever happens. */
async function work(gw: Gateway, { visitor, endpoint, ask, model, meter, promptTokens, hold }: Work): Promise<Done> {
  const { call, key } = visitor;
  const meta: AnswerMeta = { suffix: suffixOf(call.id), created: Math.floor(gw.clock.now() / 1000), model: model.id };
  const writer = ask.stream && endpoint.stream !== null ? endpoint.stream(meta, ask) : null;
  const letGo = gw.leases.keep(hold.id);
  let settled = false;
  try {
    if (writer !== null) openStream(call, writer); // HTTP 200 is committed here
    const outputTokensMax = outputCap(model, ask);
    const { vectorsDue } = ask;
    const stream = writer === null ? null : { writer, reply: call.reply };
    const relay = new Relay({ model, meter, outputTokensMax, vectorsDue, stream });
    const header = {
      model: model.id,
      endpoint: endpoint.name,
      stream: writer !== null,
      output_tokens_max: outputTokensMax,
      sampling: ask.sampling,
    };
    const result = await gw.dispatcher.run({ request: meta.suffix, header, body: ask.body }, relay, call.gone);
    const counts = relay.end();
    // A node that says it is done without the vectors it owed has failed.
    const end = result.end === "finished" && relay.embeddings.length < vectorsDue ? "failed" : result.end;
    const ending = judge(end, { accepted: result.server !== null, hadOutput: relay.hadOutput });
    await settle(gw, { call, key, endpoint: endpoint.name, model, hold, promptTokens, counts, result, ending });
    settled = true;

    const completionTokens = counts.answerTokens + counts.reasoningTokens;
    if (ending.outcome === "ok")
      gw.dispatcher.measured(model.id, result, { prompt: promptTokens, output: completionTokens });
    const reasoning = model.build.reasoning === undefined ? undefined : relay.reasoning;
    const finish = result.end === "enough" ? "length" : (result.finish ?? "stop");
    const usage = { promptTokens, completionTokens };
    const answer = { text: relay.text, reasoning, finish, vectors: relay.embeddings, usage } as const;
    return {
      tokens: ending.billed ? promptTokens + completionTokens : 0,
      answer: () => {
        if (ending.fault !== null)
          tellFault(call, ending, writer); // 502 · 503
        else if (ending.outcome === "ok" && writer === null) call.reply.json(200, endpoint.whole(meta, answer, ask));
        else if (ending.outcome === "ok" && writer !== null) endStream(call, writer, ask, answer);
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

function openStream(call: Call, writer: StreamWriter): void {
  call.reply.openStream();
  const opening = writer.open();
  if (opening !== null) call.reply.event(opening);
}

function endStream(call: Call, writer: StreamWriter, ask: ReadAsk, answer: Parameters<Endpoint["whole"]>[1]): void {
  call.reply.event(writer.finish(answer));
  if (ask.includeUsage) call.reply.event(writer.usage(answer.usage));
  call.reply.event("[DONE]");
  call.reply.endStream();
}

/** As a status, or, where the status is gone, as the stream's terminal event. */
function tellFault(call: Call, { fault: code, billed }: Ending, writer: StreamWriter | null): void {
  if (code === null) return;
  // Silence that cost nothing may be tried again; the client decides.
  const failure = fault(code, code === "upstream_stall" && !billed ? { retry: "unsaid" } : {});
  if (writer === null) throw failure;
  call.reply.event(JSON.stringify(failure.body()));
  call.reply.endStream();
}
