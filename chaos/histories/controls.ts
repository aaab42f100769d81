/**
 * Platforms that are wrong on purpose: a run that does not find out about one of them proves nothing of the others. Each says what is
 * planted, and by which rules it has to be found.
 */
import type { HistoryStage } from "./stage.ts";

interface Control {
  /** Of the PostgreSQL server, of the gateways, and of their connections. */
  server: Record<string, string>;
  gateways: Record<string, string>;
  connections: string | undefined;
  /** Run when everyone has something, before the workers begin. */
  plant(stage: HistoryStage): Promise<void>;
  foundBy: readonly string[];
}

/** The writer of the log sleeps for ten seconds and is not woken: what was confirmed in them is in the server's memory alone. */
const SLEEPY = {
  synchronous_commit: "off",
  wal_writer_delay: "10s",
  wal_writer_flush_after: "1GB",
  bgwriter_lru_maxpages: "0",
  checkpoint_timeout: "1h",
};

/** Reads the balance, and writes what it should become, without a lock in between. */
const LOST_UPDATE: [RegExp, string][] = [
  [/perform from ledger_account where id = p_account for no key update;/, ""],
  [
    /update ledger_account\s+set balance = balance \+ signed,/,
    "perform pg_sleep(0.05);\n  update ledger_account\n     set balance = acc.balance + signed,",
  ],
];

export const CONTROLS: Record<string, Control> = {
  synchronous_commit: {
    server: SLEEPY,
    gateways: { DATABASE_DURABILITY: "assumed" },
    connections: "-c synchronous_commit=off",
    // What was set up stays: only answered calls are lost.
    plant: async ({ query }) => void (await query("checkpoint")),
    foundBy: ["lost"],
  },
  "lost-update": {
    server: {},
    gateways: {},
    connections: undefined,
    async plant({ query }) {
      const [row] = await query<{ source: string }>("select pg_get_functiondef('ledger_transfer'::regproc) as source");
      let source = row?.source ?? "";
      for (const [from, to] of LOST_UPDATE) {
        if (!from.test(source)) throw new Error(`ledger_transfer has changed: ${from} is not in it`);
        source = source.replace(from, to);
      }
      await query(source);
    },
    foundBy: ["balance"],
  },
};
