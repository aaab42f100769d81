/** `tollgate-host doctor`: checks everything that serving needs. A check comes after the checks it depends on. */
import {
  type CheckResult,
  failedCheck,
  formatCheckLines,
  passedCheck,
  warningCheck,
} from "@tollgate/terminal/check-results.ts";
import type { CommandInput } from "@tollgate/terminal/command.ts";
import type { Engine } from "../../engines/engine.ts";
import { EMBEDDING_MODELS } from "../../engines/model-names.ts";
import { usesLocalMemory } from "../choose-engine.ts";
import { type Command, type CommandContext, printResult } from "../command.ts";
import { formatCounted } from "../format-values.ts";
import { type GatewayClient, gatewayClient } from "../gateway/gateway-client.ts";
import { type Login, toEngineSettings } from "../login-file.ts";
import { openLocalEngine } from "../open-local-engine.ts";
import { checkSpeed } from "./check-speed.ts";
import {
  checkGateway,
  checkMemory,
  checkNode,
  checkSlots,
  checkToken,
  createCheckFromError,
  diskCheck,
  planeCheck,
} from "./host-checks.ts";
import { GENERATION_CHECKS, MODEL_CHECKS, type ModelCheck } from "./model-checks.ts";

export const doctorCommand: Command = {
  help: "check everything that serving needs, and show what to do",
  flags: { "no-speed": { help: "skip the speed test of the engine" } },
  more: [
    "The command checks the login, the gateway and its clock, the token, the node, the dispatch plane, the engine with its tokenizers, chat templates and speed, memory and disk. Each finding is ok, warn or fail, with what to do. The exit code is 1 if anything failed.",
  ],
  example: "--no-speed",
  run,
};

async function run({ switches, json }: CommandInput, context: CommandContext): Promise<number> {
  const { terminal } = context;
  const checks: CheckResult[] = [];
  for await (const check of examine(context, { speed: !switches.has("no-speed") })) {
    checks.push(check);
    if (!json) for (const line of formatCheckLines(check, terminal.paint)) terminal.print(line);
  }
  const count = (verdict: CheckResult["verdict"]): number => checks.filter((check) => check.verdict === verdict).length;
  const failed = count("fail");
  printResult(context, json, { ok: failed === 0, checks }, () => [
    "",
    failed > 0
      ? `${formatCounted(failed, "failure")}, ${formatCounted(count("warn"), "warning")}: this machine cannot serve yet`
      : `ready to serve, ${formatCounted(count("warn"), "warning")}`,
  ]);
  return failed > 0 ? 1 : 0;
}

/** Yields each result at once, so that a slow check does not delay printing the others. */
async function* examine(context: CommandContext, options: { speed: boolean }): AsyncGenerator<CheckResult> {
  const { logins } = context;
  const login = await logins.read();
  if (login === undefined) {
    yield failedCheck("login", "this machine is not logged in", "tollgate-host login");
  } else {
    yield (await logins.isExposed())
      ? warningCheck(
          "login",
          `others can read ${logins.path}`,
          `run chmod 600 on the file, then replace the token: tollgate-host login`,
        )
      : passedCheck("login", logins.path);
    yield* platformChecks(login, context);
  }
  yield* engineChecks(login, context, options);
  yield await diskCheck(context.machine);
}

async function* platformChecks(login: Login, context: CommandContext): AsyncGenerator<CheckResult> {
  const gateway = gatewayClient(login);
  const { progress } = context.terminal;
  progress.step("connecting to the gateway");
  const reach = await checkGateway(gateway, context.clock);
  yield* reach;
  if (reach.some(({ name, verdict }) => name === "gateway" && verdict === "fail")) return;
  progress.step("checking the host token and this node");
  const token = await checkToken(gateway);
  yield token;
  if (token.verdict === "fail") return;
  yield* nodeChecks(gateway, login, context);
}

async function* nodeChecks(gateway: GatewayClient, login: Login, context: CommandContext): AsyncGenerator<CheckResult> {
  if (login.node === undefined) {
    yield failedCheck("node", "this machine is not a node yet", "tollgate-host register");
    return;
  }
  const { id } = login.node;
  const node = await gateway
    .node(id)
    .then(checkNode, (error) => createCheckFromError("node", error, "tollgate-host register"));
  yield node;
  if (node.verdict === "ok") {
    const slots = await gateway
      .stats(id)
      .then(checkSlots, (error) => createCheckFromError("slots", error, "tollgate-host status"));
    if (slots !== undefined) yield slots;
  }
  context.terminal.progress.step("connecting to the dispatch plane");
  if (node.verdict !== "fail") yield await planeCheck(gateway, id, context);
}

async function* engineChecks(
  login: Login | undefined,
  context: CommandContext,
  options: { speed: boolean },
): AsyncGenerator<CheckResult> {
  if (login?.serving === undefined) {
    if (login?.node !== undefined)
      yield failedCheck("engine", "no models are chosen on this machine", "tollgate-host elect");
    yield await checkMemory(context.machine, []);
    return;
  }
  const settings = toEngineSettings(login.serving);
  let engine: Engine;
  const { progress } = context.terminal;
  progress.step("looking for the engine");
  try {
    ({ engine } = await openLocalEngine({ ...settings, settled: true, demoFallback: false }, context));
  } catch (error) {
    yield createCheckFromError(
      "engine",
      error,
      "start the engine, or choose the models again with tollgate-host elect",
    );
    return;
  }
  try {
    const { models } = login.serving;
    yield passedCheck("engine", `${engine.name} serves ${models.join(", ")}, ${engine.slots} at once`);
    for (const note of engine.notes ?? [])
      yield warningCheck("engine", note, "docs/hosts/engines.md says how to set up each engine");
    yield* modelChecks(MODEL_CHECKS, engine, models, context);
    for (const model of options.speed ? models : []) {
      progress.step(`measuring the speed of ${model}`);
      yield await checkSpeed(engine, model, kindOf(model), context.clock);
    }
    if (options.speed) yield* modelChecks(GENERATION_CHECKS, engine, models, context);
    yield await checkMemory(context.machine, usesLocalMemory(settings) ? models : []);
  } finally {
    await engine.close();
  }
}

async function* modelChecks(
  checks: readonly ModelCheck[],
  engine: Engine,
  models: string[],
  { clock, terminal }: CommandContext,
): AsyncGenerator<CheckResult> {
  for (const look of checks)
    for (const model of models) {
      terminal.progress.step(`testing ${model}`);
      const check = await look(engine, model, clock);
      if (check !== undefined) yield check;
    }
}

const kindOf = (model: string): "generation" | "embedding" =>
  EMBEDDING_MODELS.includes(model) ? "embedding" : "generation";
