/**
 * Frames with which a hostile node could keep a gateway busy. Each attacks one part of the code that stores or scans a
 * node's bytes.
 */
import { DELTAS_FRAME_TEXT_BYTES_MAX, DELTAS_PER_FRAME_MAX } from "@tollgate/protocol/frame-limits.ts";
import { PROTOCOL_MAJOR } from "@tollgate/protocol/version.ts";
import { chat } from "../../gateway/src/routes/openai/chat.ts";
import { embeddings } from "../../gateway/src/routes/openai/embeddings.ts";
import { hostileTexts } from "../metering/sample-texts.ts";
import type { GatewayUnderTest, JobOptions } from "./gateway-under-test.ts";

// Frames are built by hand, as a hostile node would, within the protocol's limits or far beyond them. Layout:
// protocol/src/frame-codec.ts.
const KIND = { job: 1, accepted: 16, deltas: 19, vectors: 20, done: 21, failed: 22, state: 23 } as const;
const JOB_ID_BYTES = 29;
const DELTA_HEAD_BYTES = JOB_ID_BYTES + 9;

interface WireDelta {
  job: string;
  seq: number;
  text: string;
}

function deltasFrame(deltas: readonly WireDelta[]): Buffer {
  const texts = deltas.map(({ text }) => Buffer.from(text));
  const out = Buffer.alloc(texts.reduce((size, text) => size + DELTA_HEAD_BYTES + text.length, 4));
  out.set([PROTOCOL_MAJOR, KIND.deltas]);
  out.writeUInt16LE(deltas.length, 2);
  let at = 4;
  for (const [i, { job, seq }] of deltas.entries()) {
    const text = texts[i] as Buffer;
    out.write(job, at, "latin1");
    out.writeUInt32LE(seq, at + JOB_ID_BYTES);
    out[at + JOB_ID_BYTES + 4] = 0;
    out.writeUInt32LE(text.length, at + JOB_ID_BYTES + 5);
    out.set(text, at + DELTA_HEAD_BYTES);
    at += DELTA_HEAD_BYTES + text.length;
  }
  return out;
}

function vectorsFrame(
  job: string,
  { seq, first, width, count }: { seq: number; first: number; width: number; count: number },
): Buffer {
  const head = Buffer.alloc(2 + JOB_ID_BYTES + 12);
  head.set([PROTOCOL_MAJOR, KIND.vectors]);
  head.write(job, 2, "latin1");
  head.writeUInt32LE(seq, 2 + JOB_ID_BYTES);
  head.writeUInt32LE(first, 6 + JOB_ID_BYTES);
  head.writeUInt32LE(width, 10 + JOB_ID_BYTES);
  const values = Float32Array.from({ length: width * count }, (_, i) => Math.sin(i + 1));
  return Buffer.concat([head, Buffer.from(values.buffer)]);
}

function jsonFrame(kind: number, json: string): Buffer {
  return Buffer.concat([Buffer.from([PROTOCOL_MAJOR, kind]), Buffer.from(json)]);
}

function jobFrame(header: string): Buffer {
  const bytes = Buffer.from(header);
  const head = Buffer.from([PROTOCOL_MAJOR, KIND.job, 0, 0]);
  head.writeUInt16LE(bytes.length, 2);
  return Buffer.concat([head, bytes]);
}

const KIB = 1024;
const META = { suffix: "x", created: 0, model: "m" };
const NOTHING = {
  text: "",
  reasoning: undefined,
  finish: "stop" as const,
  vectors: [],
  usage: { promptTokens: 1, completionTokens: 1 },
};
const DELTAS_MAX = DELTAS_PER_FRAME_MAX;

interface Scenario {
  name: string;
  run: (gateway: GatewayUnderTest) => Promise<void>;
}

const scenario = (name: string, run: Scenario["run"]): Scenario => ({ name, run });

/** Sends the texts as output of one job, several pieces per frame. */
async function say(
  gateway: GatewayUnderTest,
  options: JobOptions,
  texts: Iterable<string>,
  perFrame = DELTAS_MAX,
): Promise<void> {
  const { id } = await gateway.job(options);
  let seq = 0;
  let deltas: WireDelta[] = [];
  for (const text of texts) {
    deltas.push({ job: id, seq: seq++, text });
    if (deltas.length === perFrame) {
      gateway.hear(deltasFrame(deltas));
      deltas = [];
    }
  }
  if (deltas.length > 0) gateway.hear(deltasFrame(deltas));
}

