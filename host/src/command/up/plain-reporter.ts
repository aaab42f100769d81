/** Lines for logs and pipes: one per change, nothing in between. */
import { createLog } from "../../log.ts";
import type { CommandContext } from "../command.ts";
import type { Reporter } from "./reporter.ts";
import { connectionSentence, standingSentence } from "./sentences.ts";

const STATS_EVERY_MS = 60_000;

export function plainReporter(logLevel: string, { terminal }: Pick<CommandContext, "terminal">): Reporter {
  const log = createLog(logLevel);
  const { print } = terminal;
  let standing: string | undefined;
  let line: string | undefined;
  return {
    log,
    statsEveryMs: STATS_EVERY_MS,
    engine(engine) {
      print(`engine   ${engine.name}, ${engine.slots} at once`);
      for (const note of engine.notes ?? []) print(`note     ${note}`);
    },
    node: ({ node, gateway, models }) => print(`node     ${node} at ${gateway}, serving ${models.join(", ")}`),
    serving() {},
    status(status) {
      const now = connectionSentence(status);
      // Every try to get back that fails for the same reason is no news.
      if (now !== line) print(now);
      line = now;
    },
    stats(stats) {
      const now = standingSentence(stats);
      if (now === standing) return;
      print(now ?? `${stats.state.padEnd(8)} requests come in again`);
      standing = now;
    },
    statsMissing: (reason) => log.info({ err: reason }, "the gateway does not tell how it sees the node"),
    stopping: () => print("stopping finishing what runs; Ctrl-C again stops at once"),
    stopped: () => print("stopped"),
    close() {},
  };
}
