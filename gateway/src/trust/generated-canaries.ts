/**
 * Generates canaries for one use, so that no prepared list of answers passes. They look like user requests: a question
 * of a family (`questions/families.ts`) that the model's size can answer, in a conversation of a usual length. Pure
 * except for the randomness passed in.
 */
import type { Random } from "../base/random.ts";
import type { ActiveModel, Canary } from "../metering/catalogue.ts";
import type { ChatMessage } from "../metering/token-meter.ts";
import { type CanaryQuestion, questionFromCanaries } from "./canary.ts";
import { QUESTION_FAMILIES, type QuestionFamily } from "./questions/families.ts";
import { askForJson, drawJsonForm, type JsonForm, readJsonAnswer } from "./questions/json-answers.ts";
import * as prose from "./questions/prose.ts";
import { findMistake, type QuestionTask, revealsAnswer } from "./questions/question-task.ts";
import { type RandomChoices, randomChoices } from "./questions/random-choices.ts";
import { pickUsualRequestShape, type RequestShape } from "./questions/request-shapes.ts";
import { drawStopStrings } from "./questions/stop-strings.ts";

export interface ImitatedRequest {
  /** The shape (lengths and sampling) of a user request to imitate. Absent: a random usual shape. */
  shape?: RequestShape;
  /** The pass rate of honest nodes for the family. Absent: the family's configured rate. */
  rateOf?: (family: string, rate: number) => number;
}

export type GenerateCanary = (model: ActiveModel, random: Random, like?: ImitatedRequest) => CanaryQuestion;

/** The least output cap: enough for the answer and a few words around it. */
const ANSWER_TOKENS_MIN = 64;
/** Additional output tokens for models that think before they answer. */
const THINKING_TOKENS = 4096;
/** The longest prompt. A longer one would cost the node too much. */
const PROMPT_TOKENS_MAX = 6000;
const OUTPUT_TOKENS_MAX = 2048;
/** Above this temperature a correct answer depends on luck. */
const TEMPERATURE_MAX = 1;
/** Higher penalties keep a model from repeating words of the question. */
const PENALTY_MAX = 0.5;
/** The lowest pass rate of a usable family. Honest nodes fail questions of other families too often. */
const RATE_MIN = 0.75;
/** The most triples of texts with a known answer in an embeddings request, and the number of texts of each. */
const TRIPLES = 4;
const TRIPLE_TEXTS = 4;
/** The most texts of a canary. */
const TEXTS_MAX = 64;

export const generateCanary: GenerateCanary = (model, random, { shape, rateOf = asTheFamilySays } = {}) => {
  const d = randomChoices(random);
  const like = shape ?? pickUsualRequestShape(d);
  if (model.kind === "embedding") return textsQuestion(d, like);
  const trial = trialQuestion(d, { model, shape: like, rateOf });
  if (trial !== undefined) return trial;
  const usable = QUESTION_FAMILIES.flatMap((family) => {
    const rate = model.class === "embed" ? null : family.rates[model.class];
    return rate === null || rateOf(family.name, rate) < RATE_MIN ? [] : [{ family, rate }];
  });
  // If honest nodes pass no family often enough, the easiest family is used.
  const { family, rate } =
    usable.length > 0 ? d.pick(usable) : { family: QUESTION_FAMILIES.find(isEasy) as QuestionFamily, rate: RATE_MIN };
  return questionIn(d, { model, family, rate, shape: like });
};

const asTheFamilySays = (_family: string, rate: number): number => rate;
const isEasy = ({ name }: QuestionFamily): boolean => name === "table";

interface Wanted {
  model: ActiveModel;
  family: QuestionFamily;
  rate: number;
  shape: RequestShape;
}

