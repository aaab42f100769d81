import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import { systemClock, waitOneTurn } from "../clock.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { chatJob, JOB_ID, RecordingSink } from "../testing/recording-sink.ts";
import { type StubHandler, sendJson, stubServer, unusedAddress } from "../testing/stub-http.ts";
import { type EmbeddingJob, type Engine, EngineError, type GenerationJob } from "./engine.ts";
import { toRootAddress } from "./engine-http.ts";
import { openAiEngine } from "./openai-engine.ts";

const models = new Map([
  ["tiny-3b", "llama3.2:3b"],
  ["embed-m3", "bge-m3"],
]);
const never = new AbortController().signal;
const SECRET = "the secret prompt";

const engineAt = (url: string): Engine => openAiEngine({ name: "stub", url, models, clock: systemClock });

function stream(response: ServerResponse, chunks: unknown[], end = "data: [DONE]\n\n"): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  response.end(end);
}

const delta = (delta: object, finish: string | null = null): object => ({
  id: "x",
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason: finish }],
});

async function ask(t: TestContext, answer: StubHandler, job: GenerationJob = chatJob(SECRET)) {
  const sink = new RecordingSink();
  const engine = engineAt(await stubServer(t, answer));
  const { finish } = await engine.generate(job, sink, never);
  return { sink, finish };
}

/** Returns the error of a failed job. The error must not quote the prompt. */
async function failure(t: TestContext, answer: StubHandler): Promise<EngineError> {
  const error = await ask(t, answer).then(
    () => assert.fail("the job did not fail"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof EngineError, String(error));
  assert.doesNotMatch(error.message, /secret/);
  return error;
}

test("chat: sends all parameters and returns the answer in deltas", async (t) => {
  let asked: { path: string; body: object; key: string | undefined } | undefined;
  const job = chatJob("", {
    input: {
      messages: [
        { role: "developer", content: "be brief" },
        { role: "user", content: "hi" },
        { role: "function", content: "4" },
      ],
    },
    sampling: { temperature: 0.2, top_p: 0.9, seed: 7, stop: ["END"], presence_penalty: 1, frequency_penalty: -1 },
    outputTokensMax: 33,
  });
  const url = await stubServer(t, (request, response) => {
    asked = { path: request.path, body: JSON.parse(request.body), key: request.headers.authorization };
    stream(response, [
      delta({ role: "assistant", content: "" }),
      delta({ content: "Hel" }),
      delta({ content: "lo" }),
      { ...delta({}, "stop"), usage: { completion_tokens: 99999 } },
    ]);
  });
  const sink = new RecordingSink();
  const engine = openAiEngine({ name: "stub", url: `${url}/v1/`, models, apiKey: "k", clock: systemClock });
  assert.deepEqual(await engine.generate(job, sink, never), { finish: "stop" });
  assert.deepEqual(sink.deltas, [
    { channel: "answer", text: "Hel" },
    { channel: "answer", text: "lo" },
  ]);
  assert.deepEqual(asked, {
    path: "/v1/chat/completions",
    key: "Bearer k",
    body: {
      model: "llama3.2:3b",
      messages: [
        { role: "system", content: "be brief" },
        { role: "user", content: "hi" },
        { role: "tool", content: "4" },
      ],
      stream: true,
      max_tokens: 33,
      temperature: 0.2,
      top_p: 0.9,
      seed: 7,
      presence_penalty: 1,
      frequency_penalty: -1,
    },
  });
});

test("completions: returns the text field", async (t) => {
  const job = chatJob("", { endpoint: "completion", input: { prompt: "Once" } });
  const { sink, finish } = await ask(
    t,
    (request, response) => {
      assert.equal(request.path, "/v1/completions");
      assert.equal(JSON.parse(request.body).prompt, "Once");
      stream(response, [{ choices: [{ text: " upon" }] }, { choices: [{ text: " a", finish_reason: "length" }] }]);
    },
    job,
  );
  assert.equal(sink.text("answer"), " upon a");
  assert.equal(finish, "length");
});

for (const field of ["reasoning_content", "reasoning", "thinking"]) {
  test(`sends thinking in ${field} on a separate channel`, async (t) => {
    const { sink } = await ask(t, (_request, response) =>
      stream(response, [delta({ [field]: "hm" }), delta({ [field]: null, content: "yes" }), delta({}, "stop")]),
    );
    assert.equal(sink.text("reasoning"), "hm");
    assert.equal(sink.text("answer"), "yes");
  });
}

const finishes: [reason: string, finish: string][] = [
  ["stop", "stop"],
  ["length", "length"],
  ["eos", "stop"],
  ["tool_calls", "stop"],
];
for (const [reason, finish] of finishes) {
  test(`maps finish_reason ${reason} to ${finish}`, async (t) => {
    const ended = await ask(t, (_request, response) => stream(response, [delta({ content: "x" }, reason)]));
    assert.equal(ended.finish, finish);
  });
}

test("accepts a stream without [DONE] if it contains a finish_reason", async (t) => {
  const ended = await ask(t, (_request, response) => stream(response, [delta({ content: "x" }, "stop")], ""));
  assert.equal(ended.finish, "stop");
});

test("reports a prompt whose length the engine refuses as a mistake in the request, and other failures as the engine's", async (t) => {
  const refuse =
    (status: number, message: string, code?: string): StubHandler =>
    (_request, response) =>
      sendJson(response, { error: { message: `${message}: ${SECRET}`, code } }, status);
  const cases: [StubHandler, EngineError["blame"], RegExp][] = [
    [refuse(400, "This model's maximum context length is 8192 tokens"), "prompt", /HTTP 400/],
    [refuse(400, "the request exceeds the available context size"), "prompt", /HTTP 400/],
    [refuse(413, "prompt is too long"), "prompt", /HTTP 413/],
    [refuse(400, "bad field", "invalid_value"), "engine", /HTTP 400, invalid_value/],
    [refuse(401, "no key", `key ${SECRET}`), "engine", /HTTP 401\)/],
    [refuse(404, "model not found"), "engine", /HTTP 404/],
    [refuse(500, "maximum context length"), "engine", /HTTP 500/],
  ];
  for (const [answer, blame, message] of cases) {
    const error = await failure(t, answer);
    assert.equal(error.blame, blame);
    assert.match(error.message, message);
  }
});

