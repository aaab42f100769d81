/**
 * Exports a month's records before they are dropped: gzipped CSV ordered by ID, with a manifest. Both files are renamed
 * when complete and synced, so a partial export is never taken for a complete one. The same records give the same
 * bytes.
 */
import { createHash } from "node:crypto";
import { access, constants, mkdir, open, rename } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type pg from "pg";
import { z } from "zod";
import { type CsvColumns, csvHeader, csvLines } from "../base/csv.ts";
import { publicId } from "../base/ids.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";

/** The rows per fetch: few, so that converting them to text does not delay the gateway's requests. */
const FETCH_ROWS = 250;

const Exported = row({
  id: column.uuid,
  accountId: column.uuid,
  keyId: column.uuid,
  keyName: z.string(),
  endpoint: z.string(),
  model: z.string().nullable(),
  build: z.string().nullable(),
  tokenizer: z.string().nullable(),
  stream: z.boolean().nullable(),
  outcome: z.string(),
  httpStatus: column.count,
  finishReason: z.string().nullable(),
  promptTokens: column.count,
  completionTokens: column.count,
  reasoningTokens: column.count,
  priceVersion: column.count.nullable(),
  hold: column.pico,
  charge: column.pico,
  short: column.pico,
  hostShare: column.pico,
  hostAccountId: column.uuid.nullable(),
  nodeId: column.uuid.nullable(),
  own: z.boolean(),
  attempts: column.count,
  queueMs: column.count.nullable(),
  ttftMs: column.count.nullable(),
  durationMs: column.count.nullable(),
  client: z.string(),
  label: z.string().nullable(),
  count: column.bigint,
  createdAt: column.moment,
  finishedAt: column.moment,
});
type Exported = z.infer<typeof Exported>;

const SELECTED = `id, account_id as "accountId", key_id as "keyId", key_name as "keyName", endpoint, model, build, tokenizer, stream,
  outcome, http_status as "httpStatus", finish_reason as "finishReason", prompt_tokens as "promptTokens",
  completion_tokens as "completionTokens", reasoning_tokens as "reasoningTokens", price_version as "priceVersion",
  hold_pico as hold, charge_pico as charge, short_pico as short, host_pico as "hostShare", host_account_id as "hostAccountId",
  node_id as "nodeId", own, attempts, queue_ms as "queueMs", ttft_ms as "ttftMs", duration_ms as "durationMs", client, label,
  requests as count, created_at as "createdAt", finished_at as "finishedAt"`;

/**
 * The columns of the console's export, and those that are needed to compare the records with the ledger: the accounts
 * of the builder and the host, and amounts in picodollars.
 */
const COLUMNS: CsvColumns<Exported> = {
  id: ({ id }) => publicId("req", id),
  created_at: ({ createdAt }) => createdAt.toISOString(),
  finished_at: ({ finishedAt }) => finishedAt.toISOString(),
  account_id: ({ accountId }) => publicId("acc", accountId),
  key_id: ({ keyId }) => publicId("key", keyId),
  key: ({ keyName }) => keyName,
  endpoint: ({ endpoint }) => endpoint,
  model: ({ model }) => model,
  build: ({ build }) => build,
  tokenizer: ({ tokenizer }) => tokenizer,
  stream: ({ stream }) => stream,
  outcome: ({ outcome }) => outcome,
  http_status: ({ httpStatus }) => httpStatus,
  finish_reason: ({ finishReason }) => finishReason,
  prompt_tokens: ({ promptTokens }) => promptTokens,
  completion_tokens: ({ completionTokens }) => completionTokens,
  reasoning_tokens: ({ reasoningTokens }) => reasoningTokens,
  price_version: ({ priceVersion }) => priceVersion,
  hold_pico: ({ hold }) => hold,
  charge_pico: ({ charge }) => charge,
  short_pico: ({ short }) => short,
  host_pico: ({ hostShare }) => hostShare,
  host_account_id: ({ hostAccountId }) => hostAccountId && publicId("acc", hostAccountId),
  node_id: ({ nodeId }) => nodeId && publicId("node", nodeId),
  own: ({ own }) => own,
  attempts: ({ attempts }) => attempts,
  queue_ms: ({ queueMs }) => queueMs,
  ttft_ms: ({ ttftMs }) => ttftMs,
  duration_ms: ({ durationMs }) => durationMs,
  client: ({ client }) => client,
  label: ({ label }) => label,
  count: ({ count }) => count,
};