function* pieces(text: string, units: number): Generator<string> {
  for (let at = 0; at < text.length; at += units) yield text.slice(at, at + units);
}

function* oneByOne(text: string): Generator<string> {
  for (const character of text) yield character;
}

const models = ["tiny-3b", "reason-32b"];
const texts = Object.entries({
  ...hostileTexts(DELTAS_FRAME_TEXT_BYTES_MAX),
  "space and newline": " \n".repeat(DELTAS_FRAME_TEXT_BYTES_MAX / 2),
  "spaces, then a newline, again and again": `${" ".repeat(300)}\n`.repeat(DELTAS_FRAME_TEXT_BYTES_MAX / 301),
}).map(([what, text]) => [what, within(text, DELTAS_FRAME_TEXT_BYTES_MAX)] as const);

/** Returns the longest beginning of the text that fits into a frame. */
function within(text: string, bytesMax: number): string {
  let kept = text;
  while (Buffer.byteLength(kept) > bytesMax) kept = kept.slice(0, kept.length * 0.98);
  return kept;
}

/** Four stop strings of maximum length that repetitive text almost matches, which is slow to search for. */
const ALMOST = ["b", "c", "d"].map((end) => `${"a".repeat(2_047)}${end}`).concat(`${"ab".repeat(1_023)}aa`);

