/**
 * The platform for the client tests. Each client gets its own accounts and keys, so that clients can run concurrently.
 */

import { makeKey, openBuilderAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import { keepModelBusy } from "@tollgate/stage/builder-requests.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { waitForFormatSupport } from "@tollgate/stage/nodes/start-agent.ts";
import { NO_QUARANTINE_OR_PROBATION_ENV, openStage, type ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { ClientConnection } from "./client-interface.ts";

const SERVED = ["tiny-3b", "reason-32b", "embed-m3"];
export const UNSERVED_MODEL = "mid-14b";
const RICH_PICO = 10n ** 15n;
const POOR_PICO = 1_500_000n;
const UNLIMITED = { requests: 1_000_000, inFlight: 1_000, tokens: 1_000_000_000 };
export interface AccountsForClientTests {
  /** A connection with a key of an account that has credit. */
  connection(more?: Partial<ClientConnection>): ClientConnection;
  /**
   * A connection with less credit than a large answer costs. The next three: without credit, with a rate limit of zero,
   * and with an unknown key.
   */
  poor: ClientConnection;
  empty: ClientConnection;
  limited: ClientConnection;
  unknown: ClientConnection;
  /** A key whose limit of one request in flight is used up; `free` ends that request. */
  occupied(): Promise<{ at: ClientConnection; free: () => Promise<void> }>;
  /** The number of recorded requests of this client's accounts, with this outcome if given. */
  requests(outcome?: string): Promise<number>;
  /** Waits until `count` requests with this outcome are recorded. */
  untilRequests(outcome: string, count: number): Promise<void>;
  /** The vectors as the gateway sends them, requested without the client. */
  rawEmbeddings(input: string[]): Promise<number[][]>;
}

export interface ClientPlatform {
  /** Creates the accounts and keys of one client. */
  open(): Promise<AccountsForClientTests>;
  /** Checks the ledger and stops the platform. */
  end(): Promise<void>;
}

export async function openClientPlatform(): Promise<ClientPlatform> {
  const stage = await openStage({
    as: "processes",
    nodes: [{ models: SERVED, slots: 64 }],
    env: NO_QUARANTINE_OR_PROBATION_ENV,
  });
  const { key } = await stage.builder();
  await waitForFormatSupport({ ready: { gateway_url: stage.baseUrl, api_key: key } }, "tiny-3b");
  return {
    open: () => makeWorld(stage),
    async end() {
      try {
        await stage.noHolds();
        await assertBalanced(stage);
      } finally {
        await stage.close();
      }
    },
  };
}

async function makeWorld(stage: ProcessStage): Promise<AccountsForClientTests> {
  const { query, baseUrl } = stage;
  const baseURL = `${baseUrl}/v1`;
  const at = (apiKey: string): ClientConnection => ({ baseURL, apiKey, maxRetries: 0 });
  const rich = await openBuilderAccount(query, RICH_PICO);
  const keyOf = async (account: string, traits: object): Promise<ClientConnection> =>
    at((await makeKey(query, account, traits)).token);
  const plain = await keyOf(rich, UNLIMITED);
  const [poor, empty, limited] = [
    await keyOf(await openBuilderAccount(query, POOR_PICO), UNLIMITED),
    await keyOf(await openBuilderAccount(query, 0n), UNLIMITED),
    await keyOf(rich, { requests: 0 }),
  ];
  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${baseURL}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${plain.apiKey}` },
      body: JSON.stringify(body),
    });
  const requests = async (outcome?: string): Promise<number> => {
    const sql = "select r.id from request r join api_key k on k.id = r.key_id where k.account_id = $1";
    const rows = outcome ? await query(`${sql} and r.outcome = $2`, [rich, outcome]) : await query(sql, [rich]);
    return rows.length;
  };
  return {
    connection: (more = {}) => ({ ...plain, ...more }),
    poor,
    empty,
    limited,
    unknown: at(`tsk_live_${"a".repeat(12)}_${"b".repeat(43)}`),
    occupied: async () => {
      const { token } = await makeKey(query, rich, { inFlight: 1 });
      const free = await keepModelBusy({ ready: { gateway_url: baseUrl, api_key: token } }, "tiny-3b");
      return { at: at(token), free };
    },
    requests,
    untilRequests: async (outcome, count) => {
      await eventually(`${count} requests end as ${outcome}`, async () => (await requests(outcome)) >= count);
    },
    rawEmbeddings: async (input) => {
      const { data } = (await (await post("/embeddings", { model: "embed-m3", input })).json()) as {
        data: { embedding: number[] }[];
      };
      return data.map(({ embedding }) => embedding);
    },
  };
}
