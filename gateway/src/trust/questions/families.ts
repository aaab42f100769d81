/**
 * The families (kinds) of questions. Each question is filled in randomly and phrased in several ways. Its answer is
 * known by construction and requires reading the material, where it is one of many facts or follows from several. To
 * add a family: the answers to its questions must be unambiguous, and neither a constant nor a repetition of the prompt
 * may pass. A family also states pass rates: the least share of correct answers that honest models of each class should
 * give at usual temperatures. `canary-evidence.ts` adjusts these rates to the answers of nodes in good standing.
 */
import type { ModelClass } from "../../metering/catalogue.ts";
import { json, note, ranking, table } from "./fact-questions.ts";
import { shop, story, tally } from "./number-questions.ts";
import type { QuestionTask } from "./question-task.ts";
import type { RandomChoices } from "./random-choices.ts";
import { calendar, chain, elimination, moves } from "./reasoning-questions.ts";
import { backwards, category, form, letters, translation } from "./word-questions.ts";

export interface QuestionFamily {
  name: string;
  /**
   * The share of the family's questions that an honest model of each class answers correctly. Null: too hard for that
   * class.
   */
  rates: Record<Exclude<ModelClass, "embed">, number | null>;
  draw(d: RandomChoices): QuestionTask;
}

const rates = (tiny: number | null, small: number | null, mid: number, large = mid): QuestionFamily["rates"] => ({
  ...{ tiny, small, mid, large },
  reasoning: large,
});

export const QUESTION_FAMILIES: readonly QuestionFamily[] = [
  { name: "story", rates: rates(null, 0.82, 0.88, 0.9), draw: story },
  { name: "shop", rates: rates(0.85, 0.9, 0.93), draw: shop },
  { name: "tally", rates: rates(null, null, 0.85), draw: tally },
  { name: "table", rates: rates(0.9, 0.93, 0.95), draw: table },
  { name: "ranking", rates: rates(0.8, 0.88, 0.92), draw: ranking },
  { name: "note", rates: rates(0.85, 0.9, 0.93), draw: note },
  { name: "json", rates: rates(0.9, 0.93, 0.95), draw: json },
  { name: "form", rates: rates(null, 0.8, 0.88, 0.92), draw: form },
  { name: "letters", rates: rates(0.8, 0.85, 0.9), draw: letters },
  { name: "backwards", rates: rates(null, null, 0.8, 0.85), draw: backwards },
  { name: "chain", rates: rates(null, 0.8, 0.88, 0.92), draw: chain },
  { name: "elimination", rates: rates(0.85, 0.9, 0.93), draw: elimination },
  { name: "moves", rates: rates(0.82, 0.88, 0.92), draw: moves },
  { name: "translation", rates: rates(0.9, 0.92, 0.95), draw: translation },
  { name: "calendar", rates: rates(0.8, 0.86, 0.9), draw: calendar },
  { name: "category", rates: rates(0.88, 0.92, 0.95), draw: category },
];