function questionIn(d: RandomChoices, { model, family, rate, shape }: Wanted, json?: JsonForm): CanaryQuestion {
  const room = Math.min(PROMPT_TOKENS_MAX, model.contextLimit >> 1);
  const tokens = Math.min(shape.promptTokens, room);
  const { messages, task, prompt } = conversation(d, family, { tokens, form: json?.instruction ?? "" });
  const thinks = model.build.reasoning !== undefined;
  const stop = drawStopStrings(d, shape.stops, { prompt, answer: task.answer });
  const cap = Math.min(Math.max(shape.outputTokensMax, ANSWER_TOKENS_MIN), OUTPUT_TOKENS_MAX);
  return {
    family: family.name,
    passRate: rate,
    messages,
    texts: [],
    outputTokensMax: cap + (thinks ? Math.min(THINKING_TOKENS, model.contextLimit >> 1) : 0),
    stream: shape.stream,
    sampling: { ...samplingOf(shape.sampling, thinks), ...(stop.length > 0 && { stop }) },
    isNew: true,
    answer: task.answer,
    ...(json && askForJson(d, json, task)),
    judge({ text }) {
      const said = json === undefined ? text : readJsonAnswer(text);
      return said === undefined ? "not a JSON object" : findMistake(task.check, prompt, said);
    },
  };
}

/**
 * A question as a raw prompt or with an output format, for a model whose users send such requests. How often models
 * answer these is not known in advance, so only families that other nodes pass are used, and the others' results come
 * first.
 */
function trialQuestion(
  d: RandomChoices,
  { model, shape, rateOf }: Pick<Wanted, "model" | "shape"> & { rateOf: NonNullable<ImitatedRequest["rateOf"]> },
): CanaryQuestion | undefined {
  const isCompletion = shape.endpoint === "completion";
  const trial = isCompletion ? "completed" : shape.format;
  if (trial === null) return undefined;
  const nameOf = ({ name }: QuestionFamily): string => `${name}, ${trial}`;
  const usable = QUESTION_FAMILIES.filter(
    (family) =>
      model.class !== "embed" && family.rates[model.class] !== null && rateOf(nameOf(family), RATE_MIN) >= RATE_MIN,
  );
  if (usable.length === 0) return undefined;
  const family = d.pick(usable);
  const json = trial === "completed" ? undefined : drawJsonForm(d, trial);
  const question = questionIn(d, { model, family, rate: RATE_MIN, shape }, json);
  const asked: CanaryQuestion = { ...question, family: nameOf(family), isTrial: true };
  return isCompletion ? completionOf(d, asked) : asked;
}

const completionOf = (d: RandomChoices, question: CanaryQuestion): CanaryQuestion => ({
  ...question,
  endpoint: "completion",
  messages: asRawPrompt(d, question.messages),
  // After its answer, a model continues the text as it likes.
  judge: (answer) => question.judge({ ...answer, text: answer.text.trimStart().split("\n", 1)[0] as string }),
});

/** Joins the messages to one text that ends where the answer begins. */
const asRawPrompt = (d: RandomChoices, messages: ChatMessage[]): ChatMessage[] => [
  {
    role: "user",
    content: `${messages.map(({ content }) => content).join("\n\n")}\n${d.pick(["Answer:", "The answer:", "A:", "Result:"])}`,
  },
];

/** A thinking model gets no temperature of 0, because it would repeat itself endlessly. */
function samplingOf(
  { temperature, presence_penalty, frequency_penalty, ...rest }: RequestShape["sampling"],
  thinks: boolean,
): CanaryQuestion["sampling"] {
  const mild = (penalty: number): number => Math.min(Math.max(penalty, 0), PENALTY_MAX);
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
    ...(temperature !== undefined && {
      temperature: Math.max(Math.min(temperature, TEMPERATURE_MAX), thinks ? 0.6 : 0),
    }),
    ...(presence_penalty !== undefined && { presence_penalty: mild(presence_penalty) }),
    ...(frequency_penalty !== undefined && { frequency_penalty: mild(frequency_penalty) }),
  };
}

interface Conversation {
  messages: ChatMessage[];
  task: QuestionTask;
  prompt: string;
}

/** The average number of characters per token in English. */
const CHARS_PER_TOKEN = 4.6;

/** `form`: what to say about the form of the answer. */
interface Phrasing {
  tokens: number;
  form: string;
}

function conversation(d: RandomChoices, family: QuestionFamily, { tokens, form }: Phrasing): Conversation {
  for (;;) {
    const task = family.draw(d);
    const messages = phrase(d, task, { chars: tokens * CHARS_PER_TOKEN, form });
    const prompt = messages.map(({ content }) => content).join("\n");
    // A random number in the material may equal the answer by chance; then the loop draws another question.
    if (!revealsAnswer(task.check, prompt)) return { messages, task, prompt };
  }
}

