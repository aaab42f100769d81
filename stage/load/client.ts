/** Sends one request on its own connection, without retries, and reports how it ended. */
import { type ClientRequest, type IncomingMessage, request as openRequest } from "node:http";
import type { PlannedRequest, RequestEnd, RequestObservation } from "./observation.ts";

/**
 * The client gives up a request after this many milliseconds. All answers arrive earlier, even those that a fault
 * delays.
 */
const PATIENCE_MS = 60_000;

export interface OutgoingRequest {
  port: number;
  method: "GET" | "POST";
  path: string;
  headers: Record<string, string>;
  body?: string;
}

type Seen = Omit<RequestObservation, keyof PlannedRequest | "beganAt" | "endedAt">;

export async function sendAndObserve(
  errand: PlannedRequest,
  sending: OutgoingRequest,
  now: () => number,
): Promise<RequestObservation> {
  const beganAt = now();
  const seen = await exchange(errand, sending);
  return { ...errand, beganAt, endedAt: now(), ...seen };
}

function exchange({ stream, hangUpAfterMs }: PlannedRequest, sending: OutgoingRequest): Promise<Seen> {
  const { port, method, path, headers, body } = sending;
  return new Promise((resolve) => {
    let answer: IncomingMessage | undefined;
    let text = "";
    const timers: NodeJS.Timeout[] = [];
    const outgoing: ClientRequest = openRequest({ host: "127.0.0.1", port, method, path, headers, agent: false });
    const done = (end: RequestEnd): void => {
      for (const timer of timers) clearTimeout(timer);
      outgoing.destroy();
      resolve(tell(end, { answer, text, stream }));
    };
    timers.push(setTimeout(() => done("gave up"), PATIENCE_MS));
    if (hangUpAfterMs !== null) timers.push(setTimeout(() => done("hung up"), hangUpAfterMs));
    outgoing.on("error", () => done("lost"));
    outgoing.on("response", (response) => {
      answer = response;
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("close", () => done(response.complete ? "complete" : "lost"));
    });
    outgoing.end(body);
  });
}

interface Got {
  answer: IncomingMessage | undefined;
  text: string;
  stream: boolean;
}

function tell(end: RequestEnd, { answer, text, stream }: Got): Seen {
  const status = answer?.statusCode ?? null;
  const requestId = headerOf(answer, "x-request-id");
  const facts = { requestId, status, code: null, received: "", usage: null };
  // The balancer answers 502 if the connection to the gateway broke before an answer.
  if (status === 502 && headerOf(answer, "x-balancer") !== null) return { ...facts, status: null, end: "lost" };
  const isStream = stream && status === 200;
  const { isWhole, ...told } = isStream ? readEvents(text) : readWhole(text, end === "complete");
  // The gateway cuts the connection after an error event, so the event counts, not the lost connection.
  if (isStream && told.code !== null && end === "lost") return { ...facts, ...told, end: "event" };
  if (end !== "complete") return { ...facts, ...told, code: null, end };
  if (status !== 200) return { ...facts, ...told, end: "refused" };
  // A stream without its end is incomplete, even if the connection closed without an error.
  return { ...facts, ...told, end: isWhole ? "complete" : "lost" };
}

interface Told {
  code: string | null;
  received: string;
  usage: RequestObservation["usage"];
  isWhole: boolean;
}

interface Body {
  error?: { code?: string; type?: string };
  choices?: { message?: { content?: string }; delta?: { content?: string }; text?: string }[];
  usage?: { prompt_tokens: number; completion_tokens?: number } | null;
}

function readWhole(text: string, isWhole: boolean): Told {
  const body = isWhole ? parsed(text) : undefined;
  const choice = body?.choices?.[0];
  return {
    code: body?.error === undefined ? null : (body.error.code ?? body.error.type ?? null),
    received: choice?.message?.content ?? choice?.text ?? "",
    usage: usageOf(body),
    isWhole: body !== undefined,
  };
}

function readEvents(text: string): Told {
  const told: Told = { code: null, received: "", usage: null, isWhole: false };
  // Ignores text after the last empty line, which is an incomplete event.
  for (const event of text.split("\n\n").slice(0, -1)) {
    const data = /^data: (.*)$/m.exec(event)?.[1];
    if (data === undefined) continue;
    if (data === "[DONE]") told.isWhole = true;
    const body = parsed(data);
    const choice = body?.choices?.[0];
    told.received += choice?.delta?.content ?? choice?.text ?? "";
    told.code ??= body?.error === undefined ? null : (body.error.code ?? body.error.type ?? null);
    told.usage ??= usageOf(body);
  }
  return told;
}

function usageOf(body: Body | undefined): RequestObservation["usage"] {
  const usage = body?.usage ?? undefined;
  return usage === undefined ? null : { prompt: usage.prompt_tokens, completion: usage.completion_tokens ?? 0 };
}

function parsed(text: string): Body | undefined {
  try {
    return JSON.parse(text) as Body;
  } catch {
    return undefined;
  }
}

function headerOf(answer: IncomingMessage | undefined, name: string): string | null {
  const value = answer?.headers[name];
  return value === undefined ? null : String(value);
}
