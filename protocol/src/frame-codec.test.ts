import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import fc from "fast-check";
import { decodeFrame, encodeFrame, encodeJobInParts, FrameError } from "./frame-codec.ts";
import {
  CONTROL_FRAME_BYTES_MAX,
  DELTAS_FRAME_TEXT_BYTES_MAX,
  FAILURE_MESSAGE_CHARS_MAX,
  FRAME_BYTES_MAX,
  STATE_FRAME_BYTES_MAX,
} from "./frame-limits.ts";
import type { Frame } from "./frames.ts";

const JOB = "06dfk3zq9v8n2x4m7t1c5w0rbe-01";
type Sendable = Exclude<Frame, { kind: "unknown" }>;

const GOLDEN: Record<string, Sendable> = {
  job: {
    kind: "job",
    header: {
      job: JOB,
      gateway: "gw1",
      model: "tiny-3b",
      endpoint: "chat",
      stream: true,
      output_tokens_max: 64,
      sampling: { temperature: 0.5, stop: ["\n"] },
      body_bytes: 2,
      pieces: 1,
    },
    piece: Buffer.from("{}"),
  },
  piece: { kind: "piece", job: JOB, index: 3, piece: Buffer.from("abc") },
  cancel: { kind: "cancel", job: JOB },
  accepted: { kind: "accepted", job: JOB },
  busy: { kind: "busy", job: JOB },
  progress: { kind: "progress", job: JOB, fraction: 0.25 },
  deltas: {
    kind: "deltas",
    deltas: [
      { job: JOB, seq: 0, channel: "reasoning", text: "hm" },
      { job: JOB, seq: 1, channel: "answer", text: "naïve 日本 😀" },
    ],
  },
  timed: {
    kind: "timed",
    deltas: [
      { job: JOB, seq: 0, channel: "reasoning", text: "hm", firstMs: 40, lastMs: 40 },
      { job: JOB, seq: 1, channel: "answer", text: "naïve 日本 😀", firstMs: 90, lastMs: 70_000 },
    ],
  },
  vectors: { kind: "vectors", job: JOB, seq: 0, first: 0, width: 2, values: Float32Array.of(0.5, -1, 2, 0) },
  done: { kind: "done", job: JOB, seq: 2, finish: "length" },
  failed: { kind: "failed", job: JOB, seq: 2, cause: "engine", message: "out of memory" },
  scored: { kind: "scored", job: JOB, seq: 0, logprobs: [-0.25, null, 0] },
  state: {
    kind: "state",
    state: { protocol: "1.0", agent: "tollgate-host/0.1.0", slots: 2, busy: 1, models: ["tiny-3b"], draining: false },
  },
};

