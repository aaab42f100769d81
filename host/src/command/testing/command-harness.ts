/** Test helper: runs one command on a fake machine, optionally logged in to a stub gateway. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { JSON_FLAG } from "@tollgate/terminal/command.ts";
import type { CommandFailure } from "@tollgate/terminal/explain-failure.ts";
import { parseCommandInput } from "@tollgate/terminal/parse-command-line.ts";
import { FakeTerminal, type FakeTerminalOptions } from "@tollgate/terminal/testing/fake-terminal.ts";
import { systemClock } from "../../clock.ts";
import type { FoundEngine } from "../../engines/detect-engines.ts";
import type { EngineAbsence } from "../../engines/engine-absence.ts";
import { MemoryPlane } from "../../testing/memory-plane.ts";
import type { Command, CommandContext } from "../command.ts";
import { convertToCommandFailure } from "../errors.ts";
import { type Login, openLoginFile } from "../login-file.ts";
import { fakeMachine } from "./fake-machine.ts";
import { STUB_HOST_TOKEN, STUB_NODE_ID, stubGateway } from "./stub-gateway.ts";

export interface HarnessOptions extends FakeTerminalOptions {
  context?: Partial<CommandContext>;
  /** The engines that are found on the machine. */
  engines?: FoundEngine[];
  /** The reported reasons why engines were not found. */
  absences?: EngineAbsence[];
}

export async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-host-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export async function commandHarness(t: TestContext, options: HarnessOptions = {}) {
  const terminal = new FakeTerminal(options);
  const logins = openLoginFile(join(await temporaryDirectory(t), "tollgate"));
  const context: CommandContext = {
    env: {},
    version: "tollgate-host/0.0.0",
    program: { node: "/opt/node/bin/node", file: "/opt/tollgate/host/bin/tollgate-host.mjs" },
    terminal,
    clock: systemClock,
    machine: fakeMachine(),
    logins,
    findEngines: async () => options.engines ?? [],
    findAbsences: async () => options.absences ?? [],
    dial: new MemoryPlane().dial,
    supervisor: () => {
      throw new Error("this command does not run on");
    },
    ...options.context,
  };
  const run = (command: Command, ...args: string[]): Promise<number> => {
    const flags = { ...command.flags, ...JSON_FLAG };
    return command.run(parseCommandInput("command", { ...command, flags }, args), context);
  };
  /** Runs a command that fails, and returns its message. */
  const fails = async (command: Command, ...args: string[]): Promise<CommandFailure> => {
    try {
      await run(command, ...args);
    } catch (error) {
      return convertToCommandFailure(error);
    }
    throw new Error("the command went through");
  };
  return { terminal, logins, context, run, fails };
}

/** A harness with a stub gateway and a login for its only node. */
export async function makeLoggedInHarness(t: TestContext, options: HarnessOptions & { login?: Partial<Login> } = {}) {
  const gateway = await stubGateway(t);
  const made = await commandHarness(t, options);
  await made.logins.write({
    gateway: gateway.url,
    token: STUB_HOST_TOKEN,
    node: { id: STUB_NODE_ID, name: "box" },
    ...options.login,
  });
  return { ...made, gateway };
}
