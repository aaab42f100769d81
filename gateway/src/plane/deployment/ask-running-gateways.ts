/**
 * A starting gateway asks the running gateways whether they use the same database. It writes a mark into its own
 * database, and they look for the mark in theirs. That detects a restored copy, which is otherwise identical. Gateways
 * of earlier versions do not reply.
 */
import { z } from "zod";
import { type Clock, sleep } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { DEPLOYMENTS_SUBJECT, deploymentReplySubject } from "../gateway-subjects.ts";
import type { DispatchPlane } from "../plane.ts";

/** How long to wait for a reply if the plane knows of no other gateway. Without a reply, none is running. */
const SILENT_MS = 1_500;
/** The maximum wait for the reply of a gateway that the plane knows of. It is long, because machines may be busy. */
const REPLY_MS_MAX = 15_000;
/** The time in which a gateway that replied has to send its result. Otherwise its database is unreachable. */
const LOOK_MS_MAX = 10_000;
/** The interval of repetitions. Messages can get lost while servers of a cluster exchange their subscriptions. */
const ASK_EVERY_MS = 300;
/**
 * How many times a gateway looks for the mark in its database. The mark may arrive late at a standby that was just
 * promoted, or at a replica.
 */
const LOOKS = 4;
const LOOK_EVERY_MS = 300;

const Question = z.object({ from: z.string(), mark: z.uuid() });
const Answer = z.object({ from: z.string(), mark: z.string(), found: z.enum(["looking", "same", "other", "unknown"]) });
type Answer = z.infer<typeof Answer>;

interface InquiryOptions {
  plane: DispatchPlane;
  gatewayId: string;
  clock: Clock;
}

/**
 * Whether gateways that answer questions are connected to the plane. Call it while this process does not answer any,
 * because its own subscription counts too.
 */
export const hasRunningGateways = async ({ plane }: Pick<InquiryOptions, "plane">): Promise<boolean> =>
  (await plane.hasSubscribers?.(DEPLOYMENTS_SUBJECT)) ?? false;

/**
 * `same`: another gateway found the mark in its database. `other`: another gateway did not find the mark, so it uses
 * another database. `unknown`: no other gateway could check. `silent`: gateways are connected, and none replied.
 * The last value: no other gateway is running.
 */
type Finding = "same" | "other" | "unknown" | "silent" | "nobody";

/** `areRunning`: what `hasRunningGateways` returned. */
export async function askRunningGateways(
  { plane, gatewayId, clock, areRunning }: InquiryOptions & { areRunning: boolean },
  mark: string,
): Promise<Finding> {
  const { promise, resolve } = Promise.withResolvers<Finding>();
  let isHeard = false;
  let stopWaiting = areRunning
    ? clock.after(REPLY_MS_MAX, () => resolve("silent"))
    : clock.after(SILENT_MS, () => resolve("nobody"));
  const hear = ({ found }: Answer): void => {
    if (found === "same" || found === "other") resolve(found);
    if (isHeard) return;
    isHeard = true;
    stopWaiting();
    stopWaiting = clock.after(LOOK_MS_MAX, () => resolve("unknown"));
  };
  const unsubscribe = plane.subscribe(deploymentReplySubject(gatewayId), (_subject, payload) => {
    const answer = parsePayload(Answer, payload);
    if (answer?.mark === mark) hear(answer);
  });
  const ask = (): void => plane.publish(DEPLOYMENTS_SUBJECT, write({ from: gatewayId, mark }));
  const stopAsking = clock.every(ASK_EVERY_MS, () => {
    if (!isHeard) ask();
  });
  ask();
  try {
    return await promise;
  } finally {
    stopWaiting();
    stopAsking();
    unsubscribe();
  }
}

interface AnsweringOptions extends InquiryOptions {
  hasMark: (mark: string) => Promise<boolean>;
  log: Log;
}

/** Replies to other gateways' questions. Returns a function that stops it. */
export function answerDatabaseMarkQuestions(options: AnsweringOptions): () => void {
  const { plane, gatewayId, log } = options;
  const looking = new Set<string>();
  return plane.subscribe(DEPLOYMENTS_SUBJECT, (_subject, payload) => {
    const question = parsePayload(Question, payload);
    if (question === undefined || question.from === gatewayId) return;
    const { from, mark } = question;
    const answer = (found: Answer["found"]): void =>
      plane.publish(deploymentReplySubject(from), write({ from: gatewayId, mark, found } satisfies Answer));
    answer("looking");
    if (looking.has(mark)) return;
    looking.add(mark);
    look(options, mark)
      .then(
        (found) => {
          if (found === "other")
            log.warn({ gateway: from }, "gateway with another database tried to join this NATS plane");
          answer(found);
        },
        (error) => {
          log.warn({ err: error, gateway: from }, "cannot determine whether another gateway uses this database");
          answer("unknown");
        },
      )
      .finally(() => looking.delete(mark));
  });
}

async function look({ hasMark, clock }: AnsweringOptions, mark: string): Promise<"same" | "other"> {
  for (let looks = 1; ; looks++) {
    if (await hasMark(mark)) return "same";
    if (looks === LOOKS) return "other";
    await sleep(clock, LOOK_EVERY_MS);
  }
}

const write = (message: object): Uint8Array => Buffer.from(JSON.stringify(message));

/** Returns undefined for a message that cannot be parsed, for example of a later version. */
export function parsePayload<T>(schema: z.ZodType<T>, payload: Uint8Array): T | undefined {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(payload).toString())).data;
  } catch {
    return undefined;
  }
}
