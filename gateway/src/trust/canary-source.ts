/**
 * Chooses canaries (questions with a known answer) from three sources: generated for one use, the operator's own file
 * (`CANARIES_FILE`), and those published in the catalogue. Each source has the same chance, so at least every second
 * canary cannot be looked up. The operator's canaries are secret: no message quotes them.
 */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Random } from "../base/random.ts";
import { type ActiveModel, Canary, type Catalogue } from "../metering/catalogue.ts";
import { type CanaryQuestion, questionFromCanary } from "./canary.ts";
import { type GenerateCanary, type ImitatedRequest, generateCanary as madeUp } from "./generated-canaries.ts";

/** The operator's own canaries, by model. */
export type OperatorCanariesByModel = Map<string, Canary[]>;

/** `unknown`: only canaries that are not published. Returns undefined for a model without canaries. */
export type DrawCanary = (
  model: ActiveModel,
  which: "any" | "unknown",
  like?: ImitatedRequest,
) => CanaryQuestion | undefined;

interface Sources {
  secrets: OperatorCanariesByModel;
  random: Random;
  /** The generator of canaries. Simulations pass one that records them, so that nodes without a model can answer. */
  makeUp?: GenerateCanary | undefined;
}

export function openCanarySource({ secrets, random, makeUp = madeUp }: Sources): DrawCanary {
  return (model, which, like) => {
    if (model.canaries === null) return undefined;
    const own = secrets.get(model.id) ?? [];
    const sets = [own, which === "any" ? model.canaries : []].filter((set) => set.length > 0);
    const set = sets[random.below(sets.length + 1)];
    return set === undefined
      ? makeUp(model, random, like)
      : questionFromCanary(set[random.below(set.length)] as Canary);
  };
}

const CanariesFile = z.record(z.string(), z.array(Canary).min(1, "must not be empty").max(1024), "must be an object");

export class CanariesError extends Error {
  override name = "CanariesError";
}

export async function loadSecretCanaries(
  file: string | undefined,
  catalogue: Catalogue,
): Promise<OperatorCanariesByModel> {
  if (file === undefined) return new Map();
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw new CanariesError(`CANARIES_FILE ${file} cannot be read: ${(cause as NodeJS.ErrnoException).code}`);
  }
  return parseSecretCanaries(text, { name: file, catalogue });
}

export function parseSecretCanaries(
  text: string,
  { name, catalogue }: { name: string; catalogue: Catalogue },
): OperatorCanariesByModel {
  const refuse = (mistakes: string[]): never => {
    throw new CanariesError(`CANARIES_FILE ${name}: ${mistakes.join("; ")}`);
  };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The JSON parser's own message is not shown, because it would quote the secret file.
    return refuse(["it is not valid JSON"]);
  }
  const result = CanariesFile.safeParse(json);
  if (!result.success) return refuse(result.error.issues.map(mistakeOf));
  const secrets: OperatorCanariesByModel = new Map(Object.entries(result.data));
  const mistakes = [...secrets].flatMap(([id, canaries]) => misfits(id, canaries, catalogue.active.get(id)));
  return mistakes.length > 0 ? refuse(mistakes) : secrets;
}

function misfits(id: string, canaries: Canary[], model: ActiveModel | undefined): string[] {
  if (model === undefined) return [`${id} is not an active model in the catalogue`];
  if (model.canaries === null) return [`${id} gets no canaries, because its canary list in the catalogue is empty`];
  const form = model.kind === "embedding" ? "near and far" : "prompt, expect and max_tokens";
  return canaries.flatMap((canary, i) =>
    "near" in canary === (model.kind === "embedding") ? [] : [`${id}[${i}] must have the fields ${form}`],
  );
}

const FIELDS = ["prompt", "expect", "forbid", "max_tokens", "near", "far"];

function mistakeOf(issue: z.core.$ZodIssue): string {
  const [model, index, ...rest] = issue.path;
  const place = model === undefined ? "it" : `${String(model)}${index === undefined ? "" : `[${String(index)}]`}`;
  if (index === undefined) return `${place} ${plain(issue)}`;
  // A canary has two possible forms. Reports the errors of the form that has fewer.
  const branches = issue.code === "invalid_union" ? issue.errors : [[issue]];
  const closest = branches.toSorted((a, b) => a.length - b.length)[0]?.[0];
  const inner = issue.code === "invalid_union" ? closest?.path[0] : rest[0];
  const field = FIELDS.find((name) => name === inner);
  if (closest !== undefined && field !== undefined) return `${place}.${field} ${plain(closest)}`;
  const fields = "prompt, expect and max_tokens (for an embedding model: near and far)";
  return `${place} must have the fields ${fields}, and no unknown fields`;
}

/** Shows our own messages in full. Of zod's messages only the kind, because the text may quote the secret file. */
function plain({ code, message }: Pick<z.core.$ZodIssue, "code" | "message">): string {
  return message.startsWith("must ") ? message : `is invalid (${code})`;
}
