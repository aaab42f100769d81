/** Checks of a real engine besides streams: answers in a format, and embeddings, through the gateway. */
import type { Address } from "../gateway/load.ts";

interface Extent {
  requests: number;
  atOnce: number;
}

const WEATHERS = ["sun", "rain", "fog"];

/** Nothing of it can be long: random weights hardly ever end a text. */
const SCHEMA = {
  type: "object",
  properties: { weather: { enum: WEATHERS }, windy: { type: "boolean" } },
  required: ["weather", "windy"],
  additionalProperties: false,
};

export const checkStructured = (address: Address, extent: Extent): Promise<string> =>
  check("structured output", extent, async (nth) => {
    const answer = await ask(address, "chat/completions", {
      model: address.models.chat,
      messages: [{ role: "user", content: `${nth} How is the weather?` }],
      max_tokens: 200,
      temperature: 0.7,
      response_format: { type: "json_schema", json_schema: { name: "weather", strict: true, schema: SCHEMA } },
    });
    const [choice] = (answer as { choices: { finish_reason: string; message: { content: string } }[] }).choices;
    // Random weights end a text late or never: what the cap cut is no whole JSON.
    if (choice?.finish_reason === "length") return "cut at the cap";
    const said = JSON.parse(choice?.message.content ?? "") as Record<string, unknown>;
    const isKept =
      WEATHERS.includes(String(said.weather)) && typeof said.windy === "boolean" && Object.keys(said).length === 2;
    return isKept ? "as the schema says" : "not as the schema says";
  });

export const checkEmbeddings = (address: Address, extent: Extent): Promise<string> =>
  check("embeddings", extent, async (nth) => {
    const input = Array.from({ length: 8 }, (_, i) => `${nth} ${i} A garden by the harbour.`);
    const answer = await ask(address, "embeddings", { model: address.models.embedding, input });
    const vectors = (answer as { data: { embedding: number[] }[] }).data;
    return `${vectors.length} vectors of ${vectors[0]?.embedding.length}`;
  });

async function check(what: string, extent: Extent, one: (nth: number) => Promise<string>): Promise<string> {
  const outcomes: Record<string, number> = {};
  const startedAt = performance.now();
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < extent.requests) {
      const outcome = await one(next++).catch((error: unknown) => (error instanceof Error ? error.message : "failed"));
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: extent.atOnce }, worker));
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  return `${what}: ${extent.requests} requests, ${extent.atOnce} at once, in ${seconds} s: ${JSON.stringify(outcomes)}`;
}

async function ask({ port, headers }: Address, path: string, body: object): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}
