/** For the tests of `tollgate admin`: one platform for all of them, and its commands in this process or as processes. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, isAlive, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { PRIVATE_DATABASE_ENV } from "@tollgate/stage/stage-database.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";
import { runCommand } from "@tollgate/terminal/run-command-line.ts";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import { parseId } from "../../gateway/src/base/ids.ts";
import { TOLLGATE_COMMANDS as COMMANDS } from "../../gateway/src/commands/tollgate.ts";

const TOLLGATE = fileURLToPath(new URL("../../gateway/bin/tollgate.mjs", import.meta.url));

/** The number of failed requests: enough to withhold shares, too few to quarantine the node. */
export const WITHHELD_SHARE_COUNT = 4;

export interface AdminPlatform {
  platform: Platform;
  dataDir: string;
  /** The IDs of the platform's accounts and of its node. */
  builder: string;
  host: string;
  node: string;
  /** Queries the platform's database. Tests replace it while the platform is stopped. */
  query(sql: string): Promise<unknown>;
  /** Runs one command in this process. Returns its exit code and its output or error message. */
  run(...args: string[]): Promise<{ code: number; out: string }>;
  /** Runs a command that succeeds, and returns its output. */
  good(...args: string[]): Promise<string>;
  /** Runs a command that succeeds with `--json`. */
  said<T>(...args: string[]): Promise<T>;
  /** Runs one command as a process, with `input` as its standard input. */
  shell(args: string[], input?: string): Promise<{ code: number | null; out: string }>;
  close(): Promise<void>;
}

/**
 * Starts the platform. Most commands run inside the test process, because starting a process for each would take too
 * long.
 */
export async function startAdminPlatform(): Promise<AdminPlatform> {
  const dataDir = await createDataDir();
  const platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"], PRIVATE_DATABASE_ENV);
  const run = async (...args: string[]): Promise<{ code: number; out: string }> => {
    const terminal = new FakeTerminal();
    try {
      const code = await runCommand(COMMANDS, ["admin", ...args, "--data", dataDir], { terminal, env: process.env });
      return { code, out: terminal.text };
    } catch (error) {
      return { code: error instanceof UsageError ? 2 : 1, out: (error as Error).message };
    }
  };
  const good = async (...args: string[]): Promise<string> => {
    const { code, out } = await run(...args);
    assert.equal(code, 0, `${args.join(" ")}: ${out}`);
    return out;
  };
  const said = async <T>(...args: string[]): Promise<T> => JSON.parse(await good(...args, "--json")) as T;
  const shell = async (args: string[], input = ""): Promise<{ code: number | null; out: string }> => {
    const child = spawn(process.execPath, [TOLLGATE, "admin", ...args, "--data", dataDir], { stdio: "pipe" });
    child.stdin.end(input);
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    const out = (await Promise.all([text(child.stdout), text(child.stderr)])).join("");
    return { code: await ended, out };
  };
  const close = async (): Promise<void> => {
    if (isAlive(platform.ready.pids.gateway)) await platform.stop();
    await removeDataDir(dataDir);
  };
  try {
    const accounts = await said<{ id: string; kind: string }[]>("account", "list");
    const idOf = (wanted: string): string => accounts.find(({ kind }) => kind === wanted)?.id ?? "";
    const [builder, host] = [idOf("builder"), idOf("host")];
    const node = (await said<{ id: string }[]>("node", "list"))[0]?.id ?? "";
    await withholdShares(platform, builder);
    return {
      platform,
      dataDir,
      builder,
      host,
      node,
      query: (sql) => platform.query(sql),
      run,
      good,
      said,
      shell,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function withholdShares(platform: Platform, builder: string): Promise<void> {
  assert.equal((await sendScriptedChat(platform, { text: "x" })).status, 200);
  // Marks the builder's credit as not granted. One person owns both accounts, and a host earns nothing from requests
  // that its owner pays with granted credit, so there would be no share to withhold.
  await platform.query(`update ledger_account set granted = 0 where id = '${parseId("acc", builder)}'`);
  for (let i = 0; i < WITHHELD_SHARE_COUNT; i++)
    assert.equal((await sendScriptedChat(platform, { text: "a b", fail_after: 1 })).status, 502);
}
