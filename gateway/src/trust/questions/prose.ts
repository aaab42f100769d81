/**
 * Generates the text around a question: system prompts, small talk, earlier turns, and pages of notes. Its numbers are
 * above a hundred and its names never occur in questions, so it neither contains an answer nor makes one ambiguous.
 */
import type { ChatMessage } from "../../metering/token-meter.ts";
import type { RandomChoices } from "./random-choices.ts";
import { NAMES_NEVER_IN_ANSWERS } from "./word-lists.ts";

const THINGS = [
  "report",
  "printer",
  "contract",
  "garden fence",
  "newsletter",
  "backup",
  "invoice",
  "timetable",
  "survey",
  "water pump",
  "spreadsheet",
  "training plan",
  "mailing list",
  "heating",
  "delivery van",
  "archive",
];
const QUALITIES = [
  "in good shape",
  "behind schedule",
  "nearly finished",
  "harder than expected",
  "a matter of taste",
  "under review",
  "cheaper than last year",
  "noisy but reliable",
  "due for replacement",
  "out of date",
];
const ACTIONS = [
  "asked for another draft",
  "promised to look into it",
  "sent a long reply",
  "was away that week",
  "kept the minutes",
  "paid the deposit",
  "found a better supplier",
  "raised the same concern again",
  "agreed after some discussion",
  "left it to the committee",
];
const TIMES = [
  "last spring",
  "before the holidays",
  "on a rainy afternoon",
  "early in the project",
  "after the audit",
  "during the fair",
  "some weeks ago",
  "at short notice",
  "around midday",
  "for the second time",
];
const REASONS = [
  "nobody had read the fine print",
  "the budget was already spent",
  "the weather turned",
  "the old system could not cope",
  "customers kept asking",
  "it seemed the polite thing to do",
  "the forms were unclear",
  "everyone was tired of waiting",
];
const PARTS = [
  "the annex",
  "the north entrance",
  "the second draft",
  "the shared folder",
  "the loading dock",
  "the waiting area",
  "the appendix",
  "the old wing",
];

/** Genres of text: lists of functions that write a sentence. A paragraph uses one genre. */
const GENRES: ((d: RandomChoices) => string)[][] = [
  [
    (d) => `${d.pick(NAMES_NEVER_IN_ANSWERS)} ${d.pick(ACTIONS)} ${d.pick(TIMES)}.`,
    (d) => `The ${d.pick(THINGS)} is ${d.pick(QUALITIES)}, mostly because ${d.pick(REASONS)}.`,
    (d) => `Nothing was decided about the ${d.pick(THINGS)}; ${d.pick(NAMES_NEVER_IN_ANSWERS)} will come back to it.`,
    (d) => `See item ${d.between(101, 980)} in ${d.pick(PARTS)} for what was said about the ${d.pick(THINGS)}.`,
    (d) =>
      `As for the ${d.pick(THINGS)}, ${d.pick(NAMES_NEVER_IN_ANSWERS)} ${d.pick(ACTIONS)}, although ${d.pick(REASONS)}.`,
  ],
  [
    (d) => `Ticket ${d.between(10_000, 99_000)}: the ${d.pick(THINGS)} is ${d.pick(QUALITIES)}.`,
    (d) => `Customer writes that ${d.pick(REASONS)} and wants the ${d.pick(THINGS)} checked.`,
    (d) => `Escalated to ${d.pick(NAMES_NEVER_IN_ANSWERS)}, who ${d.pick(ACTIONS)}.`,
    (d) => `Closed without changes ${d.pick(TIMES)}, reference ${d.between(10_000, 99_000)}.`,
    (d) => `Follow-up call about the ${d.pick(THINGS)} lasted longer than planned, since ${d.pick(REASONS)}.`,
  ],
  [
    (d) =>
      `We came past ${d.pick(PARTS)} ${d.pick(TIMES)}, and it looked ${d.pick(["deserted", "freshly painted", "smaller than I remembered", "rather grand", "oddly familiar"])}.`,
    (d) => `${d.pick(NAMES_NEVER_IN_ANSWERS)} told a story about the ${d.pick(THINGS)} that nobody quite believed.`,
    (d) => `It was ${d.pick(["windy", "mild", "misty", "bitterly cold", "bright and dry"])}, and ${d.pick(REASONS)}.`,
    (d) => `In the evening ${d.pick(NAMES_NEVER_IN_ANSWERS)} ${d.pick(ACTIONS)}; I had expected nothing else.`,
    (d) => `I wrote a few lines about the ${d.pick(THINGS)} and went to bed early.`,
  ],
  [
    (d) =>
      `Section ${d.between(101, 990)} describes how the ${d.pick(THINGS)} is to be kept ${d.pick(["clean", "up to date", "locked", "within reach", "under observation"])}.`,
    (d) => `Staff must not leave ${d.pick(PARTS)} unattended, even where ${d.pick(REASONS)}.`,
    (d) => `Requests concerning the ${d.pick(THINGS)} go to ${d.pick(NAMES_NEVER_IN_ANSWERS)} in writing.`,
    (d) => `An exception applies to ${d.pick(PARTS)}, which is ${d.pick(QUALITIES)}.`,
    (d) => `The form on page ${d.between(101, 990)} replaces all earlier versions.`,
  ],
];

