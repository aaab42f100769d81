/** Runs the programs in examples/ as a builder would, in TypeScript and Python, against a whole platform. */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  createDataDir,
  type Platform,
  raiseLimits,
  removeDataDir,
  startPlatform,
} from "@tollgate/stage/dev-platform.ts";
import { waitForFormatSupport } from "@tollgate/stage/nodes/start-agent.ts";
import { installPythonForExamples } from "../clients/install-clients.ts";
import { type Language, listLanguages, runExample } from "./example-languages.ts";
import { defineRetryTests } from "./retry-tests.ts";

const UNSERVED = "mid-14b";
const tongues = listLanguages(await installPythonForExamples());
const script = (orders: object): string => `#script ${JSON.stringify(orders)}`;
const action = (name: string, argument: string): string => script({ text: JSON.stringify({ action: name, argument }) });

describe("the programs in examples/", { concurrency: true }, () => {
  let platform: Platform;
  let dataDir: string;
  let notes: string;
  before(async () => {
    dataDir = await createDataDir();
    notes = await mkdtemp(join(tmpdir(), "tollgate-notes-"));
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b,embed-m3"]);
    await raiseLimits(platform);
    await waitForFormatSupport(platform, "tiny-3b");
    await writeFile(join(notes, "foxes.md"), "Foxes sleep by day.\n\nThey hunt at night.\n");
    await writeFile(join(notes, "next.txt"), action("answer", "They sleep by day."));
  });
  after(async () => {
    assert.equal(await platform?.stop(), 0);
    await removeDataDir(dataDir);
    await rm(notes, { recursive: true });
  });

  // These tests query the database, so they run one at a time, but concurrently with the suites below.
  describe("streamWithRetry", { concurrency: 1 }, () => defineRetryTests(tongues, () => platform));

  for (const language of tongues) {
    describe(language.name, { skip: language.missing, concurrency: 1 }, () => {
      const example = (name: string, args: string[], env: Record<string, string> = {}) =>
        runExample(programOf(language, name), args, platform.ready, env);

      test('the example "chat" prints the answer and its token counts', async () => {
        const { code, stdout, stderr } = await example("chat", [script({ text: "one two three" })]);
        assert.deepEqual([code, stdout], [0, "one two three\n"], stderr);
        assert.match(stderr, /^\d+ tokens in, 3 out, ended by stop$/m);
      });

      test('the example "stream" prints the answer and its token counts', async () => {
        const { code, stdout, stderr } = await example("stream", [script({ text: "one two three" })]);
        assert.deepEqual([code, stdout], [0, "one two three"], stderr);
        assert.match(stderr, /^\d+ tokens in, 3 out$/m);
      });

      test('the example "stream" retries while no node has capacity, and reports the error after four attempts', async () => {
        const { code, stdout, stderr } = await example("stream", ["hi"], { MODEL: UNSERVED });
        assert.deepEqual([code, stdout], [1, ""], stderr);
        assert.equal(stderr.match(/no_capacity: again in/g)?.length, 3, stderr);
        assert.match(stderr, /broken off: no_capacity/);
      });

      test('the example "stream" reports an answer that breaks off, and does not retry it', async () => {
        const { code, stdout, stderr } = await example("stream", [script({ tokens: 20, fail_after: 5 })]);
        assert.equal(code, 1, stderr);
        assert.ok(stdout.length > 0);
        assert.doesNotMatch(stderr, /again in/);
        assert.match(stderr, /broken off: upstream_failed/);
      });

      test('the example "rag" answers a question about a folder, and names the source files', async () => {
        const { code, stdout, stderr } = await example("rag", [notes, script({ text: "By day [1]." })]);
        assert.deepEqual([code, stdout], [0, "By day [1].\n"], stderr);
        // Two files give three passages. The embedding model decides their order.
        assert.equal(stderr.match(/^\[\d\] (foxes\.md|next\.txt) \(-?\d\.\d\d\)$/gm)?.length, 3, stderr);
      });

      test('the example "structured" prints the fields of its schema', async () => {
        // The prompt has no instructions for the scripted engine, so its answer is generated from the requested format.
        const { code, stdout, stderr } = await example("structured", []);
        assert.deepEqual([code, stdout], [0, "0: text\n"], stderr);
      });

      test('the example "structured" reports a truncated answer and does not parse it', async () => {
        const { code, stdout, stderr } = await example("structured", [script({ text: "[1, ".repeat(300) })]);
        assert.deepEqual([code, stdout], [1, ""], stderr);
        assert.match(stderr, /the answer was cut: length/);
      });

      test('the example "structured" explains why it fails if no connected node supports schemas', async () => {
        const away = await example("structured", ["hi"], { MODEL: UNSERVED });
        assert.deepEqual([away.code, away.stdout], [1, ""], away.stderr);
        assert.match(away.stderr, /no connected node supports JSON schemas/);
      });

      test('the example "agent" calls a tool, gets its result and answers', async () => {
        const { code, stdout, stderr } = await example("agent", [notes, action("read", "../next.txt")]);
        assert.deepEqual([code, stdout], [0, "They sleep by day.\n"], stderr);
        assert.match(stderr, /1\. read \.\.\/next\.txt\n2\. answer They sleep by day\./);
      });

      test('the example "agent" gets steps that match its schema, whatever the model generates', async () => {
        const { code, stderr } = await example("agent", [notes, "What do foxes do?"]);
        assert.equal(code, 1, stderr);
        assert.equal(stderr.match(/^\d\. list text$/gm)?.length, 8, stderr);
      });

      test('the example "agent" continues after answers that are not JSON, and fails after eight steps', async () => {
        const { code, stdout, stderr } = await example("agent", [notes, script({ text: "no JSON at all" })]);
        assert.deepEqual([code, stdout], [1, ""], stderr);
        assert.match(stderr, /1\. that was not one JSON object/);
        assert.match(stderr, /no answer after 8 steps/);
      });
    });
  }
});

const programOf = ({ command, folder, ending }: Language, name: string): string[] => [
  ...command,
  join(folder, `${name}${ending}`),
];
