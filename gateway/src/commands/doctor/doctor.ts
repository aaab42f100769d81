/** `tollgate doctor`: checks settings and dependencies, and says how to fix problems. */
import { failedCheck, formatCheckLines } from "@tollgate/terminal/check-results.ts";
import { type BaseCommandContext, type Command, type CommandInput, JSON_FLAG } from "@tollgate/terminal/command.ts";
import { systemClock } from "../../base/clock.ts";
import { newIds } from "../../base/ids.ts";
import { systemRandom } from "../../base/random.ts";
import { type Config, ConfigError, parseConfig } from "../../config.ts";
import type { Finding } from "./doctor-context.ts";

export const doctorCommand: Command = {
  help: "check the settings and everything that the gateway needs, and show how to repair each problem",
  flags: {
    data: { value: "DIR", help: "the data directory of a platform without DATABASE_URL (default: ./data)" },
    ...JSON_FLAG,
  },
  more: [
    "Run this command with the environment variables of a gateway, as the gateway's user. It checks directories, disks and open files, the database, the settings that gateways share, the limits server, the dispatch plane, certificates, mail and payments, and changes nothing. When a gateway starts, it makes the same checks.",
    "Each finding is ok, warn or fail, with what to do. The exit code is 1 if anything failed.",
  ],
  example: "--json",
  run,
};

async function run({ flags: { data }, json }: CommandInput, { terminal, env }: BaseCommandContext): Promise<number> {
  const findings: Finding[] = [];
  terminal.progress.step("checking");
  for await (const finding of findingsIn({ ...env, ...(data !== undefined && { DATA_DIR: data }) })) {
    findings.push(finding);
    if (!json) for (const line of formatCheckLines(finding, terminal.paint)) terminal.print(line);
  }
  const count = (verdict: Finding["verdict"]): number => findings.filter((one) => one.verdict === verdict).length;
  const [failed, warned] = [count("fail"), count("warn")];
  const checks = findings.map(({ isAway: _, ...check }) => check);
  const counts = `${counted(failed, "failure")}, ${counted(warned, "warning")}`;
  const verdict =
    failed === 0
      ? `ready to serve, ${counted(warned, "warning")}`
      : `${counts}: repair what failed, then run tollgate doctor again`;
  terminal.print(json ? JSON.stringify({ ok: failed === 0, checks }, null, 2) : `\n${verdict}`);
  return failed === 0 ? 0 : 1;
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

/** Stops after invalid settings, because the other checks depend on them. */
async function* findingsIn(env: BaseCommandContext["env"]): AsyncGenerator<Finding> {
  let config: Config;
  try {
    config = parseConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const mistake of error.mistakes)
      yield failedCheck("settings", mistake, "docs/operators/settings.md lists every setting");
    return;
  }
  const { runChecks } = await import("./run-checks.ts");
  const clock = systemClock;
  yield* runChecks({ config, clock, newId: newIds(clock, systemRandom()) });
}
