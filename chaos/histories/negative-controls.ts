/**
 * Platforms with a deliberate error. If a run does not detect it, its other results prove nothing. Each control names
 * the error and the rules that must detect it.
 */
import type { ThreeGatewayStage } from "./three-gateway-stage.ts";

interface Control {
  /** Settings of the PostgreSQL server. */
  server: Record<string, string>;
  /** Further environment variables of the gateways. */
  gateways: Record<string, string>;
  /** PostgreSQL's `options` for the gateways' database connections. */
  connections: string | undefined;
  /** Introduces the error. Called once every account has credit, before the workers begin. */
  plant(stage: ThreeGatewayStage): Promise<void>;
  foundBy: readonly string[];
}

/** The WAL writer writes only every ten seconds. Until then, confirmed commits exist only in the server's memory. */
const SLEEPY = {
  synchronous_commit: "off",
  wal_writer_delay: "10s",
  wal_writer_flush_after: "1GB",
  bgwriter_lru_maxpages: "0",
  checkpoint_timeout: "1h",
};

/** Changes a database function so that it reads the balance and writes the new one without a lock. */
const LOST_UPDATE: [RegExp, string][] = [
  [/perform from ledger_account where id = p_account for no key update;/, ""],
  [
    /update ledger_account\s+set balance = balance \+ signed,/,
    "perform pg_sleep(0.05);\n  update ledger_account\n     set balance = acc.balance + signed,",
  ],
];

export const FAULTY_PLATFORMS: Record<string, Control> = {
  synchronous_commit: {
    server: SLEEPY,
    gateways: { DATABASE_DURABILITY: "assumed" },
    connections: "-c synchronous_commit=off",
    // Writes the setup to disk, so that only later commits are lost.
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
