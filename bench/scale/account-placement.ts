/**
 * Computes how unevenly the load is spread if accounts are placed on servers by a hash of their IDs and few accounts
 * spend most. Accounts are hashed to buckets and buckets are assigned to servers, so that an overloaded server hands
 * over buckets instead of accounts. The credit of an account that is large compared with a server is divided into
 * purses, which are separate accounts to the ledger.
 */
import { createHash } from "node:crypto";

interface Placement {
  /** The fullest server's load divided by the mean, if accounts are placed by their hash alone. */
  hashed: number;
  /** The same, if large accounts are also divided into purses. */
  pursed: number;
  /** The same, if large accounts are divided into purses and buckets are moved from full to empty servers. */
  moved: number;
  moves: number;
  purses: number;
  /** The largest account's share of all requests. */
  greatest: number;
}

export const BUCKET_COUNT = 4_096;
/** The maximum load of a purse (a part of a large account's credit), as a share of a server's mean load. */
const PURSE_MOST = 0.1;
/** Smaller differences between servers, as a share of the mean load, do not count. */
const ALIKE = 0.001;

/** Distributes accounts of which the n-th largest has 1/n^skew of the load of the largest. */
export function placeAccounts(accounts: number, servers: number, skew: number): Placement {
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
  /** The server of each bucket, by the bucket's number. */
  home: number[];
  loads: Float64Array;
  /** The number of purses (parts of an account's credit) beyond the first purse of each account. */
  purses: number;
}

function spread(weights: Float64Array, servers: number, purseMost: number): Spread {
  const buckets = new Float64Array(BUCKET_COUNT);
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

/** Moves the largest bucket of the fullest server that fits into the gap between it and the emptiest server. */
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

const bucketOf = (id: string): number => createHash("sha256").update(id).digest().readUInt16BE(0) % BUCKET_COUNT;

function add(loads: Float64Array, at: number, weight: number): void {
  loads[at] = (loads[at] ?? 0) + weight;
}