test("retries a job without its output cap if the engine refuses it because prompt and cap together exceed the context", async (t) => {
  const caps: unknown[] = [];
  const { sink } = await ask(t, (request, response) => {
    const { max_tokens: cap } = JSON.parse(request.body);
    caps.push(cap);
    if (cap === undefined) stream(response, [delta({ content: "ok" }, "stop")]);
    else sendJson(response, { error: { message: "maximum context length is 8192 tokens, you requested 8200" } }, 400);
  });
  assert.deepEqual(caps, [8192, undefined]);
  assert.equal(sink.text("answer"), "ok");
});

const broken: [name: string, answer: StubHandler][] = [
  [
    "an error in the stream",
    (_, response) => stream(response, [delta({ content: "x" }), { error: { message: SECRET } }]),
  ],
  ["a stream that ends in the middle", (_, response) => stream(response, [delta({ content: "x" })], "")],
  ["a chunk that is not JSON", (_, response) => stream(response, [], "data: {oops\n\n")],
  ["a chunk in another format", (_, response) => stream(response, [{ choices: "none" }])],
  ["an answer that is not a stream", (_, response) => sendJson(response, { choices: [] })],
  [
    "a connection that breaks",
    (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: ${JSON.stringify(delta({ content: "x" }))}\n\n`, () => response.destroy());
    },
  ],
];
for (const [name, answer] of broken) {
  test(`reports an engine error for ${name}`, async (t) => {
    assert.equal((await failure(t, answer)).blame, "engine");
  });
}

test("reports an engine error when the engine is unreachable", async () => {
  const engine = engineAt(await unusedAddress());
  await assert.rejects(engine.generate(chatJob("x"), new RecordingSink(), never), EngineError);
});

test("does not follow redirects, so that prompts reach only the configured engine", async (t) => {
  const elsewhere = await stubServer(t, () => assert.fail("the prompt went elsewhere"));
  const error = await failure(t, (request, response) => {
    response.writeHead(307, { location: elsewhere + request.path }).end();
  });
  assert.equal(error.name, "EngineAway");
});

test("supports engine URLs with a path or an IPv6 address", async (t) => {
  const url = await stubServer(t, (request, response) => {
    assert.equal(request.path, "/engine/v1/chat/completions");
    stream(response, [delta({ content: "ok" }, "stop")]);
  });
  const sink = new RecordingSink();
  await engineAt(`${url}/engine/v1`).generate(chatJob("x"), sink, never);
  assert.equal(sink.text("answer"), "ok");
  await assert.rejects(engineAt("http://[::1]:1").generate(chatJob("x"), new RecordingSink(), never), (error) => {
    const { code } = (error as EngineError).cause as NodeJS.ErrnoException;
    return code === "ECONNREFUSED" || code === "EADDRNOTAVAIL";
  });
});

test("returns an answer in many chunks completely and in order, with whole or split events", async (t) => {
  const words = Array.from({ length: 200 }, (_, i) => ` ${i}${i % 7 === 0 ? "é😀" : ""}`);
  const { sink, finish } = await ask(t, (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const bytes = Buffer.from(words.map((content) => `data: ${JSON.stringify(delta({ content }))}\n\n`).join(""));
    for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7) % 311) {
      response.write(bytes.subarray(at, at + size));
    }
    response.end(`data: ${JSON.stringify(delta({}, "length"))}\n\n`);
  });
  assert.deepEqual(
    sink.deltas.map(({ text }) => text),
    words,
  );
  assert.equal(finish, "length");
});

test("for a client that does not stream, joins the output of one read into at most one delta of thinking and one of the answer", async (t) => {
  const events = [
    { thinking: "a" },
    { thinking: "b" },
    { content: "c" },
    { content: "d" },
    { content: "\ud83d" },
    { content: "\ude00" },
  ];
  const url = await stubServer(t, (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const said = events.map((each) => `data: ${JSON.stringify(delta(each))}\n\n`).join("");
    response.end(`${said}data: ${JSON.stringify({ error: "broke" })}\n\n`);
  });
  const sink = new RecordingSink();
  await assert.rejects(engineAt(url).generate(chatJob("x", { gathers: true }), sink, never), EngineError);
  assert.deepEqual(sink.deltas, [
    { channel: "reasoning", text: "ab" },
    { channel: "answer", text: "cd😀" },
  ]);
});

test("closes the engine's connection when the job is cancelled", async (t) => {
  const controller = new AbortController();
  const closed = Promise.withResolvers<void>();
  const url = await stubServer(t, (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${JSON.stringify(delta({ content: "x" }))}\n\n`);
    once(response, "close").then(() => closed.resolve());
  });
  const sink = new RecordingSink();
  sink.heard = () => controller.abort();
  await engineAt(url).generate(chatJob("x"), sink, controller.signal);
  await closed.promise;
  assert.equal(sink.deltas.length, 1);
});

