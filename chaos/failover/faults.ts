/** Faults of the database's primary server. A fault ends once every member of the cluster follows the new primary. */
import type { PatroniCluster } from "@tollgate/stage/servers/patroni.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { type Fault, REFUSAL_ANSWERS } from "../faults.ts";
import type { Platform } from "../stage/stage.ts";

/** The number of settled requests that no standby has received when the primary is killed. */
const TAIL = 40;

type FailoverFault = Fault<Platform>;

interface FailoverFaults {
  failovers: FailoverFault[];
  switchovers: FailoverFault[];
  unfenced: FailoverFault[];
}

/** `loseTail`: replication to the standbys is stopped first, so that the latest commits are lost with the primary. */
export function failoverFaults(cluster: PatroniCluster, { loseTail }: { loseTail: boolean }): FailoverFaults {
  const settled = async (): Promise<number> => {
    const [row] = await cluster.query<{ count: number }>("select count(*)::int as count from request");
    return row?.count ?? 0;
  };
  const fallBehind = async (): Promise<void> => {
    const { front } = await cluster.primary();
    front.swallow();
    const due = (await settled()) + TAIL;
    await eventually("requests are settled that no standby has", async () => (await settled()) >= due);
  };
  const fault = (name: string, strike: FailoverFault["strike"]): FailoverFault => ({
    ...{ name, lasts: 0, takes: 30, recoversWithin: 120, mayShow: REFUSAL_ANSWERS, strike },
  });
  const killed = (what: "server" | "machine"): FailoverFault =>
    fault(`the primary's ${what} killed${loseTail ? ", its last commits lost" : ""}`, async () => {
      const old = await cluster.primary();
      if (loseTail) await fallBehind();
      if (what === "machine") await old.patroni.kill();
      await old.killPostgres();
      await cluster.replaced(old);
      return async () => {
        await old.front.heal();
        if (what === "machine") await old.patroni.start();
        await cluster.whole();
      };
    });
  return {
    failovers: [killed("server"), killed("machine")],
    switchovers: [
      fault("switchover", async () => {
        await cluster.switchover();
        return () => cluster.whole();
      }),
    ],
    unfenced: [
      fault("the primary's Patroni frozen: it goes on beside the new primary", async () => {
        const old = await cluster.primary();
        old.patroni.stop();
        await cluster.replaced(old);
        return async () => {
          old.patroni.cont();
          await cluster.whole();
        };
      }),
    ],
  };
}
