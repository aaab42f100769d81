/** A test client for the console's API that keeps cookies and sends an Origin header, as a browser does. */
import assert from "node:assert/strict";
import type { ReadyFile } from "@tollgate/stage/dev-platform.ts";

export interface ConsoleResponse {
  status: number;
  text: string;
  /** The answer's JSON; empty if it is not JSON. */
  body: Record<string, unknown> & { error?: { code?: string; message: string; param?: string } };
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export class ConsoleClient {
  readonly #origin: string;
  /** Called with every answer. */
  readonly #onAnswer: (answer: ConsoleResponse) => void;
  readonly cookies = new Map<string, string>();

  constructor(
    platform: { ready: Pick<ReadyFile, "gateway_url"> },
    onAnswer: (answer: ConsoleResponse) => void = () => {},
  ) {
    this.#origin = platform.ready.gateway_url;
    this.#onAnswer = onAnswer;
  }

  get cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  /** Stores the cookies of a response that another client received. */
  keep({ headers }: Response): void {
    for (const line of headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) as unknown as [string, string, string];
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
  }

  /** Sends a request to a path below `/console/api/`. */
  async ask(method: Method, path: string, body?: unknown): Promise<ConsoleResponse> {
    const response = await fetch(`${this.#origin}/console/api/${path}`, {
      method,
      headers: { "sec-fetch-site": "same-origin", cookie: this.cookie, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    this.keep(response);
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    const answer = { status: response.status, text, body: isJson ? JSON.parse(text) : {} };
    this.#onAnswer(answer);
    return answer;
  }

  /** Returns the answer's fields; fails unless the status is 200. */
  async get<T = Record<string, unknown>>(path: string): Promise<T> {
    const { status, text, body } = await this.ask("GET", path);
    assert.equal(status, 200, text);
    return body as T;
  }

  async send<T = Record<string, unknown>>(method: Method, path: string, body?: unknown): Promise<T> {
    const answer = await this.ask(method, path, body);
    assert.ok(answer.status === 200 || answer.status === 201, answer.text);
    return answer.body as T;
  }

  async signIn({ email, password }: { email: string; password: string }): Promise<this> {
    await this.send("POST", "auth/sign-in/email", { email, password });
    return this;
  }

  /** Signs up a new user who gets a builder account with credit granted by the operator. */
  async signUp(email: string, { operator, credit }: { operator: ConsoleClient; credit: string }): Promise<string> {
    await this.send("POST", "auth/sign-up/email", { email, password: `the password of ${email}`, name: "Somebody" });
    const { id } = await this.send<{ id: string }>("POST", "accounts", { kind: "builder", name: `Work of ${email}` });
    await operator.send("POST", `operator/accounts/${id}/grant`, { amount_micro: credit, reason: "to begin with" });
    return id;
  }
}