export function writeParagraph(d: RandomChoices): string {
  const genre = d.pick(GENRES);
  return d
    .some(d.between(3, 5), genre)
    .map((sentence) => sentence(d))
    .join(" ");
}

const ROLES = [
  "a helpful assistant",
  "an assistant for office staff",
  "the assistant of a small shop",
  "a careful reader of documents",
  "a friendly tutor",
  "an expert at answering questions about texts",
  "the help desk of a housing association",
  "an AI model inside a notes app",
];
const MANNERS = [
  "Be concise.",
  "Keep answers short.",
  "Answer truthfully and to the point.",
  "Do not invent facts.",
  "Use plain language.",
  "If something is unclear, use what the text says.",
  "Follow the user's instructions exactly.",
  "Avoid introductions.",
];

export function writeSystemPrompt(d: RandomChoices): string {
  const who = d.pick([`You are ${d.pick(ROLES)}.`, `Act as ${d.pick(ROLES)}.`, `Your role: ${d.pick(ROLES)}.`]);
  return [who, ...d.some(d.between(0, 3), MANNERS)].join(d.pick([" ", "\n"]));
}

export const writeGreeting = (d: RandomChoices): string =>
  d.pick([
    "Hi!",
    "Hello there,",
    "Good morning.",
    "hey,",
    "Quick one for you.",
    "Thanks for your help earlier.",
    "Sorry to bother you again.",
    "I am in a bit of a hurry.",
    `I was talking with ${d.pick(NAMES_NEVER_IN_ANSWERS)} about the ${d.pick(THINGS)} and then this came up.`,
    "Could you help me with something?",
    "I hope this makes sense.",
  ]);

/** A small task without a fixed answer. */
export const writeSmallTask = (d: RandomChoices): string =>
  d.pick([
    `Write two sentences about the ${d.pick(THINGS)}, which is ${d.pick(QUALITIES)}.`,
    `Suggest a short title for a note that begins like this: ${writeParagraph(d)}`,
    `How would you politely tell ${d.pick(NAMES_NEVER_IN_ANSWERS)} that the ${d.pick(THINGS)} is ${d.pick(QUALITIES)}?`,
    `Give me a one-line reminder about the ${d.pick(THINGS)}.`,
    `Rewrite this in a friendlier tone: ${d.pick(d.pick(GENRES))(d)}`,
    `Summarise in a sentence: ${writeParagraph(d)}`,
    `What should I check before I replace the ${d.pick(THINGS)}? Keep it brief.`,
  ]);

const REPLIES: ((d: RandomChoices) => string)[] = [
  (d) => `Sure. The ${d.pick(THINGS)} is ${d.pick(QUALITIES)}, so I would wait a little.`,
  (d) => `You could ask ${d.pick(NAMES_NEVER_IN_ANSWERS)}; last time ${d.pick(REASONS)}.`,
  (d) => `Here is a suggestion: "About the ${d.pick(THINGS)}: ${d.pick(REASONS)}."`,
  () => "Of course, happy to help. What would you like to change?",
  (d) => `In short: ${d.pick(REASONS)}, and the ${d.pick(THINGS)} can wait.`,
];

export function writeEarlierTurns(d: RandomChoices): ChatMessage[] {
  return Array.from({ length: d.between(1, 2) }, () => [
    { role: "user", content: writeSmallTask(d) },
    { role: "assistant", content: d.pick(REPLIES)(d) },
  ]).flat();
}

export const writeAcknowledgement = (d: RandomChoices): string =>
  d.pick(["Got it.", "Thanks, I have read it.", "Understood. What would you like to know?", "Okay, noted."]);

export const writeTextHeading = (d: RandomChoices): string =>
  d.pick([
    "Here is the text:",
    "Notes:",
    "This is what I have:",
    "Context:",
    "---",
    "From my files:",
    "Please read this first:",
  ]);

/** Asks for nothing but the answer in the given form. */
export const pickAnswerOnlyInstruction = (d: RandomChoices, form: string): string =>
  d.pick([
    `Answer with ${form} only.`,
    `Just ${form}, please.`,
    `Reply with nothing but ${form}.`,
    `Only ${form}, no explanation.`,
    `I only need ${form}.`,
    `Give ${form} and nothing else.`,
    `No full sentence, just ${form}.`,
  ]);
