/**
 * `npm run engines:spot-checks`: runs spot checks between two engines with the same model: llama.cpp inside the agent,
 * which can score a given text, and llama.cpp's server, which only reports candidates for the next token. Two honest
 * hosts run each engine, and a third one cheats by answering another prompt. The gateway's own checker checks every
 * answer, until enough were judged: the first ones only build the samples. Exits with 1 if an honest node would be
 * quarantined, or a cheating one would not.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { newIds, publicId } from "../../gateway/src/base/ids.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { seededRandom } from "../../gateway/src/base/testing.ts";
import type { DispatchResult } from "../../gateway/src/dispatch/dispatch-result.ts";
import type { Dispatcher } from "../../gateway/src/dispatch/dispatcher.ts";
import { createRosterNode, type RosterNode } from "../../gateway/src/dispatch/roster-node.ts";
import { type ActiveModel, loadCatalogue } from "../../gateway/src/metering/catalogue.ts";
import { generateCanary } from "../../gateway/src/trust/generated-canaries.ts";
import { openSpotChecks, type SpotChecks } from "../../gateway/src/trust/spot-checks/checker.ts";
import {
  addCheck,
  computeEvidenceStrength,
  INITIAL_TEST_STATE,
  type SequentialTestState,
} from "../../gateway/src/trust/spot-checks/sequential-test.ts";
import type { CheckStore } from "../../gateway/src/trust/spot-checks/store.ts";
import { VERIFIER_RESULTS_KEPT } from "../../gateway/src/trust/spot-checks/verdict.ts";
import type { Engine, GenerationJob, ScoringJob } from "../../host/src/engines/engine.ts";
import { llamaCppEngine } from "../../host/src/engines/llama-cpp/llama-cpp.ts";
import { openAiEngine } from "../../host/src/engines/openai-engine.ts";
import { llamaServerProfile as profile } from "../../host/src/engines/profiles/llama-server.ts";
import { ENGINE_CACHE_DIRECTORY } from "../install/cache.ts";
import { llamaServerEngine } from "../servers/llama-server.ts";

const MODEL = "tiny-3b";
const GGUF = fileURLToPath(new URL("../../host/models/tollgate-demo.gguf", import.meta.url));
/** Enough for answers of both length classes. */
const OUTPUT_TOKENS_MAX = 48;
const PROMPT_TOKENS = [20, 60, 200];
const TEMPERATURES = [0, 0.8];
/**
 * A day in milliseconds, the period of the spot checks' settings. The answers checked by one method are spread over one
 * day.
 */
const DAY_MS = 86_400_000;
const FALSE_ALARMS = 1e-4;
const CONTROL_ANSWERS_MAX = 100;
const ANSWERS_PER_JUDGED_MAX = 5;
const UNJUDGED = /unjudged|trap/;
const AT_ONCE = 4;
const FINISHED: DispatchResult = {
  ...{ end: "finished", finish: "stop", server: null, attempts: 1, queueMs: 0, ttftMs: 0, pace: null },
};

const { values } = parseArgs({
  options: {
    answers: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    /** Only this method, `text` or `next`, with half of the answers. */
    method: { type: "string" },
  },
});
const answers = Number(values.answers);
const missing = await llamaServerEngine.install();
if (missing !== undefined) {
  console.log(`left out: ${missing}`);
  process.exit(0);
}
const catalogue = await loadCatalogue(new URL("../../gateway/catalogue/models.json", import.meta.url));
const model = catalogue.active.get(MODEL) as ActiveModel;
const random = seededRandom(Number(values.seed));
const newId = newIds(systemClock, random);
const pick = <T>(of: readonly T[]): T => of[random.below(of.length)] as T;

const port = await findFreePort();
const server = await llamaServerEngine.start?.(
  { folder: "", gguf: GGUF },
  port,
  join(ENGINE_CACHE_DIRECTORY, `spot-checks-${port}.log`),
);
if (server === undefined) throw new Error("llama-server has no process");
const engines: Engine[] = [
  await llamaCppEngine({ name: "in the agent", file: GGUF, models: [MODEL], slots: 2, clock: systemClock }),
  openAiEngine({
    ...{ name: "llama-server", url: server.url, profile, slots: 2, clock: systemClock },
    models: new Map([[MODEL, "Llama-3.2-3B-Instruct"]]),
  }),
];

