/** What a node could send to keep a gateway busy, each an attack on one place that keeps or looks again at a peer's bytes. */
import { DELTAS_PER_FRAME_MAX, DELTAS_TEXT_BYTES_MAX } from "@tollgate/protocol/limits.ts";
import { chat } from "../../gateway/src/http/openai/chat.ts";
import { embeddings } from "../../gateway/src/http/openai/embeddings.ts";
import { hostileTexts } from "../metering/texts.ts";
import { deltasFrame, jobFrame, jsonFrame, KIND, vectorsFrame, type WireDelta } from "./bytes.ts";
import type { JobOptions, Stage } from "./stage.ts";

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
  run: (stage: Stage) => Promise<void>;
}

const scenario = (name: string, run: Scenario["run"]): Scenario => ({ name, run });

/** Sends `texts` as deltas of one job, so many to a frame. */
async function say(stage: Stage, options: JobOptions, texts: Iterable<string>, perFrame = DELTAS_MAX): Promise<void> {
  const { id } = await stage.job(options);
  let seq = 0;
  let deltas: WireDelta[] = [];
  for (const text of texts) {
    deltas.push({ job: id, seq: seq++, text });
    if (deltas.length === perFrame) {
      stage.hear(deltasFrame(deltas));
      deltas = [];
    }
  }
  if (deltas.length > 0) stage.hear(deltasFrame(deltas));
}

function* pieces(text: string, units: number): Generator<string> {
  for (let at = 0; at < text.length; at += units) yield text.slice(at, at + units);
}

function* oneByOne(text: string): Generator<string> {
  for (const character of text) yield character;
}

const models = ["tiny-3b", "reason-32b"];
const texts = Object.entries({
  ...hostileTexts(DELTAS_TEXT_BYTES_MAX),
  "space and newline": " \n".repeat(DELTAS_TEXT_BYTES_MAX / 2),
  "spaces, then a newline, again and again": `${" ".repeat(300)}\n`.repeat(DELTAS_TEXT_BYTES_MAX / 301),
}).map(([what, text]) => [what, within(text, DELTAS_TEXT_BYTES_MAX)] as const);

/** So much of the text as has no more bytes than a frame takes. */
function within(text: string, bytesMax: number): string {
  let kept = text;
  while (Buffer.byteLength(kept) > bytesMax) kept = kept.slice(0, kept.length * 0.98);
  return kept;
}

/** Four stop strings of the greatest length, which repetitions come close to. */
const ALMOST = ["b", "c", "d"].map((end) => `${"a".repeat(2_047)}${end}`).concat(`${"ab".repeat(1_023)}aa`);

