/** The steps between a parsed request and its dispatch: find the model, count the prompt's tokens, size the hold. */
import type { Uuid } from "../base/ids.ts";
import { ceilMicro, type Pico, pico, roundDownToMicro, ZERO } from "../base/money.ts";
import { fault, invalidRequest, modelNotFound } from "../faults.ts";
import type { KeyHolder } from "../keys/secret-store.ts";
import { computeHoldAmount } from "../ledger/request-costs.ts";
import type { ActiveModel, ModelForTokenCounting } from "../metering/catalogue.ts";
import type { TokenMeter } from "../metering/token-meter.ts";
import { PoolBusyError } from "../metering/worker-pool.ts";
import type { Call } from "./call-interface.ts";
import { refuseManySpecialTokens, refusePadding } from "./costly-prompts.ts";
import type { Endpoint, ParsedRequest } from "./endpoint.ts";
import { refuseLongCharacterRuns } from "./long-character-runs.ts";
import type { RequestPathDependencies } from "./request-path-dependencies.ts";

export function findModel<Model extends ModelForTokenCounting>(
  { active }: { active: Map<string, Model> },
  ask: Pick<ParsedRequest, "model">,
  { kind, allowed }: { kind: Endpoint["kind"]; allowed: readonly string[] | null },
): Model {
  const model = active.get(ask.model);
  const isAllowed = allowed === null || allowed.includes(ask.model);
  if (model === undefined || model.kind !== kind || !isAllowed) throw modelNotFound(ask.model);
  return model;
}

/**
 * Counts the prompt's tokens. Throws a 400 for a prompt that costs engines more than its tokens say
 * (long-character-runs.ts, costly-prompts.ts), for one that leaves no room for an output token, or for an input too long
 * to embed.
 */
export async function countPromptTokens(
  meter: TokenMeter,
  model: ModelForTokenCounting,
  ask: ParsedRequest,
  payer?: string,
): Promise<number> {
  refuseLongCharacterRuns(ask);
  refuseManySpecialTokens(ask);
  const tokensMax = model.kind === "embedding" ? model.contextLimit : model.contextLimit - 1;
  const { tokens, over } = await meter.countPrompt(ask.prompt, tokensMax, payer).catch(notCounted);
  if (over === null) {
    refusePadding(ask, tokens);
    return tokens;
  }
  const { promptField } = ask;
  const field = ask.prompt.kind === "texts" && ask.prompt.texts.length > 1 ? `input[${over.index}]` : promptField;
  throw invalidRequest(field, tooLong(model, promptField, over));
}

/** More long prompts wait than the workers can count. The client may retry, as it may when no node is free. */
function notCounted(cause: unknown): never {
  throw cause instanceof PoolBusyError ? fault("no_capacity", { cause }) : cause;
}

/**
 * Client libraries search for parts of this text, such as "maximum context length" or "context_length_exceeded", and
 * then shorten the prompt (admit.test.ts lists these parts). Some read the number after "resulted in". It may be a
 * lower bound, because counting stops well above the limit.
 */
function tooLong(
  { contextLimit }: ModelForTokenCounting,
  field: string,
  over: { tokens: number; isExact: boolean },
): string {
  const counted = `${over.tokens} tokens${over.isExact ? "" : " or more"}`;
  const room = over.tokens > contextLimit ? "" : ", to leave room for one token of output";
  return (
    `This model's maximum context length is ${contextLimit} tokens. However, your ${field} resulted in ${counted}. ` +
    `Please reduce the length of the ${field}${room} (context_length_exceeded).`
  );
}

/**
 * The number of output tokens that a hold covers: the client's maximum or the context limit, whichever is smaller.
 * Embeddings have no output.
 */
export function computeOutputCap(model: ActiveModel, ask: Pick<ParsedRequest, "outputTokensMax">): number {
  return model.kind === "embedding" ? 0 : Math.min(ask.outputTokensMax ?? model.contextLimit, model.contextLimit);
}

/** The number of output tokens that the model's context limit leaves after the prompt, at most `cap`. */
export function computeOutputTokensLeft(
  model: ActiveModel,
  { cap, promptTokens }: { cap: number; promptTokens: number },
): number {
  return Math.max(0, Math.min(cap, model.contextLimit - promptTokens));
}

export interface PlacedHold {
  id: Uuid;
  amount: Pico;
}

export async function placeHold(
  gw: RequestPathDependencies,
  parts: {
    call: Call;
    key: KeyHolder;
    endpoint: Endpoint;
    ask: Pick<ParsedRequest, "stream" | "outputTokensMax" | "label">;
    model: ActiveModel;
    meter: TokenMeter;
    promptTokens: number;
  },
): Promise<PlacedHold> {
  const { call, key, endpoint, ask, model, meter, promptTokens } = parts;
  const amount = computeHoldAmount(model.prices, { prompt: promptTokens, outputMax: computeOutputCap(model, ask) });
  const outcome = await gw.ledger.hold({
    id: call.id,
    accountId: key.accountId,
    amount,
    keyId: key.id,
    keyName: key.name,
    endpoint: endpoint.name,
    model: model.id,
    build: model.build.id,
    tokenizer: `${meter.tokenizer}:${meter.tokenizerSha256}`,
    stream: ask.stream,
    promptTokens,
    priceVersion: model.priceVersion,
    client: call.client,
    label: ask.label,
  });
  if (outcome.kind === "held") return { id: call.id, amount };
  if (outcome.kind === "ended") throw new Error(`request ID ${call.id} was used before`);
  gw.unfunded.count(key, outcome);
  if (outcome.kind === "no_credit") throw fault("insufficient_credits");
  // The balance minus other requests' holds may be negative, which is shown as zero.
  const available = outcome.available > 0n ? outcome.available : ZERO;
  const extra = {
    required_micro: Number(ceilMicro(amount)),
    available_micro: Number(roundDownToMicro(pico(available))),
  };
  const remedy = computeOutputCap(model, ask) > 0 ? "Lower max_tokens" : "Send less input";
  const message =
    outcome.kind === "exceeds_balance" ? overBalance(extra, remedy) : overBudget(key.name, outcome.of, extra, remedy);
  throw fault("hold_exceeds_balance", { extra, message });
}

interface HoldAmounts {
  required_micro: number;
  available_micro: number;
}

/** `remedy` says how to make the request cheaper. An embedding, for example, has no output to limit. */
const overBalance = ({ required_micro: required, available_micro: available }: HoldAmounts, remedy: string): string =>
  `This request needs a hold of ${required} microdollars, and your available balance is ${available}. ${remedy} or add credits.`;

/** The message is for the key's owner, who set the budget and can change it. */
function overBudget(
  keyName: string,
  of: "day" | "month",
  { required_micro: required, available_micro: left }: HoldAmounts,
  remedy: string,
): string {
  const budget = of === "day" ? "daily budget" : "monthly budget";
  return (
    `The ${budget} of the API key "${keyName}" does not cover this request: it can cost up to ${required} microdollars, ` +
    `and the budget has ${left} left until the ${of} ends (UTC). Raise the key's ${budget}, or ${remedy.toLowerCase()}.`
  );
}