interface Host {
  node: RosterNode;
  engine: Engine;
  kind: "text" | "next";
}
/** Two honest hosts for each engine, and one cheating host for each. */
const hosts: Host[] = await Promise.all([0, 1, 0, 1, 0, 1].map(async (index) => openHost(engines[index] as Engine)));
let verdicts: Record<string, number> = {};
const barred: string[] = [];
const tests = new Map<string, SequentialTestState>();
/** The number of tokens of each text that a verifier answered. */
const tokenCounts = new Map<string, number>();
let highest = 0;
let now = Date.now();
const checks = await openChecks();

let failed = false;
try {
  for (const method of ["text", "next"] as const)
    if (values.method === undefined || values.method === method) failed = !(await passes(method)) || failed;
} finally {
  for (const engine of engines) await engine.close();
  await server.kill();
}
process.exit(failed ? 1 : 0);

/** The checks whose answer was judged: neither a trap for the verifier nor an addition to a sample that is too small. */
function countJudged(): number {
  return Object.entries(verdicts).reduce((sum, [what, count]) => (UNJUDGED.test(what) ? sum : sum + count), 0);
}

/** Returns whether spot checks by this method quarantine every cheating node and no honest one. */
async function passes(method: "text" | "next"): Promise<boolean> {
  for (const { node, kind } of hosts) node.scores = kind === method ? { [MODEL]: kind } : {};
  const honest = hosts.slice(0, 4);
  const share = answers / 2;
  let given = 0;
  while (countJudged() < share) {
    if (given > share * ANSWERS_PER_JUDGED_MAX)
      throw new Error(`only ${countJudged()} of ${given} answers were judged`);
    await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => give(honest[(given + i) % honest.length] as Host)));
    given += AT_ONCE;
    now += (DAY_MS * AT_ONCE) / share;
    if (given % 100 < AT_ONCE)
      console.error(`${given} answers, ${countJudged()} judged, strongest evidence ${highest.toFixed(1)}`);
  }
  const names = honest.filter(({ node }) => barred.includes(node.id)).map(({ engine }) => engine.name);
  console.log(`${given} answers of honest nodes, ${countJudged()} judged, by ${method}: ${JSON.stringify(verdicts)}`);
  console.log(
    `  strongest evidence ${highest.toFixed(1)} of ${1 / FALSE_ALARMS}; barred: ${names.join(", ") || "none"}`,
  );
  let passed = names.length === 0;
  for (const cheat of hosts.slice(4)) {
    let given = 0;
    while (!barred.includes(cheat.node.id) && given < CONTROL_ANSWERS_MAX) {
      await give(cheat, { cheats: true });
      given += 1;
    }
    const isBarred = barred.includes(cheat.node.id);
    console.log(
      `  answers to other prompts, ${cheat.engine.name}: ${isBarred ? `barred after ${given}` : "NOT BARRED"}`,
    );
    passed &&= isBarred;
  }
  verdicts = {};
  tests.clear();
  barred.length = 0;
  highest = 0;
  return passed;
}

async function openHost(engine: Engine): Promise<Host> {
  const [hostAccountId, nodeId] = [newId(), newId()];
  const node = createRosterNode(publicId("node", nodeId), { nodeId, hostAccountId, models: [MODEL] });
  const kind = await engine.scoring?.(MODEL);
  if (kind === undefined) throw new Error(`${engine.name} cannot score`);
  return { engine, kind, node: Object.assign(node, { models: new Set([MODEL]), slots: 8 }) };
}

/** Sends a builder's request to this host's node, and waits for the spot check of the answer. */
async function give({ node, engine }: Host, { cheats = false } = {}): Promise<void> {
  const [asked, other] = [askedOf(), askedOf()];
  const job: GenerationJob = {
    ...{ id: newId(), attempt: 1, model: MODEL, endpoint: "chat", outputTokensMax: OUTPUT_TOKENS_MAX },
    ...{ input: { messages: (cheats ? other : asked).messages }, sampling: asked.sampling },
  };
  const text = await textOf(engine, job);
  const completionTokens = await countTokens(text);
  checks.check({
    ...{ requestId: newId(), nodeId: node.id, endpoint: "chat", model, sampling: asked.sampling, formatted: false },
    ...{ body: { messages: asked.messages }, outputTokensMax: OUTPUT_TOKENS_MAX },
    ...{ promptTokens: 1, completionTokens, text, reasoning: "", vectors: [] },
  });
  await checks.settled();
}

