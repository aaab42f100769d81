/**
 * Draws combinations of faults and requests that rarely occur by chance. They come from a separate random stream, so
 * that adding a scene does not change the rest of a plan.
 */

import type { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import type { Plan, PlanItem, RequestPlan } from "./world-plan.ts";

/** The model of the scenes' requests. Every scene makes sure that some node serves it and has free slots. */
const MODEL = "tiny-3b";
const EMBEDDING = "embed-m3";
const EVERY_MODEL = ["tiny-3b", "small-8b", "reason-32b", EMBEDDING];
const RICH = "5000000000000";
const WORDS = 20;

/** Matches faults that could end an attempt, and so would disturb the scene with embeddings. */
const TROUBLE = /^(store|cut|slow|crash|drain)/;

/**
 * Matches plan items that disturb the scene of `limitsAway`: after them, a key might be unable to use all its slots or
 * to send more requests.
 */
const ENDS_SCENE = /^(store|cut|slow|crash|drain|limits|revoke)/;
/** How long an earlier fault may still have effects, in milliseconds. */
const LASTS_MS = 15_000;

export function addRareCombinations(chance: SeededRandom, plan: Plan): void {
  const hasStoreTrouble = plan.items.some(({ do: what }) => what.startsWith("store"));
  if (chance.oneIn(5)) {
    const scene = limitsAway(chance, plan);
    const [from, to] = [Math.min(...scene.map(({ atMs }) => atMs)), Math.max(...scene.map(({ atMs }) => atMs))];
    plan.items = plan.items.filter(
      ({ do: what, atMs }) => !ENDS_SCENE.test(what) || atMs < from - LASTS_MS || atMs > to,
    );
    plan.items.push(...scene);
  } else if (chance.oneIn(6) && plan.gateways.length > 1) plan.items.push(...cutFromStore(chance, plan));
  else if (chance.oneIn(3) && !hasStoreTrouble) addImpostor(plan);
  else if (!plan.items.some(({ do: what }) => TROUBLE.test(what))) plan.items.push(...embeddings(chance, plan));
}

/**
 * Draws a failure of the limits server while a key has all its slots in use. Some requests end meanwhile, some
 * continue. Some arrive before the gateways notice the failure, and some while gateways refuse requests or count alone.
 * After the recovery the key sends more requests.
 */
function limitsAway(chance: SeededRandom, plan: Plan): PlanItem[] {
  makeRoom(plan);
  const account = chance.below(plan.accounts.length);
  const inFlight = chance.between(1, 3);
  const unlimited = { requestsPerMinute: null, tokensPerMinute: null, budgetDay: null };
  Object.assign(plan.accounts[account] as object, { credit: RICH, inFlight, ...unlimited });
  const forMs = chance.pick([2_000, 4_000, 8_000]);
  const atMs = chance.between(3_000, Math.max(3_000, plan.endMs - forMs - 16_000));
  const backMs = atMs + forMs;
  const how = chance.pick(["hangs", "dies"] as const);
  const ask = (askedMs: number, lastsMs: number): PlanItem => {
    const gateway = chance.below(plan.gateways.length);
    return { atMs: askedMs, do: "ask", ask: makePlainRequest({ account, gateway, lastsMs, stream: chance.oneIn(2) }) };
  };
  const some = (count: number, fromMs: number, toMs: number, lastsMs: () => number): PlanItem[] =>
    Array.from({ length: count }, () => ask(chance.between(fromMs, toMs), lastsMs()));
  const brief = (): number => chance.between(500, forMs);
  const long = (): number => chance.between(forMs + 8_000, forMs + 14_000);
  const endsMeanwhile = chance.oneIn(2);
  return [
    { atMs, do: "limits away", how, forMs },
    ...some(inFlight, atMs - 1_500, atMs - 300, endsMeanwhile ? brief : long),
    // The limits server receives these requests' commands and never answers them.
    ...some(2, atMs + 20, atMs + 1_000, brief),
    ...some(2 * inFlight + 2, atMs + 200, backMs - 100, long),
    ...some(inFlight + 1, backMs + 5_500, backMs + 9_000, brief),
    ...some(inFlight + 1, backMs + 5_500, backMs + 14_000, brief),
  ];
}

/**
 * Draws an outage in which one gateway loses the database for longer than a lease while the others keep it. That
 * gateway settles late the requests that it answers meanwhile.
 */
function cutFromStore(chance: SeededRandom, plan: Plan): PlanItem[] {
  makeRoom(plan);
  const gateway = chance.below(plan.gateways.length);
  const atMs = chance.between(2_000, plan.endMs);
  const account = chance.below(plan.accounts.length);
  Object.assign(plan.accounts[account] as object, { credit: RICH, inFlight: null });
  const asks = Array.from({ length: 4 }, (): PlanItem => {
    const lastsMs = chance.between(500, 8_000);
    const order = makePlainRequest({ account, gateway, lastsMs, stream: chance.oneIn(2) });
    return { atMs: chance.between(Math.max(0, atMs - 1_500), atMs - 50), do: "ask", ask: order };
  });
  return [...asks, { atMs, do: "store cut", gateway, forMs: chance.between(70_000, 110_000) }];
}

/**
 * Turns the third node into one that gives every question the same answer, in a world with other nodes that can expose
 * it.
 */
function addImpostor(plan: Plan): void {
  const last = plan.nodes[2];
  if (last !== undefined) Object.assign(last, { kind: "constant", models: EVERY_MODEL });
}

/**
 * Draws embedding requests with several texts each. Their nodes send wrong vectors, or are honest and fall silent after
 * one vector of the first attempt. If the gateway kept that vector, it would blame the node of the next attempt.
 */
function embeddings(chance: SeededRandom, plan: Plan): PlanItem[] {
  makeRoom(plan);
  const isSilent = chance.oneIn(2);
  const bad = { kind: "bad vectors", models: [EMBEDDING] };
  if (!isSilent) for (const node of plan.nodes.slice(1, 3)) Object.assign(node, bad);
  const account = chance.below(plan.accounts.length);
  const unlimited = { inFlight: null, requestsPerMinute: null, tokensPerMinute: null, budgetDay: null };
  Object.assign(plan.accounts[account] as object, { credit: RICH, ...unlimited });
  const gateway = chance.below(plan.gateways.length);
  return Array.from({ length: 24 }, (_, i): PlanItem => {
    const { script, ...plain } = makePlainRequest({ account, gateway, lastsMs: 100, stream: false });
    const fault = isSilent ? { kind: "stall" as const, attempt: 1, after: 1 } : null;
    const ask = { ...plain, model: EMBEDDING, texts: chance.between(2, 4), script: { ...script, fault } };
    return { atMs: 1_000 + 1_000 * i, do: "ask", ask };
  });
}

/** Makes two nodes honest and lets them serve every model. */
function makeRoom(plan: Plan): void {
  for (const node of plan.nodes.slice(0, 2)) Object.assign(node, { slots: 4, models: EVERY_MODEL });
}

interface Plain {
  account: number;
  gateway: number;
  stream: boolean;
  /** The time from acceptance to the last word, in milliseconds. */
  lastsMs: number;
}

export function makePlainRequest({ lastsMs, ...who }: Plain): RequestPlan {
  return {
    ...who,
    model: MODEL,
    promptWords: 3,
    maxTokens: 64,
    stop: null,
    formatted: false,
    texts: 1,
    leavesMs: null,
    script: {
      words: WORDS,
      thinkWords: 0,
      perDelta: 1,
      ttftMs: 50,
      everyMs: Math.round(lastsMs / WORDS),
      fault: null,
    },
  };
}
