/** Test helper: reads a stream of server-sent events as it arrives. */
import type { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { Browser, BrowserResponse } from "../../testing/browser.ts";

export interface EventReader {
  /** The response's status and headers, before the first event. */
  answer: BrowserResponse;
  /** The parsed data of the first event with this name. */
  event(name: string): Promise<unknown>;
  close(): void;
}

export async function openEvents(app: FastifyInstance, browser: Browser, url: string): Promise<EventReader> {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const response = await app.inject({ url, headers: { host: "console.test", cookie }, payloadAsStream: true });
  const stream: Readable = response.stream();
  let text = "";
  stream.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  const find = (name: string) => new RegExp(`^event: ${name}\\ndata: (.*)\\n\\n`, "m").exec(text)?.[1];
  return {
    answer: { status: response.statusCode, headers: response.headers, text: "", body: {} },
    event: (name) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const data = find(name);
          if (data !== undefined) resolve(JSON.parse(data));
        };
        stream
          .on("data", look)
          .once("error", reject)
          .once("end", () => reject(new Error(`no event ${name}`)));
        look();
      }),
    close() {
      stream.destroy();
      // Simulates a disconnected browser, because the fake socket does not close by itself.
      response.raw.res.emit("close");
    },
  };
}