function askedOf(): Pick<ReturnType<typeof generateCanary>, "messages"> & { sampling: { temperature: number } } {
  const [promptTokens, temperature] = [pick(PROMPT_TOKENS), pick(TEMPERATURES)];
  const shape = {
    ...{ endpoint: "chat" as const, promptTokens, outputTokensMax: OUTPUT_TOKENS_MAX, stream: true, texts: 0 },
    ...{ stops: 0, format: null },
    sampling: { temperature },
  };
  return { messages: generateCanary(model, random, { shape }).messages, sampling: { temperature } };
}

/** Ends the answer at its output cap, as the gateway does: the engine in the agent may generate a few tokens more. */
async function textOf(engine: Engine, job: GenerationJob): Promise<string> {
  const pieces: string[] = [];
  const over = new AbortController();
  const delta = (_channel: string, piece: string): void => {
    if (pieces.length < job.outputTokensMax) pieces.push(piece);
    else over.abort();
  };
  await engine.generate(job, { delta, progress: () => {} }, over.signal);
  return pieces.join("");
}

/** All answers are counted with one tokenizer, because checks also compare their lengths. */
async function countTokens(text: string): Promise<number> {
  const tokens = await engines[0]?.tokens?.(MODEL, text);
  if (tokens === undefined) throw new Error("the engine in the agent cannot count tokens");
  return tokens.length;
}

async function openChecks(): Promise<SpotChecks> {
  const dispatcher: Pick<Dispatcher, "runOn" | "measured"> = {
    measured() {},
    async runOn(nodeId, { body, header }, sink) {
      const { engine } = hosts.find(({ node }) => node.id === nodeId) as Host;
      const { messages, score } = body as { messages: GenerationJob["input"] & never; score?: ScoringJob["score"] };
      const job: GenerationJob = {
        ...{ id: newId(), attempt: 1, model: MODEL, endpoint: "chat", input: { messages } },
        ...{ sampling: header.sampling, outputTokensMax: header.output_tokens_max },
      };
      sink.begin(nodeId);
      if (score === undefined) {
        const text = await textOf(engine, job);
        tokenCounts.set(text, await countTokens(text));
        sink.delta("answer", text);
      } else
        sink.scored?.((await engine.score?.({ ...job, score }, { progress() {} }, new AbortController().signal)) ?? []);
      return sink.finished() === "answered" ? FINISHED : { ...FINISHED, end: "broken" };
    },
  };
  const meter = () => ({
    ...{ tokenizer: "", tokenizerSha256: "", countPrompt: async () => ({ tokens: 1, over: null }) },
    openOutput: () => {
      let said = "";
      const push = (_channel: string, text: string): string => {
        said += text;
        return text;
      };
      const end = () => {
        const answerTokens = tokenCounts.get(said);
        if (answerTokens === undefined) throw new Error(`the tokens of a verifier's answer were not counted: ${said}`);
        return { answerTokens, reasoningTokens: 0 };
      };
      return { full: false, push, end };
    },
  });
  return await openSpotChecks({
    gateway: { dispatcher: dispatcher as Dispatcher, meter, catalogue: () => catalogue },
    roster: {
      nodes: () => hosts.map(({ node }) => node),
      find: (id) => hosts.find(({ node }) => node.id === id)?.node,
    },
    store: memoryStore(),
    money: { withhold: async () => {} },
    ...{ references: new Set<string>(), falseAlarms: FALSE_ALARMS, automatic: true },
    ...{ isOdd: () => false, isUnreliable: () => false },
    quarantine: async (nodeId) => void barred.push(nodeId),
    ...{ newId, clock: { ...systemClock, now: () => now }, random, log: createLog("warn") },
  });
}

function memoryStore(): CheckStore {
  const verifierErrors = new Map<string, boolean[]>();
  return {
    calibration: async () => [],
    recordSample: async () => {},
    owe: async () => {},
    badScores: async () => [],
    verifierErrors: async () => new Map(),
    async addVerifierError(hostId, erred) {
      const latest = [...(verifierErrors.get(hostId) ?? []), erred].slice(-VERIFIER_RESULTS_KEPT);
      verifierErrors.set(hostId, latest);
      return latest;
    },
    async record({ nodeId, verdict, method, at }, noted) {
      const what = `${method} ${verdict}`;
      verdicts[what] = (verdicts[what] ?? 0) + 1;
      if (noted === undefined) return INITIAL_TEST_STATE;
      const state = addCheck(tests.get(nodeId) ?? INITIAL_TEST_STATE, { ...noted, at: at.getTime() });
      tests.set(nodeId, state);
      highest = Math.max(highest, computeEvidenceStrength(state));
      return state;
    },
  };
}