const Sums = row({
  fingerprint: column.bigint,
  rows: column.bigint,
  charged: column.pico,
  shared: column.pico,
});

interface MonthExport extends z.infer<typeof Sums> {
  /** The name of the file in its folder. */
  file: string;
  sha256: string;
}

interface ExportOptions {
  /** `2026-03`. */
  month: string;
  directory: string;
  signal: AbortSignal;
}

/** Creates the folder if needed. Throws when it is not writable. */
export async function prepareExportFolder(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await access(directory, constants.W_OK);
}

/** Exports one month from a single snapshot on its own connection. Throws the abort reason of `signal`. */
export async function exportMonth(client: pg.PoolClient, options: ExportOptions): Promise<MonthExport> {
  const { month, directory, signal } = options;
  const file = `requests-${month}.csv.gz`;
  await prepareExportFolder(directory);
  await client.query("begin transaction isolation level repeatable read read only");
  try {
    await client.query("set local statement_timeout = 0");
    const sums = await queryOne(
      client,
      Sums,
      "select fingerprint, rows, charged, shared from history_fingerprint($1::date)",
      [`${month}-01`],
    );
    const sha256 = await writeWhole(join(directory, file), linesOf(client, month, signal), { packed: true, signal });
    const { rows, charged, shared } = sums;
    const manifest = {
      month,
      file,
      sha256,
      rows: rows.toString(),
      charge_pico: charged.toString(),
      host_pico: shared.toString(),
      columns: Object.keys(COLUMNS),
    };
    const text = [`${JSON.stringify(manifest, null, 2)}\n`];
    await writeWhole(join(directory, `requests-${month}.json`), text, { packed: false, signal });
    return { ...sums, file, sha256 };
  } finally {
    await client.query("rollback");
  }
}

async function* linesOf(client: pg.PoolClient, month: string, signal: AbortSignal): AsyncGenerator<string> {
  yield csvHeader(COLUMNS);
  const partition = `request_${month.replace("-", "_")}`;
  await client.query(`declare exported no scroll cursor for select ${SELECTED} from ${partition} order by id`);
  for (;;) {
    signal.throwIfAborted();
    const rows = await queryRows(client, Exported, `fetch ${FETCH_ROWS} from exported`);
    if (rows.length === 0) return;
    yield csvLines(COLUMNS, rows);
  }
}

/** Writes the file under a temporary name until it is complete and synced. Returns its checksum. */
async function writeWhole(
  path: string,
  text: Iterable<string> | AsyncIterable<string>,
  { packed, signal }: { packed: boolean; signal: AbortSignal },
): Promise<string> {
  const partial = `${path}.partial`;
  const hash = createHash("sha256");
  const file = await open(partial, "w", 0o600);
  try {
    const write = async (chunks: AsyncIterable<string | Buffer>): Promise<void> => {
      for await (const chunk of chunks) {
        hash.update(chunk);
        await file.appendFile(chunk);
      }
    };
    const source = Readable.from(text);
    if (packed) await pipeline(source, createGzip(), write, { signal });
    else await pipeline(source, write, { signal });
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(partial, path);
  // Syncs the folder too, so that the new name survives a crash.
  const folder = await open(join(path, ".."), "r");
  await folder.sync().finally(() => folder.close());
  return hash.digest("hex");
}
