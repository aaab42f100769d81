/**
 * Operates a primary and its standby. Enables synchronous replication while the standby follows, disables it when the
 * standby is lost for a while, and recreates a standby that cannot follow any more. Does nothing about servers that a
 * fault stopped.
 */

import { waitUntil } from "../killable-process.ts";
import { eventually } from "../wait.ts";
import type { PostgresServer } from "./postgres-server.ts";

interface ReplicationManager {
  /** Starts checking the servers, every quarter of a second. */
  watch(): void;
  /** Stops checking; resolves when no action is in progress any more. */
  rest(): Promise<void>;
  /** Resolves when all commits are on both disks and every new commit waits for both. */
  inStep(): Promise<void>;
  /**
   * Whether every commit waits for the standby and the standby has all earlier ones, so that a failover would lose no
   * confirmed commit.
   */
  safe(): boolean;
  /** Marks a server as stopped or started by a fault, so that the operator does not recreate a stopped one. */
  expect(server: PostgresServer, state: "up" | "down"): void;
  /** Whether the server runs and no fault has taken it down. */
  expected(server: PostgresServer): boolean;
  /** Called when primary and standby have changed roles, so that the standby is recreated. */
  changed(): void;
}

const LOOK_EVERY_MS = 250;
/** How long commits may wait for a lost standby, in milliseconds. */
const ALONE_AFTER_MS = 1_500;
/** After this time in milliseconds a standby that does not follow is recreated; reconnecting takes less. */
const ANEW_AFTER_MS = 20_000;
/** How long all processes of a server take to apply a new setting, in milliseconds. */
const HEARD_AFTER_MS = 500;

export function createReplicationManager(servers: {
  primary: PostgresServer;
  standby: PostgresServer;
}): ReplicationManager {
  const down = new Set<PostgresServer>();
  let timer: NodeJS.Timeout | undefined;
  let look: Promise<void> | undefined;
  let mode: "alone" | "together" | "changing" = "alone";
  let anew = true;
  let followedAt = performance.now();

  const switchTo = (names: string): Promise<void> => servers.primary.set({ synchronous_standby_names: names });
  const goAlone = async (): Promise<void> => {
    mode = "changing";
    await switchTo("");
    mode = "alone";
  };
  const goTogether = async (): Promise<void> => {
    const { primary } = servers;
    mode = "changing";
    await switchTo("ANY 1 (*)");
    await waitUntil("the primary counts its standby", 10_000, async () => (await following(primary)) === "quorum");
    await pause(HEARD_AFTER_MS);
    // From now on every commit waits for the standby; earlier commits must reach the standby too.
    const mark = await end(primary);
    await waitUntil("the standby has everything", 10_000, () => hasUpTo(primary, mark));
    mode = "together";
  };
  const makeAnew = async (): Promise<void> => {
    const { primary, standby } = servers;
    if (mode !== "alone") await goAlone();
    await standby.process.kill();
    await standby.disk.free();
    await standby.copy(primary);
    await standby.process.start();
    anew = false;
    followedAt = performance.now();
  };
  const lookOnce = async (): Promise<void> => {
    const { primary, standby } = servers;
    if (down.has(primary) || !primary.process.running()) {
      followedAt = performance.now();
      return;
    }
    if (anew) return await makeAnew();
    if ((await following(primary)) !== undefined) {
      followedAt = performance.now();
      if (mode !== "together") await goTogether();
      return;
    }
    const awayMs = performance.now() - followedAt;
    if (mode !== "alone" && awayMs > ALONE_AFTER_MS) await goAlone();
    if (!down.has(standby) && awayMs > ANEW_AFTER_MS) anew = true;
  };
  const again = (): void => {
    timer = setTimeout(() => {
      // Ignores errors, which an active fault may cause: the next check sees the new state.
      look = lookOnce()
        .catch(() => {})
        .then(() => {
          if (timer !== undefined) again();
        });
    }, LOOK_EVERY_MS);
  };
  const operator: ReplicationManager = {
    watch() {
      if (timer === undefined) again();
    },
    async rest() {
      clearTimeout(timer);
      timer = undefined;
      await look;
    },
    async inStep() {
      const watched = timer !== undefined;
      await eventually("the standby is in step", async () => {
        if (!watched) await lookOnce().catch(() => {});
        return operator.safe() && (await following(servers.primary).catch(() => undefined)) === "quorum";
      });
    },
    safe: () => mode === "together",
    expect(server, state) {
      if (state === "down") down.add(server);
      else {
        down.delete(server);
        followedAt = performance.now();
      }
    },
    expected: (server) => !down.has(server) && server.process.running(),
    changed() {
      [mode, anew] = ["alone", true];
      down.clear();
    },
  };
  return operator;
}

const LOOK_MS_MAX = 5_000;

/**
 * Returns the standby's sync state ("async", "quorum"); undefined if no standby streams, or if it has not answered for
 * 2.5 s.
 */
async function following(primary: PostgresServer): Promise<string | undefined> {
  const [row] = await primary.query<{ sync_state: string }>(
    `select sync_state from pg_stat_replication
      where state = 'streaming' and reply_time > clock_timestamp() - '2500 milliseconds'::interval`,
    [],
    { withinMs: LOOK_MS_MAX },
  );
  return row?.sync_state;
}

/** Returns the position of the end of the primary's write-ahead log. */
async function end(primary: PostgresServer): Promise<string> {
  const [row] = await primary.query<{ lsn: string }>("select pg_current_wal_lsn() as lsn");
  return row?.lsn as string;
}

async function hasUpTo(primary: PostgresServer, lsn: string): Promise<boolean> {
  const rows = await primary.query("select from pg_stat_replication where sync_state = 'quorum' and flush_lsn >= $1", [
    lsn,
  ]);
  return rows.length > 0;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
