/**
 * Sends HTTP requests that ordinary clients cannot send: any method, a false content length, a body without a length.
 */
import { Agent, request } from "node:http";

export interface RawRequest {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** Sends a Content-Length of this number, but no body. */
  claimsBytes?: number;
  /** Sends the body in chunks, without a Content-Length. */
  chunked?: boolean;
}

export interface RawResponse {
  status: number;
  /** The headers by lower-case name. */
  headers: Record<string, string>;
  text: string;
  /** Whether the body arrived completely; false for a stream that failed. */
  isWhole: boolean;
}

const CHUNK_CHARS = 256 * 1024;

export function sendRawRequest(baseUrl: string, sent: RawRequest): Promise<RawResponse> {
  const { method = "POST", path, headers = {}, body = "", claimsBytes, chunked = false } = sent;
  return new Promise((resolve, reject) => {
    // The URL is joined as text, because a URL object would normalise the path.
    const { hostname, port } = new URL(baseUrl);
    const length = claimsBytes ?? Buffer.byteLength(body);
    const inChunks = chunked && claimsBytes === undefined;
    // Every request has its own agent, and thus its own connection: a server that answers before it has read the whole
    // body may cut the connection, which would end the next request too. Without `keepAlive`, Node would send the
    // header `connection: close`.
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
      // Ignores an error after the answer: the server may close the connection while the body is still being sent.
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
 * Yields the text of an answer as it arrives. The body is read eagerly, because `fetch` discards unread data if the
 * body breaks off, as that of a failed stream does after its error event.
 */
export function readResponseParts(response: Response): AsyncGenerator<string, void> {
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

export const readText = async (response: Response): Promise<string> =>
  (await Array.fromAsync(readResponseParts(response))).join("");

/** Splits a stream's text into events. */
export function splitEvents(text: string): string[] {
  return text
    .trimEnd()
    .split("\n\n")
    .map((event) => event.replace(/^data: /, ""));
}

/** Converts a request ID `req_…` to the database's UUID: its 26 Crockford characters encode 128 bits. */
export function convertRequestIdToUuid(requestId: string): string {
  const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  let bits = 0n;
  for (const char of requestId.slice("req_".length)) bits = bits * 32n + BigInt(alphabet.indexOf(char));
  const hex = bits.toString(16).padStart(32, "0");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
