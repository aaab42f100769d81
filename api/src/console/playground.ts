/** The API key that the console's playground (a page to try models) uses for the public API. */
import { z } from "zod";
import { Id, IdField, makeSampleId, SAMPLE_TIME, Time } from "../common-schemas.ts";
import { refusalsOfCodes } from "../faults.ts";
import { declareRoutes } from "../route-declaration.ts";

/** Stands for all playground keys together in queries. No list of keys contains these keys. */
export const PLAYGROUND_KEY_FILTER = "playground";

export const KEY_OR_PLAYGROUND_RULE = `must be a key ID (key_…) or ${PLAYGROUND_KEY_FILTER}`;
const KeyField = IdField("key", KEY_OR_PLAYGROUND_RULE);
/** A query parameter that accepts a key ID or `playground`. */
export const KeyOrPlayground = z
  .string()
  .refine((text) => text === PLAYGROUND_KEY_FILTER || KeyField.safeParse(text).success, KEY_OR_PLAYGROUND_RULE);

const PlaygroundKey = z.strictObject({
  id: Id("key"),
  object: z.literal("playground_key"),
  secret: z.string().describe("The key. It replaces the previous playground key of the same session and account."),
  expires_at: Time.describe("When the key expires. It also ends with the session."),
});

export const playgroundResponseSchemas = { PlaygroundKey };

export const playgroundRoutes = declareRoutes({
  issuePlaygroundKey: {
    at: "POST /console/api/playground/key",
    summary: "Create this session's playground key",
    description:
      "A key that works while this session lasts, for at most 12 hours. A session has one per account; calling this again replaces its secret. The key is not listed among the account's keys and does not count toward their limit. The history shows it as `Playground`; performance by key groups all such keys as `playground`. Its limits are lower than those of other keys: 60 requests and 500,000 tokens a minute, 4 requests in flight.",
    guard: "builder",
    needs: "work",
    answer: {
      status: 201,
      description: "The key. Keep it in memory only.",
      json: PlaygroundKey,
      example: {
        id: makeSampleId("key"),
        object: "playground_key",
        secret: `tsk_live_4fJ2kQ9sZ0aB_${"…".repeat(3)}`,
        expires_at: SAMPLE_TIME + 12 * 60 * 60,
      },
    },
    // The session may end while the gateway creates the key.
    faults: refusalsOfCodes("not_authenticated"),
  },
});
