/**
 * Checks further features of a real engine through the gateway: answers in a requested output format, and embeddings.
 */
import type { TargetAddress } from "../gateway/load.ts";

interface Extent {
  requests: number;
  atOnce: number;
}

const WEATHERS = ["sun", "rain", "fog"];

/** A schema without long values, because a model with random weights hardly ever ends a text. */
const SCHEMA = {
  type: "object",
  properties: { weather: { enum: WEATHERS }, windy: { type: "boolean" } },
  required: ["weather", "windy"],
  additionalProperties: false,
};

export const checkStructuredOutput = (address: TargetAddress, extent: Extent): Promise<string> =>
  check("structured output", extent, async (nth) => {
    const answer = await ask(address, "chat/completions", {
      model: address.models.chat,
      messages: [{ role: "user", content: `${nth} How is the weather?` }],
      max_tokens: 200,
      temperature: 0.7,
      response_format: { type: "json_schema", json_schema: { name: "weather", strict: true, schema: SCHEMA } },
    });
    const [choice] = (answer as { choices: { finish_reason: string; message: { content: string } }[] }).choices;
    // A model with random weights may reach the token limit before its text ends, and cut JSON cannot be parsed.
    if (choice?.finish_reason === "length") return "cut at the cap";
    const said = JSON.parse(choice?.message.content ?? "") as Record<string, unknown>;
    const isKept =
      WEATHERS.includes(String(said.weather)) && typeof said.windy === "boolean" && Object.keys(said).length === 2;
    return isKept ? "as the schema says" : "not as the schema says";
  });

export const checkEmbeddings = (address: TargetAddress, extent: Extent): Promise<string> =>
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

async function ask({ port, headers }: TargetAddress, path: string, body: object): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}