export const SCENARIOS: Scenario[] = [
  scenario("spaces without end, then one space at a time, in a model that thinks apart", (gateway) =>
    say(gateway, { model: "reason-32b", cap: 32_768 }, [...pieces(" ".repeat(1024 * KIB), 24)]),
  ),
  ...models.flatMap((model) => [
    ...texts.map(([what, text]) =>
      scenario(`${model}: one character a delta up to the cap, ${what}`, (gateway) =>
        say(gateway, { model, cap: 2_000 }, oneByOne(text)),
      ),
    ),
    ...texts.map(([what, text]) =>
      scenario(`${model}: the largest delta, ${what}`, (gateway) => say(gateway, { model, cap: 32_768 }, [text], 1)),
    ),
    ...texts.map(([what, text]) =>
      scenario(`${model}: the largest delta past the cap, ${what}`, (gateway) =>
        say(gateway, { model, cap: 300 }, [text], 1),
      ),
    ),
    scenario(`${model}: the cap in the middle of a long run of spaces, with a line break`, (gateway) =>
      say(
        gateway,
        { model, cap: 8_192 },
        [
          "\n",
          ...pieces(" ".repeat(1_000 * KIB), 16 * KIB),
          ...Array.from({ length: 40 }, () => `\n${"q~".repeat(2_000)}`),
        ],
        1,
      ),
    ),
    scenario(`${model}: 64 jobs of one frame pass their caps`, async (gateway) => {
      const jobs = [];
      for (let i = 0; i < 64; i++) jobs.push((await gateway.job({ model, cap: 150 })).id);
      const text = (hostileTexts(KIB)["random letters"] ?? "q".repeat(KIB)).slice(0, 500);
      gateway.hear(deltasFrame(jobs.map((job) => ({ job, seq: 0, text }))));
    }),
  ]),
  ...["a".repeat(32 * KIB), `${"a".repeat(2_047)}x`.repeat(16), "ab".repeat(16 * KIB)].flatMap((text) => [
    scenario(`stop strings that almost match, the largest delta, ${text.slice(0, 2)}… ${text.slice(-2)}`, (gateway) =>
      say(gateway, { model: "tiny-3b", cap: 8_000, stop: ALMOST }, [text], 1),
    ),
    scenario(
      `stop strings that almost match, one character a delta, ${text.slice(0, 2)}… ${text.slice(-2)}`,
      (gateway) => say(gateway, { model: "tiny-3b", cap: 8_000, stop: ALMOST }, oneByOne(text)),
    ),
  ]),
  scenario("control frames of any size", async (gateway) => {
    const { id } = await gateway.job({ model: "tiny-3b", cap: 10 });
    const fill = (unit: string): string => unit.repeat(Math.floor((512 * KIB - 200) / unit.length));
    for (const value of [`[${fill("0,")}0]`, `[${fill("[")}`, `"${fill("a")}"`, `{${fill('"a":1,')}"b":1}`]) {
      for (const kind of [KIND.accepted, KIND.done, KIND.failed]) {
        gateway.hear(jsonFrame(kind, `{"job":"${id}","seq":0,"finish":"stop","message":${value}}`));
        gateway.hear(jsonFrame(kind, value));
      }
    }
  }),
  scenario("state frames of any size", async (gateway) => {
    const fill = (unit: string): string => unit.repeat(Math.floor((512 * KIB - 200) / unit.length));
    const rest = '"protocol":"1.0","agent":"a","slots":1,"busy":0,"draining":false';
    for (const models of [
      `[${fill("0,")}0]`,
      `[${fill("{},")}0]`,
      `[${fill('"",')}""]`,
      `[${fill('"a",')}"a"]`,
      fill("["),
    ]) {
      gateway.hearState(jsonFrame(KIND.state, `{${rest},"models":${models}}`));
    }
    gateway.hearState(
      jsonFrame(
        KIND.state,
        `{${rest},"models":${JSON.stringify(Array.from({ length: 256 }, (_, i) => `${i}`.padEnd(64, "m")))}}`,
      ),
    );
  }),
  scenario("the largest state frame that is taken", async (gateway) => {
    const rest = '"protocol":"1.0","agent":"a","slots":1,"busy":0,"draining":false';
    for (const unit of ["0,", "{},", '"",'])
      gateway.hearState(
        jsonFrame(KIND.state, `{${rest},"models":[${unit.repeat(Math.floor((31 * KIB) / unit.length))}0]}`),
      );
  }),
  scenario("job frames, which only gateways send", async (gateway) => {
    const fill = (unit: string): string => unit.repeat(Math.floor(65_000 / unit.length));
    for (const stop of [`[${fill("0,")}0]`, `[${fill('"",')}""]`, fill("[")]) {
      gateway.hear(jobFrame(`{"sampling":{"stop":${stop}}}`));
    }
  }),
  scenario("the largest frames of vectors", async (gateway) => {
    const { id } = await gateway.job({ model: "embed-m3", cap: 0, vectorsDue: 2048, stream: false });
    for (let i = 0; i < 32; i++) {
      gateway.hear(vectorsFrame(id, { seq: i, first: i * 64, width: 1024, count: 64 }));
    }
    gateway.hear(vectorsFrame(id, { seq: 32, first: 2048, width: 8192, count: 15 }));
  }),
  scenario("heads without text", async (gateway) => {
    const { id } = await gateway.job({ model: "tiny-3b", cap: 100 });
    gateway.hear(deltasFrame(Array.from({ length: DELTAS_MAX }, (_, seq) => ({ job: id, seq, text: "" }))));
  }),
  scenario("not a frame: the largest answer of text, written as JSON", async (gateway) => {
    const { relay } = await gateway.job({ model: "tiny-3b", cap: 8_192, stream: false });
    for (let i = 0; i < 1_000_000; i++) relay.delta("answer", " ");
    gateway.timed(() => relay.end());
    gateway.timed(() => chat.whole(META, { ...NOTHING, text: relay.text }));
  }),
  scenario("not a frame: the largest answer of vectors, slice by slice", async (gateway) => {
    const vectors = Array.from({ length: 2_048 }, (_, v) =>
      Float32Array.from({ length: 1_024 }, (_, i) => Math.sin(i * 31 + v) / 20),
    );
    const parts = (embeddings.parts?.(META, { ...NOTHING, vectors }) ?? [])[Symbol.iterator]();
    for (let done: boolean | undefined; !done; ) {
      gateway.timed(() => {
        for (let chars = 0; chars < 64 * KIB && !done; ) {
          const next = parts.next();
          done = next.done;
          chars += Buffer.from(next.value ?? "").length;
        }
      });
    }
  }),
];
