/**
 * One fuzzing run on the dispatch plane: hostile nodes send the frames of a seed, honest clients send requests, and all
 * responses are checked.
 */

import type { RawNode } from "@tollgate/stage/nodes/raw-node.ts";
import { pauseFor } from "@tollgate/stage/nodes/real-time-pauses.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { FuzzTarget } from "../fuzz-target.ts";
import { SeededChoices } from "../seeded-choices.ts";
import { CONNECTION_ATTACKS } from "./connection-attacks.ts";
import { type Message, makeMessage } from "./node-messages.ts";
import {
  type Answer,
  HOSTILE_NODES_MODEL,
  judgeHonestNodeAnswer,
  judgeHostileNodeAnswer,
  makeHostileNodeRequest,
  makeKnownTexts,
  sendChatRequest,
  type TextWithKnownTokenCount,
} from "./plane-fuzz-requests.ts";

/** The number of frames per write. */
const BATCH = 20;
/** The share of batches that end with an attack on the connection itself, which is worse than a malformed frame. */
const MISDEED_SHARE = 0.04;
const HONEST_NODE_CLIENTS = 3;
const HOSTILE_NODE_CLIENTS = 24;
const KNOWN_SEED_INDEX = -1;
const FINDINGS_KEPT_MAX = 50;

export interface CampaignCounts {
  frames: number;
  byKind: Map<string, number>;
  honest: number;
  bait: Map<string, number>;
  findings: string[];
  /** The token counts of complete answers, by the suffix of their IDs. */
  counted: Map<string, NonNullable<Answer["usage"]>>;
}

export const createEmptyTally = (): CampaignCounts => ({
  frames: 0,
  byKind: new Map(),
  honest: 0,
  bait: new Map(),
  findings: [],
  counted: new Map(),
});

/**
 * Requests every known text once before the attack, to learn its token counts. They must stay the same during the
 * attack.
 */
export async function learnTokenCounts(seed: number, target: FuzzTarget): Promise<TextWithKnownTokenCount[]> {
  const texts = makeKnownTexts(new SeededChoices(seed, KNOWN_SEED_INDEX));
  return Promise.all(
    texts.map(async ({ text, body }) => {
      const { status, text: got, usage } = await sendChatRequest(target, body);
      if (status !== 200 || got !== text) throw new Error(`before the run, ${status}: ${got}`);
      return { text, body, usage };
    }),
  );
}

interface CampaignOptions {
  seed: number;
  /** The range of frames, `from` to `to`. */
  from: number;
  to: number;
  target: FuzzTarget;
  nodes: RawNode[];
  known: TextWithKnownTokenCount[];
  onProgress?: (frames: number) => void;
}

export async function runPlaneCampaign(options: CampaignOptions, tally: CampaignCounts): Promise<void> {
  const { seed, from, to, nodes } = options;
  let next = from;
  let over = false;
  const take = (): { first: number; last: number } => {
    const first = next;
    next = Math.min(to, next + BATCH);
    return { first, last: next };
  };
  const sending = Promise.all(nodes.map((node) => sendFrames(node, options, tally, take))).finally(() => {
    over = true;
    // The hostile nodes leave, so that waiting clients get a response at once.
    for (const node of nodes) node.leave();
  });
  const asking = [
    ...Array.from({ length: HONEST_NODE_CLIENTS }, (_, i) => requestFromHonestNodes(options, tally, i, () => over)),
    ...Array.from({ length: HOSTILE_NODE_CLIENTS }, (_, i) =>
      requestFromHostileNodes(options, tally, new SeededChoices(seed, -100 - i), () => over),
    ),
  ];
  await Promise.all([sending, ...asking]);
}

async function sendFrames(
  node: RawNode,
  { seed, nodes, onProgress }: CampaignOptions,
  tally: CampaignCounts,
  take: () => { first: number; last: number },
): Promise<void> {
  const frames = nodes.indexOf(node) % 2 === 0 ? "readable" : "any";
  for (;;) {
    const { first, last } = take();
    if (first === last) break;
    if (!node.isConnected) await eventually("the plane lets a hostile node in", () => node.connect());
    const messages: Message[] = [];
    for (let index = first; index < last; index++) {
      const foreign = nodes.flatMap((other) => (other === node ? [] : other.jobs));
      const here = { node: node.id, gateway: node.gateway, jobs: node.jobs, foreign, models: [HOSTILE_NODES_MODEL] };
      messages.push(makeMessage(new SeededChoices(seed, index), here, frames));
    }
    await node.publish(messages);
    for (const { kind } of messages) count(tally.byKind, kind);
    tally.frames += messages.length;
    const random = new SeededChoices(seed, -1_000_000 - first);
    if (random.chance(MISDEED_SHARE)) {
      const { kind, commit } = random.weighted(CONNECTION_ATTACKS);
      await commit(random, node);
      count(tally.byKind, kind);
    } else {
      // Waits until the plane has read everything that the node sent, so that the frames reach the gateway and do not
      // only fill the buffer of the node's socket.
      await node.heardOut();
    }
    onProgress?.(tally.frames);
  }
}

async function requestFromHonestNodes(
  { target, known }: CampaignOptions,
  tally: CampaignCounts,
  first: number,
  isOver: () => boolean,
): Promise<void> {
  for (let i = first; !isOver(); i++) {
    const due = known[i % known.length] as TextWithKnownTokenCount;
    const answer = await sendChatRequest(target, due.body);
    note(tally, answer, judgeHonestNodeAnswer(due, answer));
    tally.honest += 1;
  }
}

async function requestFromHostileNodes(
  { target }: CampaignOptions,
  tally: CampaignCounts,
  random: SeededChoices,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    const answer = await sendChatRequest(target, makeHostileNodeRequest(random));
    note(tally, answer, judgeHostileNodeAnswer(answer));
    count(tally.bait, answer.code ?? String(answer.status));
    // Pauses after an error such as a missing slot, to limit the rate of requests.
    if (answer.status !== 200) await pauseFor(20);
  }
}

function note(tally: CampaignCounts, answer: Answer, finding: string | undefined): void {
  if (finding !== undefined && tally.findings.length < FINDINGS_KEPT_MAX) tally.findings.push(finding);
  const { id, usage } = answer;
  if (answer.status !== 200 || answer.code !== undefined || id === undefined || usage === undefined) return;
  tally.counted.set(id.slice(id.indexOf("-") + 1), usage);
}

function count(counts: Map<string, number>, kind: string): void {
  counts.set(kind, (counts.get(kind) ?? 0) + 1);
}

export function formatPlaneTally({ byKind, bait, honest }: CampaignCounts): string {
  const row = ([kind, n]: [string, number]): string => `${kind.padEnd(26)}${String(n).padStart(9)}`;
  return [
    ...[...byKind].sort(([, a], [, b]) => b - a).map(row),
    row(["honest answers", honest]),
    ...[...bait].map(([code, n]) => row([`bait: ${code}`, n])),
  ].join("\n");
}