test("reports progress to the gateway every second until the first output", async (t) => {
  const clock = new ManualClock();
  const arrived = Promise.withResolvers<ServerResponse>();
  const url = await stubServer(t, (request, response) => {
    if (request.method === "POST") arrived.resolve(response);
    else sendJson(response, { data: [] });
  });
  const sink = new RecordingSink();
  const generating = openAiEngine({ name: "stub", url, models, clock }).generate(chatJob("x"), sink, never);
  const response = await arrived.promise;
  clock.advance(3000);
  assert.equal(sink.fractions.length, 3);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const spoke = Promise.withResolvers<void>();
  sink.heard = () => spoke.resolve();
  response.write(`data: ${JSON.stringify(delta({ content: "x" }))}\n\n`);
  await spoke.promise;
  clock.advance(3000);
  assert.equal(sink.fractions.length, 3);
  response.end("data: [DONE]\n\n");
  await generating;
});

const embedJob = (input: string[]): EmbeddingJob => ({
  id: JOB_ID,
  attempt: 1,
  model: "embed-m3",
  endpoint: "embedding",
  input,
});
const embed = (engine: Engine, input: string[]): Promise<Float32Array[]> =>
  Array.fromAsync(engine.embed(embedJob(input), new RecordingSink(), never));

test("embeddings: returns vectors in order over several calls, sent as floats or as base64", async (t) => {
  const url = await stubServer(t, (request, response) => {
    assert.equal(request.path, "/v1/embeddings");
    const { input, model } = JSON.parse(request.body) as { input: string[]; model: string };
    assert.equal(model, "bge-m3");
    const data = input.map((text, index) => {
      const values = [Number(text), 0.5];
      const base64 = Buffer.from(Float32Array.from(values).buffer).toString("base64");
      return { object: "embedding", index, embedding: index % 2 === 0 ? values : base64 };
    });
    sendJson(response, { object: "list", data: data.toReversed(), usage: { prompt_tokens: 1e9 } });
  });
  const vectors = await embed(
    engineAt(url),
    Array.from({ length: 19 }, (_, i) => String(i)),
  );
  assert.deepEqual(
    vectors.map((vector) => [...vector]),
    Array.from({ length: 19 }, (_, i) => [i, 0.5]),
  );
});

test("reports an engine error for embeddings that are missing, misnumbered or malformed", async (t) => {
  const answers = [
    { data: [{ index: 0, embedding: [1] }] },
    { data: [1, 1].map((index) => ({ index, embedding: [1] })) },
    { data: "none" },
    { data: [0, 1].map((index) => ({ index, embedding: "AAA=" })) },
  ];
  for (const answer of answers) {
    const url = await stubServer(t, (_request, response) => sendJson(response, answer));
    await assert.rejects(embed(engineAt(url), ["a", "b"]), EngineError);
  }
});

