/**
 * The part that all stub engines share: their models, their next answers, and a record of requests. One word counts as
 * one token. Each stub implements the wire format of one engine.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { StubRequest } from "../stub-http.ts";

interface StubModel {
  name: string;
  contextTokens: number;
  embeds?: boolean;
}

export class StubEngine {
  models: StubModel[] = [{ name: "llama3.2:3b", contextTokens: 8192 }];
  slots = 2;
  /** The reported number of requests that wait for a slot, for engines that report it. */
  waiting = 0;
  /** The reported `--max-num-seqs`, as in vLLM's development mode. */
  sequencesTold: number | undefined;
  thinking: string[] = [];
  answer: string[] = ["Hello", " there", "!"];
  finish: "stop" | "length" = "stop";
  /** Whether the stub enforces requested output formats. */
  keepsFormats = true;
  /** If true, every job fails at once, but the server still answers other requests. */
  dead = false;
  /** The number of next jobs that the stub refuses as overload. */
  overloads = 0;
  /** The answer stops after this many words and waits for `resume`. */
  pauseAfter = Number.POSITIVE_INFINITY;
  /** Whether the model is still being loaded. */
  loading = false;
  /** The number of progress reports while the prompt is read, for engines that report progress. */
  promptSteps = 0;
  readonly jobs: { path: string; body: Record<string, unknown> }[] = [];
  /** Resolves when a client closes its connection in the middle of an answer. */
  readonly hungUp = Promise.withResolvers<void>();
  #resume = Promise.withResolvers<void>();

  resume(): void {
    this.#resume.resolve();
  }

  model(name: unknown): StubModel | undefined {
    return this.models.find((model) => model.name === name);
  }

  /** Records the job and returns its body. */
  take(request: StubRequest): Record<string, unknown> {
    const body = JSON.parse(request.body) as Record<string, unknown>;
    this.jobs.push({ path: request.path, body });
    return body;
  }

  /** The words of the answer. They have the requested output format if the stub enforces formats. */
  answerTo(body: Record<string, unknown>): string[] {
    const format = (body.response_format ?? body.json_schema ?? body.format) as Record<string, unknown> | undefined;
    if (format === undefined || !this.keepsFormats) return this.answer;
    const word = /"enum":\["([^"]+)"\]/.exec(JSON.stringify(format))?.[1];
    return [`{"word": `, JSON.stringify(word), "}"];
  }

  refuses(): boolean {
    if (this.overloads === 0) return false;
    this.overloads--;
    return true;
  }

  /** Counts the words of a prompt or of messages. */
  promptTokens(body: Record<string, unknown>): number {
    const messages = (body.messages ?? []) as { content: string }[];
    const text = [body.prompt ?? "", ...messages.map(({ content }) => content)].join(" ");
    return countWords(text);
  }

  /** Sends thinking and answer word by word, as fast as the client reads, with the configured pauses. */
  async speak(
    response: ServerResponse,
    body: Record<string, unknown>,
    say: (kind: "thinking" | "answer", word: string) => string,
  ): Promise<void> {
    let said = 0;
    const answer = this.answerTo(body);
    const words = [...this.thinking.map((word) => ["thinking", word]), ...answer.map((word) => ["answer", word])];
    for (const [kind, word] of words as ["thinking" | "answer", string][]) {
      if (said++ === this.pauseAfter && !(await this.#pause(response))) return;
      response.write(say(kind, word));
    }
  }

  /** Returns false if the client disconnected during the pause. */
  async #pause(response: ServerResponse): Promise<boolean> {
    const closed = once(response, "close").then(() => "closed" as const);
    if ((await Promise.race([closed, this.#resume.promise])) !== "closed") return true;
    this.hungUp.resolve();
    return false;
  }

  /** Makes a vector that depends on the text. */
  vector(text: string): number[] {
    return [countWords(text), text.length, 0.5];
  }
}

export const countWords = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length;

/** Handlers by method and path. Other requests get a 404. */
export type StubRoutes = Record<string, (request: StubRequest, response: ServerResponse) => void | Promise<void>>;
