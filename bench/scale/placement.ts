/**
 * Accounts on servers by the hash of their ids: how uneven chance makes it when few accounts spend most. Accounts fall into
 * buckets, and buckets lie on servers, so that a server that is too full gives buckets away instead of accounts. An account that
 * is large beside a server has purses: shares of its credit that are accounts of their own to the ledger.
 */
import { createHash } from "node:crypto";

interface Placement {
  /** The fullest server's load over the mean: as the hash has it; with purses; and after buckets were moved as well. */
  hashed: number;
  pursed: number;
  moved: number;
  moves: number;
  purses: number;
  /** The largest account's share of all requests. */
  greatest: number;
}

export const BUCKETS = 4_096;
/** A purse is at most so much of what a server has on average. */
const PURSE_MOST = 0.1;
/** Servers that differ by less are alike. */
const ALIKE = 0.001;

/** The n-th account by size has 1/n^skew of what the first has. */
export function place(accounts: number, servers: number, skew: number): Placement {
  const weights = Float64Array.from({ length: accounts }, (_, rank) => (rank + 1) ** -skew);
  const mean = weights.reduce((sum, weight) => sum + weight) / servers;
  const hashed = spread(weights, servers, Number.POSITIVE_INFINITY);
  const pursed = spread(weights, servers, mean * PURSE_MOST);
  const unevenness = ({ loads }: Spread): number => Math.max(...loads) / mean;
  const [asHashed, withPurses] = [unevenness(hashed), unevenness(pursed)];
  let moves = 0;
  while (moveOne(pursed)) moves += 1;
  const greatest = (weights[0] as number) / (mean * servers);
  return {
    hashed: asHashed,
    pursed: withPurses,
    moved: unevenness(pursed),
    moves,
    purses: pursed.purses,
    greatest,
  };
}

interface Spread {
  buckets: Float64Array;
  /** The server of each bucket, and what each server has. */
  home: number[];
  loads: Float64Array;
  /** Beyond one for each account. */
  purses: number;
}

function spread(weights: Float64Array, servers: number, purseMost: number): Spread {
  const buckets = new Float64Array(BUCKETS);
  let purses = 0;
  for (const [rank, weight] of weights.entries()) {
    const count = Math.max(1, Math.ceil(weight / purseMost));
    for (let purse = 0; purse < count; purse++)
      add(buckets, bucketOf(`account ${rank}, purse ${purse}`), weight / count);
    purses += count - 1;
  }
  const home = Array.from(buckets, (_, bucket) => bucket % servers);
  const loads = new Float64Array(servers);
  for (const [bucket, weight] of buckets.entries()) add(loads, home[bucket] as number, weight);
  return { buckets, home, loads, purses };
}

/** Of the fullest server the largest bucket that fits between it and the emptiest one. */
function moveOne({ buckets, home, loads }: Spread): boolean {
  const full = loads.indexOf(Math.max(...loads));
  const empty = loads.indexOf(Math.min(...loads));
  const room = (loads[full] as number) - (loads[empty] as number);
  if (room < ALIKE * (loads[full] as number)) return false;
  let best: number | undefined;
  for (const [bucket, weight] of buckets.entries()) {
    if (home[bucket] !== full || weight === 0 || weight >= room) continue;
    if (best === undefined || weight > (buckets[best] as number)) best = bucket;
  }
  if (best === undefined) return false;
  home[best] = empty;
  add(loads, full, -(buckets[best] as number));
  add(loads, empty, buckets[best] as number);
  return true;
}

const bucketOf = (id: string): number => createHash("sha256").update(id).digest().readUInt16BE(0) % BUCKETS;

function add(loads: Float64Array, at: number, weight: number): void {
  loads[at] = (loads[at] ?? 0) + weight;
}
