/** Request fields of hosts, for the node API and the console. */
import { z } from "zod";
import { IdField } from "../common-schemas.ts";
import { PageFields, TimeRangeFields } from "../list-query-fields.ts";
import { countJsonBytes, isWithinDepth } from "../measure-json.ts";
import { isPlainText, isStorable, PLAIN_TEXT_RULE, STORABLE_RULE } from "../plain-text.ts";

/** The size limit for a machine's description, as JSON. */
const HARDWARE_BYTES_MAX = 8 * 1024;
const HARDWARE_DEPTH_MAX = 8;

const NodeName = z
  .string("must be a string")
  .min(1, "must not be empty")
  .max(200, "must have at most 200 characters")
  .refine(isPlainText, PLAIN_TEXT_RULE);

export const NodeRenameFields = z.object({ name: NodeName });

export const NodeRegistrationFields = z.object({
  name: NodeName,
  hardware: z
    .record(z.string(), z.unknown(), "must be an object")
    // The depth is checked first, because later checks visit the whole value recursively.
    .refine((facts) => isWithinDepth(facts, HARDWARE_DEPTH_MAX), {
      error: `must be at most ${HARDWARE_DEPTH_MAX} levels deep`,
      abort: true,
    })
    .refine((facts) => countJsonBytes(facts) <= HARDWARE_BYTES_MAX, {
      error: "must have at most 8 KiB (8192 bytes) as JSON",
      abort: true,
    })
    .refine(isStorable, STORABLE_RULE)
    .default({}),
  agent: z
    .string("must be a string")
    .max(64, "must have at most 64 characters")
    .refine(isPlainText, PLAIN_TEXT_RULE)
    .default(""),
});
export const ModelElectionFields = z.object({
  models: z
    .array(z.string("must be a model ID"), "must be an array of model IDs")
    .max(256, "must have at most 256 model IDs"),
});

/** A query parameter with a node's ID. */
export const NodeField = IdField("node", "must be a node ID (node_…)");
export const WithheldQuery = z.object({ ...PageFields, node: NodeField.optional() });
export const EarningsQuery = z.object({ ...PageFields, ...TimeRangeFields, node: NodeField.optional() });

const TRY_TOKENS_MAX = 512;
export const TryNodeRequestFields = z.object({
  model: z.string("must be a model ID"),
  prompt: z
    .string("must be a string")
    .min(1, "must not be empty")
    .max(4000, "must have at most 4000 characters")
    .default("Say hello in one short sentence."),
  max_tokens: z
    .int("must be a whole number")
    .min(1, "must be 1 or more")
    .max(TRY_TOKENS_MAX, `must be ${TRY_TOKENS_MAX} or less`)
    .default(128),
});