export const SCENARIOS: Scenario[] = [
  scenario("spaces without end, then one space at a time, in a model that thinks apart", (stage) =>
    say(stage, { model: "reason-32b", cap: 32_768 }, [...pieces(" ".repeat(1024 * KIB), 24)]),
  ),
  ...models.flatMap((model) => [
    ...texts.map(([what, text]) =>
      scenario(`${model}: one character a delta up to the cap, ${what}`, (stage) =>
        say(stage, { model, cap: 2_000 }, oneByOne(text)),
      ),
    ),
    ...texts.map(([what, text]) =>
      scenario(`${model}: the largest delta, ${what}`, (stage) => say(stage, { model, cap: 32_768 }, [text], 1)),
    ),
    ...texts.map(([what, text]) =>
      scenario(`${model}: the largest delta past the cap, ${what}`, (stage) =>
        say(stage, { model, cap: 300 }, [text], 1),
      ),
    ),
    scenario(`${model}: the cap in the middle of a long run of spaces, with a line break`, (stage) =>
      say(
        stage,
        { model, cap: 8_192 },
        [
          "\n",
          ...pieces(" ".repeat(1_000 * KIB), 16 * KIB),
          ...Array.from({ length: 40 }, () => `\n${"q~".repeat(2_000)}`),
        ],
        1,
      ),
    ),
    scenario(`${model}: 64 jobs of one frame pass their caps`, async (stage) => {
      const jobs = [];
      for (let i = 0; i < 64; i++) jobs.push((await stage.job({ model, cap: 150 })).id);
      const text = (hostileTexts(KIB)["random letters"] ?? "q".repeat(KIB)).slice(0, 500);
      stage.hear(deltasFrame(jobs.map((job) => ({ job, seq: 0, text }))));
    }),
  ]),
  ...["a".repeat(32 * KIB), `${"a".repeat(2_047)}x`.repeat(16), "ab".repeat(16 * KIB)].flatMap((text) => [
    scenario(`stop strings that almost match, the largest delta, ${text.slice(0, 2)}… ${text.slice(-2)}`, (stage) =>
      say(stage, { model: "tiny-3b", cap: 8_000, stop: ALMOST }, [text], 1),
    ),
    scenario(`stop strings that almost match, one character a delta, ${text.slice(0, 2)}… ${text.slice(-2)}`, (stage) =>
      say(stage, { model: "tiny-3b", cap: 8_000, stop: ALMOST }, oneByOne(text)),
    ),
  ]),
  scenario("control frames of any size", async (stage) => {
    const { id } = await stage.job({ model: "tiny-3b", cap: 10 });
    const fill = (unit: string): string => unit.repeat(Math.floor((512 * KIB - 200) / unit.length));
    for (const value of [`[${fill("0,")}0]`, `[${fill("[")}`, `"${fill("a")}"`, `{${fill('"a":1,')}"b":1}`]) {
      for (const kind of [KIND.accepted, KIND.done, KIND.failed]) {
        stage.hear(jsonFrame(kind, `{"job":"${id}","seq":0,"finish":"stop","message":${value}}`));
        stage.hear(jsonFrame(kind, value));
      }
    }
  }),
  scenario("state frames of any size", async (stage) => {
    const fill = (unit: string): string => unit.repeat(Math.floor((512 * KIB - 200) / unit.length));
    const rest = '"protocol":"1.0","agent":"a","slots":1,"busy":0,"draining":false';
    for (const models of [
      `[${fill("0,")}0]`,
      `[${fill("{},")}0]`,
      `[${fill('"",')}""]`,
      `[${fill('"a",')}"a"]`,
      fill("["),
    ]) {
      stage.hearState(jsonFrame(KIND.state, `{${rest},"models":${models}}`));
    }
    stage.hearState(
      jsonFrame(
        KIND.state,
        `{${rest},"models":${JSON.stringify(Array.from({ length: 256 }, (_, i) => `${i}`.padEnd(64, "m")))}}`,
      ),
    );
  }),
  scenario("the largest state frame that is taken", async (stage) => {
    const rest = '"protocol":"1.0","agent":"a","slots":1,"busy":0,"draining":false';
    for (const unit of ["0,", "{},", '"",'])
      stage.hearState(
        jsonFrame(KIND.state, `{${rest},"models":[${unit.repeat(Math.floor((31 * KIB) / unit.length))}0]}`),
      );
  }),
  scenario("job frames, which only gateways send", async (stage) => {
    const fill = (unit: string): string => unit.repeat(Math.floor(65_000 / unit.length));
    for (const stop of [`[${fill("0,")}0]`, `[${fill('"",')}""]`, fill("[")]) {
      stage.hear(jobFrame(`{"sampling":{"stop":${stop}}}`));
    }
  }),
  scenario("the largest frames of vectors", async (stage) => {
    const { id } = await stage.job({ model: "embed-m3", cap: 0, vectorsDue: 2048, stream: false });
    for (let i = 0; i < 32; i++) {
      stage.hear(vectorsFrame(id, { seq: i, first: i * 64, width: 1024, count: 64 }));
    }
    stage.hear(vectorsFrame(id, { seq: 32, first: 2048, width: 8192, count: 15 }));
  }),
  scenario("heads without text", async (stage) => {
    const { id } = await stage.job({ model: "tiny-3b", cap: 100 });
    stage.hear(deltasFrame(Array.from({ length: DELTAS_MAX }, (_, seq) => ({ job: id, seq, text: "" }))));
  }),
  scenario("not a frame: the largest answer of text, written as JSON", async (stage) => {
    const { relay } = await stage.job({ model: "tiny-3b", cap: 8_192, stream: false });
    for (let i = 0; i < 1_000_000; i++) relay.delta("answer", " ");
    stage.timed(() => relay.end());
    stage.timed(() => chat.whole(META, { ...NOTHING, text: relay.text }));
  }),
  scenario("not a frame: the largest answer of vectors, slice by slice", async (stage) => {
    const vectors = Array.from({ length: 2_048 }, (_, v) =>
      Float32Array.from({ length: 1_024 }, (_, i) => Math.sin(i * 31 + v) / 20),
    );
    const parts = (embeddings.parts?.(META, { ...NOTHING, vectors }) ?? [])[Symbol.iterator]();
    for (let done: boolean | undefined; !done; ) {
      stage.timed(() => {
        for (let chars = 0; chars < 64 * KIB && !done; ) {
          const next = parts.next();
          done = next.done;
          chars += Buffer.from(next.value ?? "").length;
        }
      });
    }
  }),
];
