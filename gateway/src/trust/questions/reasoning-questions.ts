/** Questions whose answer follows in several steps: comparisons, elimination, moves, dates. */
import { choice, list, number, sentences } from "./phrasing.ts";
import type { QuestionTask } from "./question-task.ts";
import type { RandomChoices } from "./random-choices.ts";
import * as words from "./word-lists.ts";

/** The first or last of several people, from comparisons of two people each. */
export function chain(d: RandomChoices): QuestionTask {
  const people = d.some(d.between(3, 4), words.PEOPLE);
  const [more, less, top, bottom] = d.pick([
    ["taller", "shorter", "the tallest", "the shortest"],
    ["older", "younger", "the oldest", "the youngest"],
    ["faster", "slower", "the fastest", "the slowest"],
    ["richer", "poorer", "the richest", "the poorest"],
  ]) as [string, string, string, string];
  const pairs = people.slice(1).map((each, i) => {
    const above = people[i] as string;
    return d.percent(50) ? `${above} is ${more} than ${each}` : `${each} is ${less} than ${above}`;
  });
  const isTop = d.percent(50);
  const answer = (isTop ? people[0] : people.at(-1)) as string;
  const which = isTop ? top : bottom;
  const question = d.pick([
    `Who of them is ${which}?`,
    `Which of the ${words.spellNumber(people.length)} is ${which}?`,
    `Find the person who is ${which}.`,
  ]);
  return {
    material: sentences(d.some(pairs.length, pairs)),
    question,
    form: "the name",
    answer,
    check: choice(answer, people),
  };
}

/** The one place that is left after the others are excluded. */
export function elimination(d: RandomChoices): QuestionTask {
  const colours = d.some(d.between(5, 6), words.COLOURS);
  const answer = d.pick(colours);
  const thing = d.pick(["key", "ring", "letter", "coin", "ticket", "photo"]);
  const box = d.pick(["box", "drawer", "envelope", "bag"]);
  const empty = d.some(
    colours.length - 1,
    colours.filter((each) => each !== answer),
  );
  const clues = d.pick([
    empty.map((each) => `it is not in the ${each} ${box}`),
    [
      `the ${list(empty.slice(0, 2))} ones are empty`,
      `I looked into the ${list(empty.slice(2))} one and there was nothing`,
    ],
    [`nothing is in the ${list(empty, "or the")} ${box}`],
  ]);
  const material = sentences([
    `there are ${words.spellNumber(colours.length)} ${box}${box === "box" ? "es" : "s"}: ${list(colours)}`,
    `one of them holds a ${thing}`,
    ...clues,
  ]);
  const question = d.pick([
    `Which colour has the ${box} with the ${thing}?`,
    `Where is the ${thing}? Name the colour.`,
    `What is the colour of the ${box} that holds the ${thing}?`,
  ]);
  return { material, question, form: "the colour", answer, check: choice(answer, colours) };
}

/** The place of a thing after several moves. */
export function moves(d: RandomChoices): QuestionTask {
  const who = d.some(3, words.PEOPLE);
  const [thing, other] = d.some(2, [
    "vase",
    "radio",
    "trunk",
    "globe",
    "typewriter",
    "statue",
    "parcel",
    "toolbox",
  ]) as [string, string];
  const rooms = d.some(d.between(5, 6), words.ROOMS);
  const [first, second, third, ...rest] = rooms as [string, string, string, ...string[]];
  const carry = (what: string, to: string): string => {
    const by = d.pick(who);
    return d.pick([
      `${by} carries the ${what} to the ${to}`,
      `${by} takes the ${what} into the ${to}`,
      `the ${what} is brought to the ${to} by ${by}`,
    ]);
  };
  const told = [`the ${thing} stands in the ${first}`, carry(thing, second), carry(thing, third)];
  const noise = [`the ${other} stands in the ${rest[0]}`, carry(other, rest[1] ?? first)];
  const at = d.between(0, told.length);
  told.splice(at, 0, noise[0] as string);
  told.splice(d.between(at + 1, told.length), 0, noise[1] as string);
  const question = d.pick([
    `Where is the ${thing} now?`,
    `In which room did the ${thing} end up?`,
    `Which room holds the ${thing} at the end?`,
  ]);
  return { material: sentences(told), question, form: "the room", answer: third, check: choice(third, rooms) };
}

/** A date some days or months later or earlier. */
export function calendar(d: RandomChoices): QuestionTask {
  const [all, unit] = d.pick<[string[], string]>([
    [words.WEEKDAYS, "day"],
    [words.MONTHS, "month"],
  ]);
  const at = d.between(0, all.length - 1);
  const by = d.between(2, 4);
  const isLater = d.percent(60);
  const answer = all[(at + (isLater ? by : all.length - by)) % all.length] as string;
  const start = all[at] as string;
  const steps = `${number(d, by)} ${unit}s`;
  const who = d.pick(words.PEOPLE);
  const question = isLater
    ? d.pick([
        `If it is ${start} now, which ${unit} is it in ${steps}?`,
        `${who} leaves ${unit === "day" ? "on" : "in"} ${start} and returns ${steps} later. Which ${unit} is that?`,
        `Which ${unit} comes ${steps} after ${start}?`,
      ])
    : d.pick([
        `If it is ${start} now, which ${unit} was it ${steps} ago?`,
        `Which ${unit} lies ${steps} before ${start}?`,
      ]);
  // A model that counts step by step names the dates in between, so these are no wrong answers.
  const between = Array.from(
    { length: by },
    (_, i) => all[(at + (isLater ? i : all.length - i)) % all.length] as string,
  );
  return { material: "", question, form: `the ${unit}`, answer, check: choice(answer, all, between) };
}
