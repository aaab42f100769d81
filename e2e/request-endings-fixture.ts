/** For tests of endings: two nodes of one host, requests to them, and what each request cost and earned. */
import assert from "node:assert/strict";
import {
  type BuilderAccount,
  DEFAULT_CREDIT_PICO,
  type HostAccount,
} from "@tollgate/stage/builder-and-host-accounts.ts";
import { makeScriptPrompt, sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import type { RequestRecordRow } from "@tollgate/stage/ledger-check.ts";
import { callNodeApi } from "@tollgate/stage/nodes/hand-made-node.ts";
import { readText } from "@tollgate/stage/raw-http.ts";
import type { InProcessStage } from "@tollgate/stage/stage.ts";
import { computeHostShare } from "../gateway/src/base/testing.ts";

/** Prices of the model tiny-3b in picodollars per token. */
export const TOKEN_PRICES = { in: 20_000n, out: 40_000n };
export const NODE_SLOTS = 8;

interface NodeStats {
  busy: number;
  reliability: { failures: number };
}

/** A request that ended: its answer, its record, what the builder paid, and what the host earned or would have. */
interface Ending {
  response: Response;
  text: string;
  record: RequestRecordRow;
  paid: bigint;
  earned: bigint;
  share: { reason: string; amount: string; host: string } | undefined;
  host: HostAccount;
}

export interface RequestEndingsFixture {
  builder: BuilderAccount;
  post(orders: object, more?: object, signal?: AbortSignal): Promise<Response>;
  /** Sends a new builder's request and waits for its end. */
  ending(orders: object, more?: object): Promise<Ending>;
  /** Calls the node API as the host of both nodes. */
  node<T>(method: string, path?: string): Promise<T>;
  nodes(): Promise<{ id: string; state: string }[]>;
  stats(): Promise<NodeStats[]>;
  /** The number of failures in the reliability figures of both nodes. */
  failures(): Promise<number>;
}

export async function openRequestEndingsFixture(stage: InProcessStage): Promise<RequestEndingsFixture> {
  const [builder, host] = [await stage.builder(), await stage.host()];
  for (let i = 0; i < 2; i++) await stage.node({ models: ["tiny-3b", "embed-m3"], slots: NODE_SLOTS, host });
  const node = async <T>(method: string, path = ""): Promise<T> => {
    const { status, body } = await callNodeApi<T>(stage, host.token, method, `/nodes${path}`);
    assert.equal(status, 200, `${method} ${path}`);
    return body;
  };
  const nodes = async (): Promise<{ id: string; state: string }[]> =>
    (await node<{ data: { id: string; state: string }[] }>("GET")).data;
  const stats = (): Promise<NodeStats[]> =>
    nodes().then((all) => Promise.all(all.map(({ id }) => node<NodeStats>("GET", `/${id}/stats`))));
  return {
    builder,
    post: (orders, more = {}, signal) =>
      sendUserMessage(stage, builder.key, { model: "tiny-3b", prompt: makeScriptPrompt(orders), ...more }, signal),
    async ending(orders, more = {}) {
      const payer = await stage.builder();
      const prompt = makeScriptPrompt(orders);
      const response = await sendUserMessage(stage, payer.key, { model: "tiny-3b", prompt, ...more });
      const text = await readText(response);
      const record = await stage.record(response);
      assert.ok(record);
      const paid = DEFAULT_CREDIT_PICO - (await stage.balance(payer.account));
      const [entry] = await stage.query<{ earned: string }>(
        "select coalesce(sum(amount), 0) as earned from ledger_entry where operation = $1 and account_id = $2",
        [record.id, host.account],
      );
      const [share] = await stage.query<{ reason: string; amount: string; host: string }>(
        "select reason, amount_pico as amount, host_account_id as host from withheld_share where request_id = $1",
        [record.id],
      );
      return { response, text, record, paid, earned: BigInt(entry?.earned ?? 0), share, host };
    },
    node,
    nodes,
    stats,
    failures: async () => (await stats()).reduce((sum, { reliability }) => sum + reliability.failures, 0),
  };
}

/** The price of the request's tokens. */
export const computePriceOfRequest = (record: RequestRecordRow): bigint =>
  BigInt(record.prompt_tokens) * TOKEN_PRICES.in + BigInt(record.completion_tokens) * TOKEN_PRICES.out;

export function assertBilled({ record, paid, earned, share }: Ending): void {
  assert.equal(paid, computePriceOfRequest(record));
  assert.equal(BigInt(record.charge_pico), paid);
  assert.equal(earned, computeHostShare(paid));
  assert.equal(share, undefined);
}

export function assertFree({ record, paid, earned, share }: Ending): void {
  assert.deepEqual([paid, earned, record.charge_pico, share], [0n, 0n, "0", undefined]);
}

/** Asserts that everything the builder paid went to the platform. */
export function assertHostUnpaid({ record, paid, earned }: Ending): void {
  assert.equal(paid, computePriceOfRequest(record));
  assert.deepEqual([BigInt(record.charge_pico), earned, record.host_account_id], [paid, 0n, null]);
  assert.notEqual(record.node_id, null, "who served it stays on the record");
}

/** Asserts that the host's share is in the reserve, with the reason. */
export function assertWithheld(end: Ending, reason: string): void {
  assertHostUnpaid(end);
  const { share, paid, host } = end;
  assert.deepEqual(
    [share?.reason, share?.host, BigInt(share?.amount ?? 0)],
    [reason, host.account, computeHostShare(paid)],
  );
}

/** The error code in the JSON body or event of a failed request. */
export const readErrorCode = (text: string): string => (JSON.parse(text) as { error: { code: string } }).error.code;
