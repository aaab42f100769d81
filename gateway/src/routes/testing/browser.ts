/** For tests: a browser with the console open, which keeps cookies and sends an Origin header. */
import type { FastifyInstance } from "fastify";
import { insertSession, type SessionContext } from "../../accounts/testing/insert-session.ts";
import type { Uuid } from "../../base/ids.ts";

export const PASSWORD = "correct horse battery";
const HOST = "console.test";

export interface BrowserResponse {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  text: string;
  /** The answer's JSON; empty if the answer is not JSON. */
  body: {
    [field: string]: unknown;
    identity?: { [field: string]: unknown };
    error?: { message: string; type: string; code?: string; param?: string };
  };
}

/** Numbers the browsers, so that each has another network address: sign-in attempts are counted by address. */
let browsers = 0;

export class Browser {
  readonly #app: FastifyInstance;
  readonly address: string;
  readonly cookies = new Map<string, string>();

  constructor({ app }: { app: FastifyInstance }, address = `10.0.${browsers >> 8}.${browsers++ & 255}`) {
    this.#app = app;
    this.address = address;
  }

  async send(
    method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE",
    url: string,
    more: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<BrowserResponse> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await this.#app.inject({
      method,
      url,
      remoteAddress: this.address,
      headers: {
        host: HOST,
        ...(cookie !== "" && { cookie }),
        ...(more.body !== undefined && { "content-type": "application/json" }),
        ...(more.headers ?? { "sec-fetch-site": "same-origin" }),
      },
      ...(more.body !== undefined && { payload: JSON.stringify(more.body) }),
    });
    for (const { name, value } of response.cookies) {
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, encodeURIComponent(value));
    }
    const isJson = String(response.headers["content-type"]).startsWith("application/json");
    return {
      status: response.statusCode,
      headers: response.headers,
      text: response.payload,
      body: isJson && response.payload !== "" ? JSON.parse(response.payload) : {},
    };
  }

  /** Signs in without the sign-in routes, for tests of other routes. */
  async enter(place: SessionContext, identityId: Uuid): Promise<void> {
    const { name, value } = await insertSession(place, { identityId, address: this.address });
    this.cookies.set(name, value);
  }

  signIn(email: string, password = PASSWORD): Promise<BrowserResponse> {
    return this.send("POST", "/console/api/auth/sign-in/email", { body: { email, password } });
  }
}
