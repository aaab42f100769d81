/** Keeps a few requests running while the pictures are taken, so that live figures are not zero. */
import type { LifelikePlatform } from "../lifelike/lifelike-platform.ts";

const RUNNING = [
  { key: "production", model: "small-8b" },
  { key: "production", model: "reason-32b" },
  { key: "staging", model: "tiny-3b" },
];

/** Starts the requests and resolves once all are being answered. The returned function ends them. */
export async function keepRequestsRunning({ platform, cast }: LifelikePlatform): Promise<() => Promise<void>> {
  const over = new AbortController();
  const reading: Promise<string>[] = [];
  for (const { key, model } of RUNNING) {
    const response = await fetch(`${platform.ready.gateway_url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${cast.keys.get(key)}`, "content-type": "application/json" },
      body: JSON.stringify({
        model,
        stream: true,
        max_tokens: 4_000,
        messages: [{ role: "user", content: `#script ${JSON.stringify({ tokens: 100_000, delta_ms: 250 })}` }],
      }),
      signal: over.signal,
    });
    if (!response.ok) throw new Error(`a request could not be kept running: ${await response.text()}`);
    reading.push(response.text());
  }
  return async () => {
    over.abort();
    await Promise.allSettled(reading);
  };
}
