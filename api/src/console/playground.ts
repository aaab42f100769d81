/** What the console's playground needs to call the public API as its person's programs do. */
import { z } from "zod";
import { codes } from "../faults.ts";
import { routes } from "../route.ts";
import { Id, IdField, SAMPLE_TIME, sampleId, Time } from "../values.ts";

/** As a key's id: the playground's keys, which no list has, all together. */
export const PLAYGROUND = "playground";

const KEY_RULE = `must be a key's id (key_…) or ${PLAYGROUND}`;
const KeyField = IdField("key", KEY_RULE);
/** What a query names keys by. */
export const KeyOrPlayground = z
  .string()
  .refine((text) => text === PLAYGROUND || KeyField.safeParse(text).success, KEY_RULE);

const PlaygroundKey = z.strictObject({
  id: Id("key"),
  object: z.literal("playground_key"),
  secret: z.string().describe("The key itself. The one before it, of the same session and account, no longer works."),
  expires_at: Time.describe("It ends then, or with the session, whichever is first."),
});

export const answers = { PlaygroundKey };

export const playgroundRoutes = routes({
  issuePlaygroundKey: {
    at: "POST /console/api/playground/key",
    summary: "Get this session's key for the playground",
    description:
      "A key of the account that works while this session lasts, for 12 hours at most. A session has one for each account: asking again replaces its secret. It is not listed among the account's keys and does not count among them; in the history it is called `Playground`, and where performance is by key, all such keys are one: `playground`. Its limits are lower than a key's: 60 requests and 500,000 tokens a minute, 4 requests in flight.",
    guard: "builder",
    needs: "work",
    answer: {
      status: 201,
      description: "The key. To be kept in memory, and nowhere else.",
      json: PlaygroundKey,
      example: {
        id: sampleId("key"),
        object: "playground_key",
        secret: `tsk_live_4fJ2kQ9sZ0aB_${"…".repeat(3)}`,
        expires_at: SAMPLE_TIME + 12 * 60 * 60,
      },
    },
    // The session ended while the key was made.
    faults: codes("not_authenticated"),
  },
});
