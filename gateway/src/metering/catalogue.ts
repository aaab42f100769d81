/**
 * The catalogue of models: a data file that is validated when it is read. An active model has a build, a context and a
 * price. A coming model is listed but cannot be called.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { type Pico, pico } from "../base/money.ts";
import { MODEL_CLASSES, MODEL_KINDS, MODEL_STATUSES, type ModelKind } from "../base/stored-enumerations.ts";

/** The catalogue file in the package. */
export const CATALOGUE_FILE = fileURLToPath(new URL("../../catalogue/models.json", import.meta.url));

const Price = z.int().min(0).max(1_000_000_000_000).nullable();

const Build = z.strictObject({
  id: z.string().min(1).max(64),
  tokenizer: z.string().min(1),
  /** The delimiters of the model's thinking. Absent: it does not separate thinking from the answer. */
  reasoning: z
    .strictObject({
      open: z.string().min(1),
      close: z.string().min(1),
      /** Whether the chat template ends with the opening delimiter. If so, the output begins inside the thinking. */
      template_opens: z.boolean().optional(),
    })
    .optional(),
  vector_width: z.int().min(1).optional(),
  /** The license of the weights as published with the build. Null or absent: not stated. */
  licence: z.string().min(1).max(100).nullish(),
});

/** A question with a known answer, which shows whether a node runs the model that it claims. */
export const Canary = z.union([
  z.strictObject({
    prompt: z.string().min(1).max(4000),
    expect: z.string().min(1).refine(isRegExp, "must be a regular expression"),
    /** A pattern that the answer must not match, so that an answer that lists everything does not pass. */
    forbid: z.string().min(1).refine(isRegExp, "must be a regular expression").optional(),
    max_tokens: z.int().min(1).max(4096),
  }),
  /** For embedding models: the first two texts have a similar meaning, and the third has another. */
  z.strictObject({ near: z.tuple([z.string().min(1), z.string().min(1)]), far: z.string().min(1) }),
]);

const Model = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "must be lowercase letters, digits, '.', '_' or '-'"),
  kind: z.enum(MODEL_KINDS),
  class: z.enum(MODEL_CLASSES),
  /** Required for active models only. */
  quant_label: z
    .string()
    .nullable()
    .transform((label) => label ?? "unannounced"),
  context_limit: z.int().min(1).nullable(),
  price_in_micro_1m: Price,
  price_out_micro_1m: Price,
  status: z.enum(MODEL_STATUSES),
  listed: z.iso.date(),
  build: Build.nullable(),
  /** Replaces the limit of concurrent requests that is computed from the connected slots. */
  admission_max: z.int().min(1).optional(),
  /**
   * Replaces the class's limit of output speed, in tokens per second. A node that is faster is quarantined, because it
   * cannot be running this model.
   */
  tps_max: z.number().positive().optional(),
  /**
   * Replaces the class's limit of prompt-reading speed, in tokens per second. A node whose first token comes earlier
   * cannot have read the prompt.
   */
  prompt_tps_max: z.number().positive().optional(),
  /** Published canaries, in addition to generated ones. An empty list: nodes get no canaries for this model. */
  canaries: z.array(Canary).max(16).optional(),
});

/** Output tokens per second that no hardware reaches with a model of the class. For embedding models: input tokens. */
const SPEED_CEILINGS: Record<z.infer<typeof Model>["class"], number> = {
  tiny: 2_000,
  small: 1_200,
  mid: 800,
  reasoning: 600,
  large: 500,
  embed: 1_000_000,
};

/**
 * Prompt tokens per second that no hardware reaches with a model of the class: more than the fastest accelerator's peak
 * with eight bits, at two operations per weight and token.
 */
const READING_CEILINGS: typeof SPEED_CEILINGS = {
  tiny: 1_000_000,
  small: 400_000,
  mid: 250_000,
  reasoning: 100_000,
  large: 50_000,
  embed: 5_000_000,
};

function isRegExp(text: string): boolean {
  try {
    return new RegExp(text) instanceof RegExp;
  } catch {
    return false;
  }
}