describe("frames", () => {
  const golden: Record<string, string> = JSON.parse(
    readFileSync(new URL("golden-frames.json", import.meta.url), "utf8"),
  );

  for (const [name, frame] of Object.entries(GOLDEN)) {
    test(`${name}: encodes to the bytes of protocol 1 and decodes unchanged`, () => {
      const bytes = encodeFrame(frame);
      assert.equal(bytes.toString("hex"), golden[name]);
      assert.deepEqual(plain(decodeFrame(bytes)), plain(frame));
    });
  }

  test("can be encoded as a header and the job's bytes, which are not copied, up to the frame size limit", () => {
    for (const frame of [GOLDEN.job, GOLDEN.piece] as Extract<Frame, { kind: "job" | "piece" }>[]) {
      const [head, piece] = encodeJobInParts(frame);
      assert.equal(piece, frame.piece);
      assert.deepEqual(Buffer.concat([head, piece]), encodeFrame(frame));
      assert.throws(() => encodeJobInParts({ ...frame, piece: new Uint8Array(FRAME_BYTES_MAX) }), FrameError);
    }
  });

  test("keep the optional field `times` of the job header (version 1.1) when decoded", () => {
    const { header, piece } = GOLDEN.job as Extract<Frame, { kind: "job" }>;
    const bytes = encodeFrame({ kind: "job", header: { ...header, times: true }, piece });
    assert.deepEqual(plain(decodeFrame(bytes)), plain({ kind: "job", header: { ...header, times: true }, piece }));
  });

  test("are refused if they contain a log-probability above zero", () => {
    assert.throws(() => decodeFrame(encodeFrame({ kind: "scored", job: JOB, seq: 0, logprobs: [0.1] })), FrameError);
  });

  test("keep the optional state fields of version 1.3 when decoded", () => {
    const { state } = GOLDEN.state as Extract<Frame, { kind: "state" }>;
    const added = { accepts_early: true, scores: { "tiny-3b": "next" as const }, schema_keywords: ["type", "minimum"] };
    const frame: Sendable = { kind: "state", state: { ...state, ...added } };
    assert.deepEqual(decodeFrame(encodeFrame(frame)), frame);
  });

  test("keep the optional state field slots_max (version 1.4) when decoded, and are refused if it exceeds its maximum", () => {
    const { state } = GOLDEN.state as Extract<Frame, { kind: "state" }>;
    const frame: Sendable = { kind: "state", state: { ...state, slots_max: 64 } };
    assert.deepEqual(decodeFrame(encodeFrame(frame)), frame);
    assert.throws(() => decodeFrame(encodeFrame({ kind: "state", state: { ...state, slots_max: 4_097 } })), FrameError);
  });

  test("are refused if a delta ends before it starts", () => {
    const [, delta] = (GOLDEN.timed as Extract<Frame, { kind: "timed" }>).deltas;
    assert.ok(delta);
    const back = encodeFrame({ kind: "timed", deltas: [{ ...delta, firstMs: 71, lastMs: 70 }] });
    assert.throws(() => decodeFrame(back), FrameError);
  });

  test("are refused with the place of the mistake, without quoting the frame", () => {
    const marker = "MARKER-of-a-prompt";
    const bodies = [
      marker,
      `{"job":"${marker}"}`,
      `{"job":"${JOB}","seq":0,"finish":"${marker}"}`,
      `{"job":"${JOB}","seq":"${marker}","cause":"${marker}","message":"${marker}"}`,
      `{"job":"${JOB}","seq":0,"cause":"engine","message":"${marker.repeat(50)}"}`,
      `{"${marker}":1,"protocol":"${marker}","models":["${marker.repeat(9)}"],"agent":7}`,
    ];
    for (const kind of [3, 16, 17, 18, 21, 22, 23, 25]) {
      for (const body of bodies) {
        try {
          decodeFrame(Buffer.concat([Buffer.from([1, kind]), Buffer.from(body)]));
        } catch (error) {
          assert.ok(error instanceof FrameError);
          assert.ok(!inspect(error).includes("MARKER"), `${kind}: ${error.message}`);
        }
      }
    }
    const header = Buffer.from(`{"job":"${JOB}","model":"${marker.repeat(9)}"}`);
    const length = Buffer.alloc(2);
    length.writeUInt16LE(header.length);
    assert.throws(
      () => decodeFrame(Buffer.concat([Buffer.from([1, 1]), length, header])),
      (error) => !inspect(error).includes("MARKER"),
    );
  });

  test("of a kind that a later minor version adds are decoded as unknown, not refused", () => {
    assert.deepEqual(decodeFrame(Buffer.from([1, 200, 1, 2, 3])), { kind: "unknown", code: 200 });
  });

  test("of another major version are refused", () => {
    assert.throws(() => decodeFrame(Buffer.from([2, 3])), FrameError);
  });

  test("lose fields that the schema does not define, such as a node's own token count", () => {
    const claim = Buffer.from(
      `\x01\x15${JSON.stringify({ job: JOB, seq: 0, finish: "stop", tokens: 1e9, usage: {} })}`,
      "latin1",
    );
    assert.deepEqual(decodeFrame(claim), { kind: "done", job: JOB, seq: 0, finish: "stop" });
  });

  test("are refused if they are truncated, too long or out of bounds", () => {
    for (const bytes of [GOLDEN.deltas, GOLDEN.timed].map((frame) => encodeFrame(frame as Sendable))) {
      for (let length = 0; length < bytes.length; length++)
        assert.throws(() => decodeFrame(bytes.subarray(0, length)), FrameError);
      assert.throws(() => decodeFrame(Buffer.concat([bytes, Buffer.from([0])])), FrameError);
    }
    assert.throws(() => decodeFrame(Buffer.alloc(FRAME_BYTES_MAX + 1, 1)), FrameError);
    const vectors = Buffer.from(encodeFrame(GOLDEN.vectors as Sendable));
    vectors.writeFloatLE(Number.NaN, vectors.length - 4);
    assert.throws(() => decodeFrame(vectors), FrameError);
  });

  test("are refused if JSON parts or the text of deltas exceed their limits", () => {
    const json = (kind: number, body: object): Buffer =>
      Buffer.from(`\x01${String.fromCharCode(kind)}${JSON.stringify(body)}`);
    const pad = (bytes: number): string => "x".repeat(bytes);
    const done = { job: JOB, seq: 0, finish: "stop" };
    assert.equal(decodeFrame(json(21, { ...done, later: pad(CONTROL_FRAME_BYTES_MAX - 200) })).kind, "done");
    assert.throws(
      () => decodeFrame(json(21, { ...done, later: pad(CONTROL_FRAME_BYTES_MAX) })),
      /exceeds the limit of 8192/,
    );
    const { state } = GOLDEN.state as Extract<Sendable, { kind: "state" }>;
    assert.equal(decodeFrame(json(23, { ...state, later: pad(STATE_FRAME_BYTES_MAX - 300) })).kind, "state");
    assert.throws(
      () => decodeFrame(json(23, { ...state, later: pad(STATE_FRAME_BYTES_MAX) })),
      /exceeds the limit of 49152/,
    );
    // A state with the longest allowed names and a failure with the longest message fit within these limits.
    const models = Array.from({ length: 256 }, (_, i) => String(i).padStart(64, "m"));
    assert.equal(
      decodeFrame(encodeFrame({ kind: "state", state: { ...state, models, json_schema: models } })).kind,
      "state",
    );
    const message = "\u0001".repeat(FAILURE_MESSAGE_CHARS_MAX);
    assert.equal(
      decodeFrame(encodeFrame({ kind: "failed", job: JOB, seq: 0, cause: "engine", message })).kind,
      "failed",
    );

    const deltas = (count: number, bytes: number): Sendable => ({
      kind: "deltas",
      deltas: Array.from({ length: count }, (_, seq) => ({ job: JOB, seq, channel: "answer", text: pad(bytes) })),
    });
    assert.equal(decodeFrame(encodeFrame(deltas(1, DELTAS_FRAME_TEXT_BYTES_MAX))).kind, "deltas");
    assert.equal(decodeFrame(encodeFrame(deltas(1024, DELTAS_FRAME_TEXT_BYTES_MAX / 1024))).kind, "deltas");
    assert.throws(
      () => decodeFrame(encodeFrame(deltas(2, DELTAS_FRAME_TEXT_BYTES_MAX / 2 + 1))),
      /deltas have 32770 bytes of text/,
    );
  });

  test("cause only FrameError when their bytes are random or damaged", () => {
    const kinds = fc.constantFrom(1, 2, 3, 16, 17, 18, 19, 20, 21, 22, 23, 24, 99);
    fc.assert(
      fc.property(kinds, fc.uint8Array({ maxLength: 300 }), (kind, rest) => {
        try {
          decodeFrame(Buffer.concat([Buffer.from([1, kind]), rest]));
        } catch (error) {
          assert.ok(error instanceof FrameError, String(error));
        }
      }),
      { numRuns: 3000 },
    );
    // Valid frames with a few changed bytes reach more edge cases than random bytes do.
    const valid = fc.constantFrom(...Object.values(GOLDEN).map((frame) => encodeFrame(frame)));
    const changes = fc.array(fc.tuple(fc.nat(200), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(valid, changes, (bytes, edits) => {
        const changed = Buffer.from(bytes);
        for (const [at, value] of edits) changed[at % changed.length] = value;
        try {
          decodeFrame(changed);
        } catch (error) {
          assert.ok(error instanceof FrameError, String(error));
        }
      }),
      { numRuns: 3000 },
    );
  });
});

/** Makes frames comparable, because buffers and typed arrays with the same content are not deeply equal. */
function plain(frame: Frame): unknown {
  return JSON.parse(JSON.stringify(frame, (_key, value) => (value instanceof Uint8Array ? [...value] : value)));
}
