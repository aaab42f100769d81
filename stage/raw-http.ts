/** HTTP requests that no well-behaved client sends: any method, a length that is only claimed, a body without a length. */
import { Agent, request } from "node:http";

export interface Sent {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** Claims this many bytes and sends none of them. */
  claimsBytes?: number;
  /** Sends the body in chunks, without saying how long it is. */
  chunked?: boolean;
}

export interface Got {
  status: number;
  /** By lower-case name. */
  headers: Record<string, string>;
  text: string;
  /** The body came to its end. One of a stream that failed does not. */
  isWhole: boolean;
}

const CHUNK_CHARS = 256 * 1024;

export function send(baseUrl: string, sent: Sent): Promise<Got> {
  const { method = "POST", path, headers = {}, body = "", claimsBytes, chunked = false } = sent;
  return new Promise((resolve, reject) => {
    // Joined by hand: a URL object would tidy the path up.
    const { hostname, port } = new URL(baseUrl);
    const length = claimsBytes ?? Buffer.byteLength(body);
    const inChunks = chunked && claimsBytes === undefined;
    // A connection for each: who was answered before all of its body was read may find its connection cut, and so would the next on it.
    const agent = new Agent({ keepAlive: true });
    const outgoing = request({
      agent,
      hostname,
      port,
      path,
      method,
      headers: { ...headers, ...(inChunks ? { "transfer-encoding": "chunked" } : { "content-length": length }) },
    });
    let answered = false;
    outgoing.on("close", () => agent.destroy());
    outgoing.on("error", (error) => {
      // A server may close on what is still being sent once it has answered.
      if (!answered) reject(error);
    });
    outgoing.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      const isStream = response.headers["content-type"]?.startsWith("text/event-stream") === true;
      response.on("error", (error) => {
        if (!isStream) reject(error);
      });
      response.on("close", () => {
        answered = true;
        const { complete: isWhole } = response;
        resolve({ status: response.statusCode ?? 0, headers: flat(response.headers), text, isWhole });
        if (claimsBytes !== undefined) outgoing.destroy();
      });
    });
    if (claimsBytes !== undefined) {
      outgoing.flushHeaders();
      return;
    }
    for (let at = 0; at < body.length; at += CHUNK_CHARS) outgoing.write(body.slice(at, at + CHUNK_CHARS));
    outgoing.end();
  });
}

function flat(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

/**
 * An answer as it arrives. A failed stream is cut off after its error event. It is read at once, because `fetch` forgets the unread part of
 * a body that breaks off.
 */
export function partsOf(response: Response): AsyncGenerator<string, void> {
  const parts: string[] = [];
  let more = Promise.withResolvers<void>();
  const over = (async (): Promise<{ error?: unknown }> => {
    let text = "";
    try {
      for await (const part of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
        text += part;
        parts.push(part);
        more.resolve();
      }
    } catch (error) {
      if (!text.includes('data: {"error":')) return { error };
    }
    return {};
  })();
  return (async function* () {
    let end: { error?: unknown } | undefined;
    while (end === undefined) {
      end = (await Promise.race([more.promise, over])) ?? undefined;
      more = Promise.withResolvers<void>();
      yield* parts.splice(0);
    }
    if ("error" in end) throw end.error;
  })();
}

export const textOf = async (response: Response): Promise<string> =>
  (await Array.fromAsync(partsOf(response))).join("");

/** The events of a stream's text. */
export function events(text: string): string[] {
  return text
    .trimEnd()
    .split("\n\n")
    .map((event) => event.replace(/^data: /, ""));
}

/** `req_…` as the database has it: 26 Crockford characters are the 128 bits of its id. */
export function requestUuid(requestId: string): string {
  const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  let bits = 0n;
  for (const char of requestId.slice("req_".length)) bits = bits * 32n + BigInt(alphabet.indexOf(char));
  const hex = bits.toString(16).padStart(32, "0");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
