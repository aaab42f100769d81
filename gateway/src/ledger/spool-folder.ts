/**
 * Reads the spools (settlements on disk) of a directory for an operator: lists the settlements that are not in the
 * ledger, and enters each once.
 */
import { join } from "node:path";
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";
import { column, queryRows, row } from "../db/rows.ts";
import { systemDisk } from "./disk-interface.ts";
import type { Ledger } from "./ledger.ts";
import type { Settlement } from "./settlement-sql.ts";
import { parseSpoolOwner, type SpoolOwner } from "./spool.ts";
import { readLines } from "./spool-lines.ts";
import { openIfExists, readTextFrom } from "./spool-replay.ts";

export interface SpoolFile {
  name: string;
  owner: SpoolOwner;
  writtenAt: Date;
  settlements: Settlement[];
  damaged: number;
  foreign: number;
}

/** Reads all spool files of the directory, oldest first. */
export async function readSpools(directory: string): Promise<SpoolFile[]> {
  const files: SpoolFile[] = [];
  for (const name of await systemDisk.readdir(directory)) {
    const owner = parseSpoolOwner(name);
    const handle = owner && (await openIfExists(systemDisk, join(directory, name)));
    if (owner === undefined || handle === undefined) continue;
    try {
      const { mtimeMs } = await handle.stat();
      files.push({ name, owner, writtenAt: new Date(mtimeMs), ...readLines(await readTextFrom(handle, 0)) });
    } finally {
      await handle.close();
    }
  }
  return files.sort((a, b) => a.writtenAt.getTime() - b.writtenAt.getTime());
}

const Known = row({ id: column.uuid });
/**
 * Finds which of these requests are settled. A request whose lease expired (`gateway_lost`) does not count as settled,
 * because it was answered and must be charged.
 */
const KNOWN = "select id from request where id = any ($1::uuid[]) and outcome <> 'gateway_lost'";

/** Returns the settlements that are not in the ledger, each once, and the sum of their charges. */
export async function findUnsettledRequests(
  pool: pg.Pool,
  settlements: Settlement[],
): Promise<{ waiting: Settlement[]; charge: Pico }> {
  const byId = new Map(settlements.map((settlement) => [settlement.id, settlement]));
  for (const { id } of await queryRows(pool, Known, KNOWN, [[...byId.keys()]])) byId.delete(id);
  const waiting = [...byId.values()];
  return { waiting, charge: pico(waiting.reduce((sum, { charge }) => sum + charge, 0n)) };
}

interface EnteredCounts {
  entered: number;
  /** Settlements that were already in the ledger. */
  known: number;
  givenUp: number;
}

/** Enters each settlement once. Rejects when the database fails, and can then be repeated. */
export async function enterSettlementsInLedger(
  ledger: Pick<Ledger, "trySettling">,
  settlements: Settlement[],
): Promise<EnteredCounts> {
  const counts: EnteredCounts = { entered: 0, known: 0, givenUp: 0 };
  const seen = new Set<Uuid>();
  for (const settlement of settlements) {
    if (seen.has(settlement.id)) continue;
    seen.add(settlement.id);
    const outcome = await ledger.trySettling(settlement);
    if (outcome === "repeated") counts.known += 1;
    else if (outcome === "given_up") counts.givenUp += 1;
    else counts.entered += 1;
  }
  return counts;
}
