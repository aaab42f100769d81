/** The process of one attacker: `node attacker-process.ts NAME`. measure-strategy.ts starts it and tells it when to begin and to end. */
import pg from "pg";
import { Attacker } from "./attack-strategy.ts";
import { findStrategy } from "./strategies.ts";

export type AttackerCommand = "begin" | "end";
export type AttackerMessage = { is: "ready" } | { is: "in place" } | { is: "gone"; loot: Attacker["loot"] };

const { BASE_URL: baseUrl = "", DATABASE_URL: connectionString } = process.env;
const strategy = findStrategy(process.argv[2] ?? "");
const over = new AbortController();
const pool = new pg.Pool({ connectionString });
const enemy = new Attacker({
  baseUrl,
  query: async (sql, values) => (await pool.query(sql, values)).rows,
  over: over.signal,
});

const tell = (news: AttackerMessage): void => void process.send?.(news);

process.on("message", async (order: AttackerCommand) => {
  if (order === "begin") {
    await strategy.attack(enemy);
    tell({ is: "in place" });
    return;
  }
  over.abort();
  await enemy.leave();
  await strategy.finish?.(enemy);
  await pool.end();
  tell({ is: "gone", loot: enemy.loot });
  process.disconnect();
  process.exitCode = 0;
  // Ends the process after 500 ms if unanswered requests keep it alive.
  setTimeout(() => process.exit(), 500).unref();
});
tell({ is: "ready" });
