/** Samples what the gateways' database connections do, and what they wait for. */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";

const EVERY_MS = 5;

/** The average number of connections in each state, such as waiting for a lock. */
export type ConnectionStates = Map<string, number>;

/**
 * Counts active connections by wait event. PostgreSQL reports a wait for a row's lock as a wait for the transaction
 * that holds it; the table comes from the tuple lock of the first waiter. The row of an account is a builder's or a
 * host's.
 */
const LOOK = `
  select case when a.wait_event is null then 'at work'
              when a.wait_event_type = 'Lock'
                then 'row of ' || coalesce((
                  select l.relation::regclass || coalesce(' (' || r.kind || ')', '')
                    from pg_locks l
                    left join ledger_account r
                      on l.relation = 'ledger_account'::regclass and r.ctid = format('(%s,%s)', l.page, l.tuple)::tid
                   where l.pid = a.pid and l.locktype = 'tuple' limit 1), '?')
              else a.wait_event_type || ' ' || a.wait_event end as what, count(*)::int as connections
    from pg_stat_activity a
   where a.backend_type = 'client backend' and a.state = 'active' and a.pid <> pg_backend_pid() and a.datname = current_database()
   group by 1`;

/** Samples until `work` ends. Sampling costs the server time, so the other measurements run without it. */
export async function sampleConnections(pool: pg.Pool, work: Promise<unknown>): Promise<ConnectionStates> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  const seen: ConnectionStates = new Map();
  let looks = 0;
  while (!isOver) {
    const { rows } = await pool.query<{ what: string; connections: number }>({ name: "waits", text: LOOK });
    looks += 1;
    for (const { what, connections } of rows) seen.set(what, (seen.get(what) ?? 0) + connections);
    await sleep(EVERY_MS);
  }
  await over;
  return new Map([...seen].map(([what, connections]) => [what, connections / looks]));
}