/** Puts the question and its material between small talk and notes. */
function phrase(d: RandomChoices, task: QuestionTask, { chars, form }: { chars: number; form: string }): ChatMessage[] {
  const messages: ChatMessage[] = d.percent(45) ? [{ role: "system", content: prose.writeSystemPrompt(d) }] : [];
  if (d.percent(25)) messages.push(...prose.writeEarlierTurns(d));
  const asks = `${task.question} ${prose.pickAnswerOnlyInstruction(d, task.form)} ${form}`.trimEnd();
  const before: string[] = d.percent(35) ? [prose.writeGreeting(d)] : [];
  const pages: string[] = [];
  let left = chars - lengthOf([...messages.map(({ content }) => content), ...before, task.material, asks]);
  while (left > 150) {
    const page = prose.writeParagraph(d);
    pages.push(page);
    left -= page.length;
  }
  if (task.material !== "") pages.splice(d.between(0, pages.length), 0, task.material);
  if (pages.length > 0 && d.percent(60)) pages.unshift(prose.writeTextHeading(d));
  const joint = d.pick(["\n\n", "\n"]);
  const material = pages.join(joint);
  // Sometimes the material (the text that the question is about, and filler paragraphs) is a message of its own, before
  // the question.
  if (material !== "" && d.percent(15)) {
    messages.push({ role: "user", content: [...before, material].join(joint) });
    messages.push({ role: "assistant", content: prose.writeAcknowledgement(d) });
    return [...messages, { role: "user", content: asks }];
  }
  const isFirst = task.material !== "" && pages.length < 4 && d.percent(30);
  const parts = isFirst ? [...before, asks, material] : [...before, material, asks];
  return [...messages, { role: "user", content: parts.filter((part) => part !== "").join(joint) }];
}

const lengthOf = (texts: string[]): number => texts.reduce((sum, { length }) => sum + length, 0);

const LOOKS = ["old", "red", "small", "broken", "heavy", "green", "wooden"];
const THINGS = ["horse", "boat", "piano", "ladder", "kettle", "bicycle", "lantern", "goat"];
const PLACES = ["barn", "harbour", "church", "forest", "bakery", "station", "mill", "bridge"];
const DUES = [
  "tax filings",
  "pension claims",
  "insurance premiums",
  "loan repayments",
  "export licences",
  "audit reports",
];

/**
 * Draws as many texts as a user's request has, but at least one triple, in random order. A request of fewer texts has no
 * known answer; spot checks compare its vectors with another node's.
 */
function textsQuestion(d: RandomChoices, { texts }: Pick<RequestShape, "texts">): CanaryQuestion {
  const count = Math.min(Math.max(texts, TRIPLE_TEXTS), TEXTS_MAX);
  const triples = Array.from({ length: Math.min(TRIPLES, Math.floor(count / TRIPLE_TEXTS)) }, () => triple(d));
  const others = Array.from({ length: count - triples.length * TRIPLE_TEXTS }, () => prose.writeParagraph(d));
  return questionFromCanaries(triples, { others, order: (list) => d.some(list.length, list) });
}

/** Two wordings of one scene, and an unrelated sentence. */
function triple(d: RandomChoices): Extract<Canary, { far: string }> {
  const [look, thing, place] = [d.pick(LOOKS), d.pick(THINGS), d.pick(PLACES)];
  return {
    near: [`The ${look} ${thing} stood beside the ${place}.`, `Beside the ${place} there was a ${look} ${thing}.`],
    far: `Quarterly ${d.pick(DUES)} are due within ${d.between(10, 89)} working days.`,
  };
}

/**
 * A question without a fixed answer, to measure a node's speed. Streamed, with only as many tokens as a measurement
 * needs.
 */
export function createSpeedTestQuestion(
  random: Random,
  { sampling }: Pick<RequestShape, "sampling">,
  outputTokensMax: number,
): Pick<CanaryQuestion, "messages" | "outputTokensMax" | "sampling"> {
  const d = randomChoices(random);
  const system = d.percent(45) ? [{ role: "system", content: prose.writeSystemPrompt(d) }] : [];
  const messages = [...system, { role: "user", content: prose.writeSmallTask(d) }];
  return { messages, outputTokensMax: outputTokensMax * d.between(1, 4), sampling: samplingOf(sampling, true) };
}
