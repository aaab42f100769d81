/** What a person sees of `npm start`: progress on one line while things start, then the few lines needed to begin. */
import type { Online } from "./dev-nodes.ts";

interface Ready {
  baseUrl: string;
  consoleUrl: string;
  /** The page of the payment provider's stand-in, where there is one. */
  paymentsUrl: string | undefined;
  apiKey: string;
  signIn: { email: string; password: string };
  online: Online[];
  /** What a person has to know of nodes that do not serve. */
  notes: string[];
  /** The model of the example. */
  model: string;
}

export class Screen {
  readonly #out: NodeJS.WriteStream;
  #lineOpen = false;

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
  }

  /** On a terminal each step replaces the last; elsewhere each is a line of its own. */
  step(what: string): void {
    if (this.#out.isTTY) this.#out.write(`\r\x1b[2K  ${what}…`);
    else this.#out.write(`  ${what}…\n`);
    this.#lineOpen = this.#out.isTTY;
  }

  ready({ baseUrl, consoleUrl, paymentsUrl, apiKey, signIn, online, notes, model }: Ready): void {
    this.done();
    const nodes = online.map(({ engine, models, slots }) => `${engine} (${models.length} models, ${slots} slots)`);
    const told = notes.map((note) => `\n  Note           ${note}`).join("");
    const question = JSON.stringify({
      model,
      stream: true,
      messages: [{ role: "user", content: "Tell me a story about a fox" }],
    });
    this.#out.write(`
  Tollgate is ready.

  Base address   ${baseUrl}/v1
  API key        ${apiKey}
  Console        ${consoleUrl}
  Sign in        ${signIn.email} / ${signIn.password}
  Node           ${nodes.length === 0 ? "none" : nodes.join(", ")}${paymentsUrl === undefined ? "" : `\n  Payments       ${paymentsUrl}`}${told}

  Try it:

  curl -N ${baseUrl}/v1/chat/completions \\
    -H "Authorization: Bearer ${apiKey}" \\
    -H "Content-Type: application/json" \\
    -d '${question}'

  Ctrl-C stops everything.
`);
  }

  done(): void {
    if (this.#lineOpen) this.#out.write("\r\x1b[2K");
    this.#lineOpen = false;
  }
}
