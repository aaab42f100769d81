import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../clock.ts";
import type { Engine, GenerationJob } from "./engine.ts";
import { checkStopStrings } from "./stop-string-check.ts";

/** An engine that always writes the same pieces and handles stop strings as the test defines. */
const engine = (pieces: string[], cut: (text: string, stop: string) => string): Pick<Engine, "generate"> => ({
  async generate(job: GenerationJob, sink) {
    const [stop] = job.sampling.stop ?? [];
    for (const piece of stop === undefined ? pieces : [cut(pieces.join(""), stop)]) sink.delta("answer", piece);
    return { finish: "stop" };
  },
});
const COUNT = ["One", ", two", ", three", ", four", ", five"];
const before = (text: string, stop: string): string => text.slice(0, text.indexOf(stop));

test("recognizes engines that handle stop strings correctly, and every kind of wrong handling", async () => {
  const check = (cut: (text: string, stop: string) => string) =>
    checkStopStrings(engine(COUNT, cut), "tiny-3b", systemClock);
  assert.equal(await check(before), "stops");
  assert.equal(await check((text, stop) => before(text, stop) + stop), "differs", "keeps the string");
  assert.equal(await check((text, stop) => text.replace(stop, "")), "differs", "takes it out and goes on");
  assert.equal(await check((text) => text), "differs", "does not know stop strings");
});

test('reports "unknown" for an answer in one piece, and for answers that differ each time', async () => {
  assert.equal(await checkStopStrings(engine(["One, two"], before), "tiny-3b", systemClock), "unknown");
  let times = 0;
  const fickle: Pick<Engine, "generate"> = {
    generate: (job, sink, signal) => engine([...COUNT, `${times++}`], before).generate(job, sink, signal),
  };
  assert.equal(await checkStopStrings(fickle, "tiny-3b", systemClock), "unknown");
});
