/** Writes bytes to a new socket and reads the responses. */
import { connect, type Socket } from "node:net";
import { failIfHung } from "@tollgate/stage/wait.ts";
import type { ReceivedResponse } from "./expected-response.ts";
import { FUZZ_API_KEY, type SocketFuzzCase } from "./fuzz-case.ts";
import { type FuzzTarget, NoValidResponseError } from "./fuzz-target.ts";
import { parseHttpResponses } from "./parse-http-responses.ts";

/** Returns the responses; none if the client disconnects on purpose. */
export async function sendOverNewSocket(target: FuzzTarget, shot: SocketFuzzCase): Promise<ReceivedResponse[]> {
  const conversation = new Conversation(target, shot);
  try {
    return await conversation.hold();
  } finally {
    conversation.socket.destroy();
  }
}

class Conversation {
  readonly socket: Socket;
  readonly #shot: SocketFuzzCase;
  readonly #target: FuzzTarget;
  readonly #over = Promise.withResolvers<void>();
  #received: Buffer = Buffer.alloc(0);
  #length = 0;

  constructor(target: FuzzTarget, shot: SocketFuzzCase) {
    this.#target = target;
    this.#shot = shot;
    this.socket = connect({ port: target.port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    const chunks: Buffer[] = [];
    this.socket.on("data", (chunk) => {
      chunks.push(chunk);
      this.#length += chunk.length;
      this.#received = Buffer.concat(chunks);
      if (this.#hasEnough()) this.#over.resolve();
    });
    this.socket.on("end", () => this.#over.resolve());
    this.socket.on("close", () => this.#over.resolve());
    // After a refusal, a server may cut the connection while the client still writes.
    this.socket.on("error", () => this.#over.resolve());
  }

  async hold(): Promise<ReceivedResponse[]> {
    const { pieces, afterwards, mayStaySilent = false, answers: due } = this.#shot;
    await this.#write(pieces);
    if (afterwards === "leave" && this.#shot.leaveAfterBytes === undefined) return [];
    if (afterwards === "end") this.socket.end();
    await failIfHung("an answer, or the end of the connection", this.#over.promise).catch((cause) => {
      throw new NoValidResponseError(this.#told("no answer"), { cause });
    });
    if (afterwards === "leave") return [];
    const { answers, rest } = parseHttpResponses(this.#received);
    if (rest.length > 0 || (answers.length < due.length && !mayStaySilent))
      throw new NoValidResponseError(this.#told("the answers broke off"));
    return answers;
  }

  async #write(pieces: Buffer[]): Promise<void> {
    const all = Buffer.from(
      Buffer.concat(pieces).toString("latin1").replaceAll(FUZZ_API_KEY, this.#target.key),
      "latin1",
    );
    let at = 0;
    for (const { length } of pieces) {
      if (this.socket.destroyed) return;
      this.socket.write(all.subarray(at, at + length));
      at += length;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #hasEnough(): boolean {
    const { afterwards, leaveAfterBytes = 0, answers, last } = this.#shot;
    if (afterwards === "leave") return this.#length >= leaveAfterBytes || safely(this.#received)?.length === 1;
    // After the last expected response, waits until the server closes the connection.
    if (last !== undefined || afterwards === "end") return false;
    return safely(this.#received)?.length === answers.length;
  }

  #told(what: string): string {
    return `${what}: ${JSON.stringify(this.#received.toString("latin1").slice(0, 400))}`;
  }
}

/** Returns undefined for incomplete bytes, because more may arrive. */
function safely(bytes: Buffer): ReceivedResponse[] | undefined {
  try {
    return parseHttpResponses(bytes).answers;
  } catch (error) {
    if (error instanceof NoValidResponseError) return undefined;
    throw error;
  }
}
