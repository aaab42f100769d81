/** A builder that sends requests to the gateway's API, as any client does, and reads the answers. */
import { hangSignal } from "@tollgate/stage/wait.ts";
import { BehaviorMismatch } from "../outcome.ts";

interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

export interface Answer {
  text: string;
  finish: string;
  usage: Usage;
}

export interface StreamedAnswer extends Answer {
  pieces: string[];
}

export class RequestRefused extends BehaviorMismatch {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(`answered ${status} ${code}: ${message}`);
    this.status = status;
    this.code = code;
  }
}

interface Choice {
  message?: { content: string };
  delta?: { content?: string };
  text?: string;
  finish_reason: string | null;
}

export class BuilderClient {
  readonly #base: string;
  readonly #key: string;

  constructor({ gateway_url, api_key }: { gateway_url: string; api_key: string }) {
    this.#base = `${gateway_url}/v1`;
    this.#key = api_key;
  }

  chat(content: string, more: object = {}): Promise<Answer> {
    return this.#whole("/chat/completions", { messages: [{ role: "user", content }], ...more });
  }

  complete(prompt: string, more: object = {}): Promise<Answer> {
    return this.#whole("/completions", { prompt, ...more });
  }

  streamChat(content: string, more: object = {}, options: StreamOptions = {}): Promise<StreamedAnswer> {
    return this.#stream("/chat/completions", { messages: [{ role: "user", content }], ...more }, options);
  }

  streamCompletion(prompt: string, more: object = {}): Promise<StreamedAnswer> {
    return this.#stream("/completions", { prompt, ...more }, {});
  }

  async embed(model: string, input: string[]): Promise<number[][]> {
    const response = await this.#post("/embeddings", { model, input });
    const { data } = (await response.json()) as { data: { embedding: number[] }[] };
    return data.map(({ embedding }) => embedding);
  }

  async #whole(path: string, body: object): Promise<Answer> {
    const response = await this.#post(path, { model: "tiny-3b", ...body });
    const { choices, usage } = (await response.json()) as { choices: Choice[]; usage: Usage };
    const [choice] = choices;
    return { text: choice?.message?.content ?? choice?.text ?? "", finish: choice?.finish_reason ?? "none", usage };
  }

  async #stream(path: string, body: object, { signal, onPiece }: StreamOptions): Promise<StreamedAnswer> {
    const asked = { model: "tiny-3b", stream: true, stream_options: { include_usage: true }, ...body };
    const response = await this.#post(path, asked, signal);
    const pieces: string[] = [];
    let finish = "none";
    let usage: Usage | undefined;
    let isDone = false;
    for await (const data of eventsOf(response)) {
      if (data === "[DONE]") {
        isDone = true;
        continue;
      }
      const chunk = JSON.parse(data) as {
        choices?: Choice[];
        usage?: Usage;
        error?: { code: string; message: string };
      };
      if (chunk.error !== undefined)
        throw new RequestRefused(200, chunk.error.code, `${chunk.error.message} (in the stream)`);
      usage = chunk.usage ?? usage;
      const [choice] = chunk.choices ?? [];
      finish = choice?.finish_reason ?? finish;
      const piece = choice?.delta?.content ?? choice?.text ?? "";
      if (piece === "") continue;
      pieces.push(piece);
      onPiece?.(piece);
    }
    if (!isDone || usage === undefined) throw new BehaviorMismatch("the stream ended without [DONE] or without usage");
    return { text: pieces.join(""), finish, usage, pieces };
  }

  async #post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
    const response = await fetch(`${this.#base}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.any([hangSignal(), ...(signal === undefined ? [] : [signal])]),
    });
    if (response.ok) return response;
    const { error } = (await response.json()) as { error: { type: string; code?: string; message: string } };
    throw new RequestRefused(response.status, error.code ?? error.type, error.message);
  }
}

interface StreamOptions {
  signal?: AbortSignal;
  onPiece?: (piece: string) => void;
}

async function* eventsOf(response: Response): AsyncGenerator<string> {
  let rest = "";
  for await (const text of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    const events = (rest + text).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) if (event.startsWith("data: ")) yield event.slice("data: ".length);
  }
}
