/**
 * The clients of a run. Honest clients request known texts from honest nodes and must get exactly these. Bait clients
 * use hostile nodes: their requests may fail in any documented way, but output must belong to their own request.
 */

import { readText } from "@tollgate/stage/raw-http.ts";
import type { FuzzTarget } from "../fuzz-target.ts";
import type { SeededChoices } from "../seeded-choices.ts";
import { FOREIGN_OUTPUT_WORD } from "./node-messages.ts";

export interface Answer {
  status: number;
  /** The completion's ID `chatcmpl-…`, if the response has one. */
  id: string | undefined;
  text: string;
  /** The error code of the response or of the stream's last event. */
  code: string | undefined;
  usage: { prompt_tokens: number; completion_tokens: number } | undefined;
}

interface Chunk {
  id?: string;
  error?: { code?: string };
  usage?: Answer["usage"] | null;
  choices?: { delta?: Content; message?: Content }[];
}

interface Content {
  content?: string | null;
  vendor_reasoning_content?: string;
}

export async function sendChatRequest(target: FuzzTarget, body: object): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${target.port}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${target.key}`, "content-type": "application/json" },
    body: JSON.stringify({ stream_options: { include_usage: true }, ...body }),
  });
  const raw = await readText(response);
  const lines = raw.startsWith("{")
    ? [raw]
    : raw.split("\n").flatMap((line) => (/^data: (?=\{)/.test(line) ? [line.slice(6)] : []));
  const chunks = lines.map((line) => JSON.parse(line) as Chunk);
  const contents = chunks.flatMap(({ choices = [] }) => choices.map(({ delta, message }) => delta ?? message ?? {}));
  return {
    status: response.status,
    id: chunks[0]?.id,
    text: contents.map(({ content }) => content ?? "").join(""),
    code: chunks.find(({ error }) => error !== undefined)?.error?.code,
    usage: chunks.findLast(({ usage }) => usage != null)?.usage ?? undefined,
  };
}

/** A text whose token counts are learned before the run. */
export interface TextWithKnownTokenCount {
  text: string;
  body: object;
  usage: Answer["usage"];
}

export const HONEST_NODES_MODEL = "tiny-3b";
export const HOSTILE_NODES_MODEL = "small-8b";

export function makeKnownTexts(random: SeededChoices): Omit<TextWithKnownTokenCount, "usage">[] {
  return Array.from({ length: 24 }, (_, i) => {
    const text = random.times(1, 60, () => random.word(random.between(1, 9))).join(" ");
    const content = `#script ${JSON.stringify({ text })}`;
    const body = {
      model: HONEST_NODES_MODEL,
      messages: [{ role: "user", content }],
      max_tokens: 2_000,
      stream: i % 2 === 0,
    };
    return { text, body };
  });
}

/** Returns the mistake in an honest client's response, or undefined. */
export function judgeHonestNodeAnswer(known: TextWithKnownTokenCount, answer: Answer): string | undefined {
  const { status, code, text, usage } = answer;
  if (status !== 200 || code !== undefined) return `an honest request was answered ${status} ${code ?? ""}`;
  if (text !== known.text) return `an honest answer is not the one that was asked for: ${JSON.stringify(text)}`;
  const costs = JSON.stringify(usage) === JSON.stringify(known.usage);
  return costs ? undefined : `an honest answer was counted as ${JSON.stringify(usage)}`;
}

export const makeHostileNodeRequest = (random: SeededChoices): object => ({
  model: HOSTILE_NODES_MODEL,
  messages: [{ role: "user", content: random.word(random.between(1, 30)) }],
  max_tokens: random.pick([1, 100, 1_000, 1_000]),
  stream: random.chance(0.5),
});

/** The error codes that are allowed here, because hostile nodes or the many concurrent clients may cause them. */
const HOSTILE_NODE_ERROR_CODES = ["upstream_failed", "upstream_stall", "no_capacity", "rate_limit_sku_capacity"];

export function judgeHostileNodeAnswer(answer: Answer): string | undefined {
  const { status, id, text, code } = answer;
  if (text.includes(FOREIGN_OUTPUT_WORD))
    return `a client read what was made for another's job: ${JSON.stringify(text.slice(0, 200))}`;
  const suffix = id?.slice(id.indexOf("-") + 1);
  const strange = [...text.matchAll(/\[([0-9a-z]{26})\]/g)].find(([, mark]) => mark !== suffix);
  if (strange !== undefined) return `the answer ${id} holds output of ${strange[1]}`;
  const defined = code === undefined ? status === 200 : HOSTILE_NODE_ERROR_CODES.includes(code);
  return defined ? undefined : `bait was answered ${status} ${code ?? ""}`;
}
