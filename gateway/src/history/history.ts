/** The record of requests, for reading. Records are written by the settlement, in its transaction. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";

export interface RequestRecord {
  id: Uuid;
  accountId: Uuid;
  keyId: Uuid;
  keyName: string;
  endpoint: string;
  model: string | null;
  build: string | null;
  tokenizer: string | null;
  stream: boolean;
  outcome: string;
  httpStatus: number;
  finishReason: "stop" | "length" | null;
  promptTokens: number;
  completionTokens: number;
  reasoningTokens: number;
  priceVersion: number | null;
  hold: Pico;
  charge: Pico;
  hostShare: Pico;
  nodeId: Uuid | null;
  attempts: number;
  queueMs: number | null;
  ttftMs: number | null;
  durationMs: number | null;
  client: string;
  createdAt: Date;
  finishedAt: Date;
}

export interface History {
  find(accountId: Uuid, id: Uuid): Promise<RequestRecord | undefined>;
  /** A request that this host served and was paid for. */
  findServed(hostAccountId: Uuid, id: Uuid): Promise<RequestRecord | undefined>;
  /** Newest first; `before` continues a page. */
  list(accountId: Uuid, page: { before?: Uuid; limit: number }): Promise<RequestRecord[]>;
  /** Creates the coming months' partitions. */
  makePartitions(): Promise<void>;
}

const COLUMNS = `id, account_id as "accountId", key_id as "keyId", key_name as "keyName", endpoint, model, build,
  tokenizer, stream, outcome, http_status as "httpStatus", finish_reason as "finishReason",
  prompt_tokens as "promptTokens", completion_tokens as "completionTokens", reasoning_tokens as "reasoningTokens",
  price_version as "priceVersion", hold_pico as hold, charge_pico as charge, host_pico as "hostShare",
  node_id as "nodeId", attempts, queue_ms as "queueMs", ttft_ms as "ttftMs", duration_ms as "durationMs", client,
  created_at as "createdAt", finished_at as "finishedAt"`;
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

export function openHistory(options: { pool: pg.Pool }): History {
  const { pool } = options;
  const findBy = async (column: "account_id" | "host_account_id", owner: Uuid, id: Uuid) => {
    const { rows } = await pool.query(`select ${COLUMNS} from request where id = $1 and ${column} = $2`, [id, owner]);
    return rows[0] === undefined ? undefined : toRecord(rows[0]);
  };
  return {
    find: (accountId, id) => findBy("account_id", accountId, id),
    findServed: (hostAccountId, id) => findBy("host_account_id", hostAccountId, id),
    async list(accountId, { before, limit }) {
      const { rows } = await pool.query(
        `select ${COLUMNS} from request where account_id = $1 and id < $2 order by id desc limit $3`,
        [accountId, before ?? LAST_ID, limit],
      );
      return rows.map(toRecord);
    },
    async makePartitions() {
      await pool.query("select history_make_partitions(2)");
    },
  };
}

function toRecord(row: Record<string, unknown>): RequestRecord {
  const money = (name: string): Pico => pico(BigInt(row[name] as string));
  return { ...row, hold: money("hold"), charge: money("charge"), hostShare: money("hostShare") } as RequestRecord;
}
