/** Sends requests with correct framing over kept-alive connections. */
import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { hangSignal } from "@tollgate/stage/wait.ts";
import type { ReceivedResponse } from "./expected-response.ts";
import { FUZZ_API_KEY, type HttpFuzzCase } from "./fuzz-case.ts";
import { type FuzzTarget, NoValidResponseError } from "./fuzz-target.ts";

export class KeepAliveSender {
  readonly #target: FuzzTarget;
  readonly #agent: Agent;

  constructor(target: FuzzTarget, connections: number) {
    this.#target = target;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  send(shot: HttpFuzzCase): Promise<ReceivedResponse> {
    return new Promise((resolve, reject) => {
      const outgoing = this.#open(shot);
      let answered = false;
      outgoing.on("error", (cause) => {
        // Not an error after the response: a server may then close the connection although the body is still being
        // sent.
        if (!answered) reject(new NoValidResponseError(`no answer: ${cause.message}`, { cause }));
      });
      outgoing.on("response", (response) => {
        read(response).then((answer) => {
          answered = true;
          resolve(answer);
          if (!outgoing.writableFinished) outgoing.destroy();
        }, reject);
      });
      outgoing.end(shot.body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  #open({ method, path, headers, body }: HttpFuzzCase): ClientRequest {
    const { port, key } = this.#target;
    const length = body === null || "transfer-encoding" in headers ? {} : { "content-length": String(body.length) };
    const filled = Object.entries(headers).map(([name, value]) => [name, value.replaceAll(FUZZ_API_KEY, key)]);
    return request({
      agent: this.#agent,
      host: "127.0.0.1",
      port,
      method,
      path,
      headers: { ...Object.fromEntries(filled), ...length },
      signal: hangSignal(),
    });
  }
}

async function read(response: IncomingMessage): Promise<ReceivedResponse> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk);
  } catch (cause) {
    throw new NoValidResponseError(`the answer broke off after ${Buffer.concat(chunks).length} bytes`, { cause });
  }
  const headers = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(headers),
    text: Buffer.concat(chunks).toString("utf8"),
  };
}
