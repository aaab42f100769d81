/**
 * One request, top to bottom: authenticate, read and validate, count the prompt, take the hold, dispatch, relay, count
 * the output, settle, answer. Chat, completions and embeddings differ only in the `Endpoint` they bring.
 */
import { suffixOf } from "../base/ids.ts";
import { fault } from "../faults.ts";
import { countPrompt, findModel, outputCap, placeHold } from "./admit.ts";
import type { Call } from "./call.ts";
import { judge } from "./endings.ts";
import type { AnswerMeta, Endpoint } from "./endpoint.ts";
import type { Gateway } from "./gateway.ts";
import { Relay } from "./relay.ts";
import { settle } from "./settle.ts";

/** Throws a fault for every refusal before the reply is committed; afterwards it answers by itself. */
export async function serve(gw: Gateway, endpoint: Endpoint, call: Call): Promise<void> {
  const key = await gw.keys.authenticate(call.authorization);
  if (key === undefined) throw fault("invalid_api_key");
  call.checkDeclaredLength(); // 413
  const ask = endpoint.parse(await call.readJson()); // 413 · 415 · 400
  const model = findModel(gw, ask, endpoint.kind); // 404
  const meter = gw.meter(model.build.tokenizer);
  const promptTokens = await countPrompt(meter, model, ask); // 400
  const hold = await placeHold(gw, { call, key, endpoint, ask, model, meter, promptTokens }); // 402
  const letGo = gw.leases.keep(hold.id);

  const meta: AnswerMeta = { suffix: suffixOf(call.id), created: Math.floor(gw.clock.now() / 1000), model: model.id };
  const writer = ask.stream && endpoint.stream !== null ? endpoint.stream(meta, ask) : null;
  const outputTokensMax = outputCap(model, ask);
  let settled = false;
  try {
    const opening = writer?.open() ?? null;
    if (writer !== null) call.reply.openStream();
    if (opening !== null) call.reply.event(opening);

    const stream = writer === null ? null : { writer, reply: call.reply };
    const vectorsDue = ask.prompt.kind === "texts" ? ask.prompt.texts.length : 0;
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
    const short = result.end === "finished" && relay.embeddings.length < vectorsDue;
    const ending = judge(short ? "failed" : result.end, {
      accepted: result.server !== null,
      hadOutput: relay.hadOutput,
    });
    await settle(gw, { call, key, model, hold, promptTokens, counts, result, ending });
    settled = true;

    if (ending.outcome === "client_closed") return;
    const usage = { promptTokens, completionTokens: counts.answerTokens + counts.reasoningTokens };
    const reasoning = model.build.reasoning === undefined ? undefined : relay.reasoning;
    const finish = result.end === "enough" ? "length" : (result.finish ?? "stop");
    if (ending.fault !== null) {
      const failure = fault(
        ending.fault,
        ending.fault === "upstream_stall" && !ending.billed ? { retry: "unsaid" } : {},
      );
      if (writer === null) throw failure;
      call.reply.event(JSON.stringify(failure.body()));
    } else if (writer === null) {
      const answer = { text: relay.text, reasoning, finish, vectors: relay.embeddings, usage } as const;
      call.reply.json(200, endpoint.whole(meta, answer));
    } else {
      call.reply.event(writer.finish({ finish, reasoning }));
      if (ask.includeUsage) call.reply.event(writer.usage(usage));
      call.reply.event("[DONE]");
    }
    if (writer !== null) call.reply.endStream();
  } catch (error) {
    // A bug on the way must not keep the builder's credit until the lease ends.
    if (!settled) await gw.ledger.void(hold.id);
    throw error;
  } finally {
    letGo();
  }
}