const CatalogueFile = z.strictObject({ price_version: z.int().min(1), models: z.array(Model).min(1) });

export type CatalogueEntry = z.infer<typeof Model>;
export type ModelClass = CatalogueEntry["class"];
type Build = z.infer<typeof Build>;
export type Canary = z.infer<typeof Canary>;

/** A model that can be called. */
export interface ActiveModel {
  id: string;
  kind: ModelKind;
  /** The size class of the model. */
  class: ModelClass;
  contextLimit: number;
  prices: { in: Pico; out: Pico };
  priceVersion: number;
  build: Build;
  /** The most concurrent requests on the whole platform. Undefined: computed from the connected slots. */
  admissionMax: number | undefined;
  /** Output tokens per second that no node with this model can reach. */
  speedMax: number;
  /** Tokens of a new prompt per second that no node with this model can read. */
  readingSpeedMax: number;
  /** Null: nodes get no canaries for this model. */
  canaries: Canary[] | null;
}

/** The properties of a model that are needed to count a prompt. */
export type ModelForTokenCounting = Pick<ActiveModel, "id" | "kind" | "contextLimit"> & {
  build: Pick<Build, "tokenizer">;
};

export interface Catalogue {
  priceVersion: number;
  /** Every listed model, in the file's order. */
  entries: CatalogueEntry[];
  /** The models that can be called, by model ID. */
  active: Map<string, ActiveModel>;
}

export class CatalogueError extends Error {
  override name = "CatalogueError";
}

export async function loadCatalogue(file: string | URL): Promise<Catalogue> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw new CatalogueError(`The catalogue ${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  return parseCatalogue(text, String(file));
}

export function parseCatalogue(text: string, name: string): Catalogue {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new CatalogueError(`The catalogue ${name} is not valid JSON: ${(cause as Error).message}`, { cause });
  }
  const result = CatalogueFile.safeParse(json);
  if (!result.success) {
    const mistakes = result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    throw new CatalogueError(`The catalogue ${name} is invalid: ${mistakes.join("; ")}`, { cause: result.error });
  }
  const { price_version: priceVersion, models } = result.data;
  const active = new Map<string, ActiveModel>();
  const seen = new Set<string>();
  for (const entry of models) {
    if (seen.has(entry.id)) throw new CatalogueError(`The catalogue ${name} lists ${entry.id} twice`);
    seen.add(entry.id);
    if (entry.status === "active") active.set(entry.id, activeModel(entry, priceVersion, name));
  }
  return { priceVersion, entries: models, active };
}

function activeModel(entry: CatalogueEntry, priceVersion: number, name: string): ActiveModel {
  const { build, context_limit: contextLimit, price_in_micro_1m: priceIn, price_out_micro_1m: priceOut } = entry;
  const needsOut = entry.kind === "generation";
  if (build === null || contextLimit === null || priceIn === null || (needsOut && priceOut === null)) {
    throw new CatalogueError(
      `The catalogue ${name} must give build, context_limit and prices for the active model ${entry.id}`,
    );
  }
  if (entry.kind === "embedding" && build.vector_width === undefined) {
    throw new CatalogueError(`The catalogue ${name} must give build.vector_width for the embedding model ${entry.id}`);
  }
  if (entry.canaries?.some((canary) => "near" in canary !== (entry.kind === "embedding"))) {
    throw new CatalogueError(
      `The catalogue ${name}: a canary of ${entry.id} does not match the model's kind (chat or embedding)`,
    );
  }
  return {
    id: entry.id,
    kind: entry.kind,
    class: entry.class,
    contextLimit,
    // Needs no conversion: microdollars per million tokens equal picodollars per token.
    prices: { in: pico(BigInt(priceIn)), out: pico(BigInt(priceOut ?? 0)) },
    priceVersion,
    build,
    admissionMax: entry.admission_max,
    speedMax: entry.tps_max ?? SPEED_CEILINGS[entry.class],
    readingSpeedMax: entry.prompt_tps_max ?? READING_CEILINGS[entry.class],
    canaries: entry.canaries?.length === 0 ? null : (entry.canaries ?? []),
  };
}
