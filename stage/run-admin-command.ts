/**
 * Runs an admin command (`tollgate admin …`) in the test's own process, on the test platform's database. e2e/admin tests
 * every command, some as processes.
 */
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import type { AdminRun } from "../gateway/src/commands/admin/admin-run.ts";
import { parseConfig } from "../gateway/src/config.ts";
import type { TestDatabase } from "../gateway/src/db/testing.ts";
import type { InProcessStage } from "./in-process-stage.ts";

type Said = Partial<Pick<AdminRun, "args" | "flags" | "json">>;

/** Runs the command and returns its exit code and output. */
export async function runAdminCommand(
  { shared, clock, gateway: { newId } }: InProcessStage,
  command: (run: AdminRun) => Promise<number>,
  { args = [], flags = {}, json = false }: Said = {},
): Promise<{ code: number; output: string }> {
  const { pool } = shared.database as TestDatabase;
  const terminal = new FakeTerminal();
  const { print } = terminal;
  const given = { json, args, flags, switches: new Set<string>() };
  const run = { ...given, pool, newId, clock, config: parseConfig(shared.env), terminal, print };
  return { code: await command(run), output: terminal.text };
}
