/** For tests: inserts past requests, through the ledger and the history of refusals, as the gateway does. */
import assert from "node:assert/strict";
import { systemClock } from "../../base/clock.ts";
import { newIds, type Uuid } from "../../base/ids.ts";
import { type Pico, pico } from "../../base/money.ts";
import { systemRandom } from "../../base/random.ts";
import type { LimitOutcome, RequestOutcome, SpotCheckVerdict, WithheldReason } from "../../base/stored-enumerations.ts";
import { openRateLimitedRequestRecords } from "../../history/rate-limited-request-records.ts";
import type { TestPlatform } from "./platform.ts";

interface PastRequest {
  accountId: Uuid;
  keyId?: Uuid;
  keyName?: string;
  model?: string;
  outcome?: string;
  at?: Date;
  hold?: bigint;
  charge?: bigint;
  promptTokens?: number;
  completionTokens?: number;
  host?: { accountId: Uuid; nodeId: Uuid };
  /** Why the host's share was withheld. */
  withheld?: WithheldReason;
  /** The node that accepted the request, but failed and so was not paid. */
  failedAt?: Uuid;
  client?: string;
  label?: string;
}

/** Inserts a request with its hold and its settlement. */
export async function insertServedRequest({ ledger }: TestPlatform, request: PastRequest): Promise<Uuid> {
  const { accountId, at = new Date(), charge = 0n, hold = charge, host, keyId = accountId } = request;
  const id = newIdAt(at);
  const { keyName = "a key", model = "tiny-3b", client = "openai-js", outcome = "ok" } = request;
  const { promptTokens = 3, completionTokens = 5 } = request;
  const held = await ledger.hold({
    id,
    accountId,
    amount: pico(hold),
    keyId,
    keyName,
    endpoint: "chat",
    model,
    build: "a build",
    tokenizer: "a tokenizer",
    stream: false,
    promptTokens,
    priceVersion: 1,
    client,
    label: request.label ?? null,
  });
  assert.deepEqual(held, { kind: "held" });
  const settled = await ledger.settle({
    id,
    accountId,
    nodeId: host?.nodeId ?? request.failedAt ?? null,
    paidHostId: request.withheld === undefined ? (host?.accountId ?? null) : null,
    ...(request.withheld !== undefined && host && { withheld: { hostId: host.accountId, reason: request.withheld } }),
    charge: charge as Pico,
    outcome: outcome as RequestOutcome,
    httpStatus: outcome === "ok" ? 200 : 502,
    finishReason: outcome === "ok" ? "stop" : null,
    completionTokens,
    reasoningTokens: 1,
    attempts: 1,
    queueMs: 2,
    ttftMs: 30,
    durationMs: 400,
  });
  assert.equal(settled, "settled");
  return id;
}

/** Inserts a spot check of the node's answer. The node is its own verifier, which no test reads. */
export async function insertSpotCheck(
  { pool, newId }: TestPlatform,
  { nodeId, verdict, score }: { nodeId: Uuid; verdict: SpotCheckVerdict | "trap_seen"; score: number | null },
): Promise<Uuid> {
  const requestId = newId();
  await pool.query(
    `insert into spot_check (id, request_id, node_id, verifier_id, model, method, class, mean, tokens, verdict, calibrates, read_tokens,
                             cost_pico, at)
     values ($1, $2, $3, $3, 'tiny-3b', 'text', 'warm-long', $5, 20, $4, false, 40, 1500000, now())`,
    [newId(), requestId, nodeId, verdict, score],
  );
  return requestId;
}

/** Inserts a request that a limit refused before its model was known. */
export async function insertRefusedRequest({ pool }: TestPlatform, request: PastRequest): Promise<Uuid> {
  const { accountId, at = new Date(), keyId = accountId, keyName = "a key", client = "" } = request;
  const id = newIdAt(at);
  await openRateLimitedRequestRecords({ pool, clock: systemClock }).record({
    id,
    accountId,
    keyId,
    keyName,
    endpoint: "chat",
    model: null,
    stream: null,
    outcome: (request.outcome as LimitOutcome | undefined) ?? "rate_limit_requests",
    httpStatus: 429,
    client,
  });
  return id;
}

/** A request ID with this time, because IDs contain the time. */
const newIdAt = (at: Date): Uuid => newIds({ ...systemClock, now: () => at.getTime() }, systemRandom())();