test("reduces the number of texts per call if embeddings are slow, and reports progress meanwhile", async (t) => {
  const clock = new ManualClock();
  const sizes: number[] = [];
  let arrived = Promise.withResolvers<() => void>();
  const url = await stubServer(t, (request, response) => {
    if (request.method === "GET") return sendJson(response, { data: [] });
    const { input } = JSON.parse(request.body) as { input: string[] };
    sizes.push(input.length);
    arrived.resolve(() => sendJson(response, { data: input.map((_, index) => ({ index, embedding: [1] })) }));
  });
  const engine = openAiEngine({ name: "stub", url, models, clock });
  const sink = new RecordingSink();
  const inputs = Array.from({ length: 16 }, () => "long");
  const embedded = Array.fromAsync(engine.embed(embedJob(inputs), sink, never));
  const toldIn: number[] = [];
  for (let calls = 0; calls < 5; calls++) {
    const answer = await arrived.promise;
    arrived = Promise.withResolvers();
    const before = sink.fractions.length;
    clock.advance(4000);
    toldIn.push(sink.fractions.length - before);
    answer();
  }
  assert.equal((await embedded).length, 16);
  assert.deepEqual(sizes, [8, 4, 2, 1, 1]);
  assert.deepEqual(toldIn, [4, 4, 4, 4, 4]);
});

test("reports an output format that the engine refuses as a mistake in the request, and other failures as the engine's", async (t) => {
  const format = { type: "json_schema" as const, name: "x", schema: { type: "object" } };
  const refuse = async (status: number, message: string): Promise<unknown> => {
    const url = await stubServer(t, (_, response) => sendJson(response, { error: { message } }, status));
    return engineAt(url)
      .generate(chatJob("x", { format }), new RecordingSink(), never)
      .catch((error) => error.blame);
  };
  assert.equal(await refuse(400, "failed to parse"), "prompt");
  assert.equal(await refuse(422, "Unexpected fields in the request: {'response_format'}"), "prompt");
  assert.equal(await refuse(500, "invalid JSON schema in format"), "prompt");
  assert.equal(await refuse(500, "out of memory"), "engine");
  assert.equal(await refuse(401, "no key"), "engine");
});

test("accepts an address with or without /v1, or with a longer path", () => {
  for (const url of ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/"])
    assert.equal(toRootAddress(url), "http://h:1");
  assert.equal(toRootAddress("https://h/engine/v1"), "https://h/engine");
});

test("fails the job when the engine stays overloaded", async (t) => {
  const clock = new ManualClock();
  let posts = 0;
  const url = await stubServer(t, (request, response) => {
    if (request.method === "POST") posts++;
    sendJson(response, { error: "busy" }, 429);
  });
  const engine = openAiEngine({ name: "stub", url, models, clock });
  let over = false;
  const failed = assert
    .rejects(engine.generate(chatJob("x"), new RecordingSink(), never), { name: "EngineBusy", blame: "engine" })
    .finally(() => {
      over = true;
    });
  while (!over) {
    // The engine object refuses new jobs for one second after each overload response of the server, so a refusal shows
    // that the response has arrived. The longest pause before a retry is two seconds.
    while (!over && !engine.refuses?.(chatJob("x"))) await waitOneTurn(clock);
    clock.advance(2000);
    await waitOneTurn(clock);
  }
  await failed;
  assert.equal(posts, 6);
});

test("retries a job without loss if the server closed the connection after the previous job", async (t) => {
  let posts = 0;
  const url = await stubServer(t, (_request, response) => {
    if (++posts === 1) response.socket?.destroy();
    else stream(response, [delta({ content: "ok" }, "stop")]);
  });
  const sink = new RecordingSink();
  await engineAt(url).generate(chatJob("x"), sink, never);
  assert.equal(sink.text("answer"), "ok");
  assert.equal(posts, 2);
});

test("reuses the connection if the response ends soon after its last event, and closes it otherwise", async (t) => {
  const sockets = new Set<unknown>();
  let last: ServerResponse | undefined;
  const url = await stubServer(t, (request, response) => {
    sockets.add(response.socket);
    if (request.method === "GET") return sendJson(response, { object: "list", data: [] });
    last = response;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${JSON.stringify(delta({ content: "ok" }, "stop"))}\n\ndata: [DONE]\n\n`);
  });
  const clock = new ManualClock();
  const engine = openAiEngine({ name: "stub", url, models, clock });
  const job = async (): Promise<ServerResponse> => {
    assert.equal((await engine.generate(chatJob("x"), new RecordingSink(), never)).finish, "stop");
    return last as ServerResponse;
  };
  for (let i = 0; i < 20; i++) {
    const response = await job();
    response.end();
    await once(response, "finish");
    // The client gets a few event-loop turns to read the end of the response.
    for (let turns = 0; turns < 10; turns++) await waitOneTurn(clock);
  }
  assert.ok(sockets.size <= 3, `${sockets.size} connections for 20 jobs`);
  const endless = await job();
  const closed = once(endless, "close");
  clock.advance(1000);
  await closed;
  assert.equal(endless.writableFinished, false);
});
