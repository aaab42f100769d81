/**
 * The families (kinds) of questions. Each question is filled in randomly and phrased in several ways. Its answer is
 * known by construction and requires reading the material, where it is one of many facts or follows from several. To
 * add a family: the answers to its questions must be unambiguous, and neither a constant nor a repetition of the prompt
 * may pass. A family also states pass rates: the least share of correct answers that honest models of each class should
 * give at usual temperatures. `canary-evidence.ts` adjusts these rates to the answers of nodes in good standing.
 */
import type { ModelClass } from "../../metering/catalogue.ts";
import type { QuestionTask } from "./question-task.ts";
import type { RandomChoices } from "./random-choices.ts";
import * as words from "./word-lists.ts";

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

const list = (items: readonly string[], and = "and"): string =>
  items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} ${and} ${items.at(-1)}`;
const number = (d: RandomChoices, value: number): string => (d.percent(50) ? String(value) : words.spellNumber(value));
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const sentences = (parts: string[]): string => parts.map((part) => `${capital(part)}.`).join(" ");
const choice = (right: string, all: readonly string[], named: readonly string[] = []): QuestionTask["check"] => ({
  kind: "choice",
  right: [right],
  wrong: all.filter((each) => each !== right && !named.includes(each)),
});

/** A story with a sum: a person has, gets and loses things, among other people's things. */
function story(d: RandomChoices): QuestionTask {
  const [who, friend, third] = d.some(3, words.PEOPLE) as [string, string, string];
  const [what, other] = d.some(2, [...words.GOODS, ...words.SNACKS]) as [string, string];
  const start = d.between(9, 38);
  const more = d.between(3, 19);
  const less = d.between(2, Math.min(start - 2, 17));
  const n = (value: number): string => number(d, value);
  const gain = d.pick([
    `${who} buys ${n(more)} more`,
    `a neighbour drops off another ${n(more)} ${what} for ${who}`,
    `${n(more)} further ${what} reach ${who} by post`,
    `${who} comes across ${n(more)} extra ${what} in the storeroom and adds them to the rest`,
    `then ${friend} hands ${who} ${n(more)} ${what}`,
  ]);
  const loss = d.pick([
    `${who} gives ${n(less)} of the ${what} away to ${friend}`,
    `${n(less)} of ${who}'s ${what} turn out to be spoiled and go into the bin`,
    `${who} sells ${n(less)} ${what} at the fair`,
    `later ${third} borrows ${n(less)} ${what} from ${who} and keeps them`,
    `on the way home ${who} loses ${n(less)} ${what}`,
  ]);
  const noise = d.some(d.between(1, 3), [
    `${friend} has ${n(d.between(3, 40))} ${other} of their own`,
    `${who} also keeps ${n(d.between(3, 40))} ${other}, which stay untouched`,
    `the walk to the market takes ${n(d.between(12, 55))} minutes`,
    `${third} is ${n(d.between(21, 69))} years old`,
    `the shop closes at ${n(d.between(4, 9))} in the evening`,
  ]);
  const steps = d.pick([[gain], [loss], [gain, loss], [loss, gain]]);
  let value = start;
  const through = steps.map((step) => (value += step === gain ? more : -less));
  const opening = d.pick([
    `${who} has ${n(start)} ${what}`,
    `in the morning there are ${n(start)} ${what} on ${who}'s shelf`,
    `${who} packed ${n(start)} ${what} yesterday`,
    `a box with ${n(start)} ${what} belongs to ${who}`,
  ]);
  // The steps keep their order; other sentences are inserted at random positions.
  const told = [opening, ...steps];
  for (const each of noise) told.splice(d.between(0, told.length), 0, each);
  const question = d.pick([
    `How many ${what} does ${who} have in the end?`,
    `How many ${what} are left with ${who} after all that?`,
    `What is the number of ${what} that ${who} has now?`,
    `Count ${who}'s ${what} at the end: how many?`,
  ]);
  const check = { kind: "number", value, steps: through } as const;
  return { material: sentences(told), question, form: "the number", answer: String(value), check };
}

/** The total price for a number of items, among the prices of other items. */
function shop(d: RandomChoices): QuestionTask {
  const who = d.pick(words.PEOPLE);
  const goods = d.some(d.between(4, 6), words.GOODS);
  const prices = d.some(goods.length, [3, 4, 5, 6, 7, 8, 9, 11, 12]);
  const [what, price] = [goods[0] as string, prices[0] as number];
  const count = d.between(3, 9);
  const offers = d.some(
    goods.length,
    goods.map((each, i) => ({ each, price: prices[i] as number })),
  );
  const coin = d.pick(["euros", "dollars", "pounds", "coins"]);
  const line = d.pick([
    (o: (typeof offers)[0]) => `${capital(o.each)} cost ${number(d, o.price)} ${coin} each.`,
    (o: (typeof offers)[0]) => `- ${o.each}: ${o.price} ${coin} apiece`,
    (o: (typeof offers)[0]) => `You pay ${o.price} ${coin} for each of the ${o.each}.`,
  ]);
  const question = d.pick([
    `${who} takes ${number(d, count)} ${what} and nothing else. What does ${who} pay in ${coin}?`,
    `How many ${coin} do ${number(d, count)} ${what} cost together?`,
    `What is the total in ${coin} for ${number(d, count)} ${what}?`,
  ]);
  const value = price * count;
  const check = { kind: "number", value, steps: [] as number[] } as const;
  return { material: offers.map(line).join("\n"), question, form: "the number", answer: String(value), check };
}

/** The number of lines of one kind in a list. */
function tally(d: RandomChoices): QuestionTask {
  const [what, values] = d.pick<[string, string[]]>([
    ["orders", words.ORDER_STATES],
    ["boxes", words.COLOURS.slice(0, 6)],
    ["tickets", words.TEAMS.slice(0, 5)],
    ["trips", words.PLACES.slice(0, 6)],
  ]);
  const [wanted, ...rest] = d.some(4, values) as [string, ...string[]];
  const count = d.between(2, 5);
  const all = [
    ...Array.from({ length: count }, () => wanted),
    ...Array.from({ length: d.between(3, 6) }, () => d.pick(rest)),
  ];
  const people = d.some(all.length, words.PEOPLE);
  const line = d.pick([
    (p: string, v: string) => `- ${p}: ${v}`,
    (p: string, v: string) => `${p}'s is ${v}.`,
    (p: string, v: string) => `* ${v} (${p})`,
  ]);
  const material = d
    .some(all.length, all)
    .map((v, i) => line(people[i] as string, v))
    .join("\n");
  const question = d.pick([
    `How many of these ${what} are marked ${wanted}?`,
    `Count the ${what} that say ${wanted}. How many are there?`,
    `In how many of the ${what} above or below does it say ${wanted}?`,
  ]);
  const check = { kind: "number", value: count, steps: [] as number[] } as const;
  return { material: `${capital(what)}:\n${material}`, question, form: "the number", answer: String(count), check };
}

interface Column {
  name: string;
  values: string[];
}

function rowsOf(d: RandomChoices, count: number): { columns: Column[]; rows: string[][] } {
  const columns = d.some(d.between(2, 3), [
    { name: "city", values: words.PLACES },
    { name: "team", values: words.TEAMS },
    { name: "room", values: words.ROOMS },
    { name: "profession", values: words.OCCUPATIONS },
    { name: "order", values: words.GOODS },
  ]);
  const filled = [{ name: "name", values: words.PEOPLE }, ...columns].map(({ name, values }) => ({
    name,
    values: d.some(count, values),
  }));
  return {
    columns: filled,
    rows: Array.from({ length: count }, (_, i) => filled.map(({ values }) => values[i] as string)),
  };
}

/** A cell of a table, identified by another cell of its row. */
function table(d: RandomChoices): QuestionTask {
  const { columns, rows } = rowsOf(d, d.between(6, 9));
  const names = columns.map(({ name }) => name);
  const material = d.pick([
    () => [names.join(" | "), names.map(() => "---").join(" | "), ...rows.map((row) => row.join(" | "))].join("\n"),
    () => [names.join(","), ...rows.map((row) => row.join(","))].join("\n"),
    () => rows.map((row) => `- ${row.map((cell, i) => `${names[i]}: ${cell}`).join("; ")}`).join("\n"),
    () =>
      rows
        .map(([first, ...rest]) => `${first} (${rest.map((cell, i) => `${names[i + 1]}: ${cell}`).join(", ")})`)
        .join("\n"),
  ])();
  const [by, of] = d.some(
    2,
    names.map((_, i) => i),
  ) as [number, number];
  const row = d.pick(rows);
  const [key, answer] = [row[by] as string, row[of] as string];
  const question = d.pick([
    `Which ${names[of]} goes with the ${names[by]} ${key}?`,
    `Look up the entry whose ${names[by]} is ${key}. What is its ${names[of]}?`,
    `What does the list give as the ${names[of]} where the ${names[by]} is ${key}?`,
    `I need the ${names[of]} for ${key}. Which one is it?`,
  ]);
  return {
    material,
    question,
    form: `the ${names[of]}`,
    answer,
    check: choice(answer, (columns[of] as Column).values),
  };
}

/** The highest, lowest or second of some figures, or their difference. */
function ranking(d: RandomChoices): QuestionTask {
  const people = d.some(d.between(6, 8), words.PEOPLE);
  const figures = d.some(
    people.length,
    Array.from({ length: 60 }, (_, i) => 21 + i),
  );
  const [unit, most, least] = d.pick([
    ["points", "the highest score", "the lowest score"],
    ["years old", "the greatest age", "the youngest age"],
    ["kilometres", "the longest distance", "the shortest distance"],
    ["pages", "the most pages", "the fewest pages"],
    ["minutes", "the longest time", "the shortest time"],
  ]) as [string, string, string];
  const line = d.pick([
    (p: string, v: number) => `${p}: ${v} ${unit}`,
    (p: string, v: number) => `${p} – ${number(d, v)} ${unit}`,
    (p: string, v: number) => `${v} ${unit} (${p})`,
  ]);
  const material = people.map((p, i) => line(p, figures[i] as number)).join(d.pick(["\n", "; "]));
  const byValue = people.map((p, i) => ({ p, value: figures[i] as number })).sort((a, b) => b.value - a.value);
  const at = d.pick([0, byValue.length - 1]);
  const answer = (byValue[at] as { p: string }).p;
  const which = at === 0 ? most : least;
  const question = d.pick([`Who has ${which}?`, `Whose entry shows ${which}?`, `Name the person with ${which}.`]);
  return { material, question, form: "the name", answer, check: choice(answer, people) };
}

/**
 * A question about one fact of a short note that mostly reports changes of plans, with the old and the new value of
 * each.
 */
function note(d: RandomChoices): QuestionTask {
  const [who, guest, old] = d.some(3, words.PEOPLE) as [string, string, string];
  const [place, oldPlace] = d.some(2, words.PLACES) as [string, string];
  const [day, oldDay] = d.some(2, words.WEEKDAYS) as [string, string];
  const [room, oldRoom] = d.some(2, words.ROOMS) as [string, string];
  const [gift, otherGift] = d.some(2, words.GOODS) as [string, string];
  const facts = [
    {
      told: d.pick([
        `the meeting moved from ${oldPlace} to ${place}`,
        `we meet in ${place} now, since ${oldPlace} was booked out`,
      ]),
      asks: ["In which city will they meet?", "What city does the meeting take place in after the change?"],
      form: "the city",
      answer: place,
      all: words.PLACES,
    },
    {
      told: d.pick([
        `it is on ${day} and no longer on ${oldDay}`,
        `${oldDay} did not suit anybody, so it will be ${day}`,
      ]),
      asks: ["On which day is it held?", "What day did they settle on?"],
      form: "the day",
      answer: day,
      all: words.WEEKDAYS,
    },
    {
      told: d.pick([
        `${who} runs it instead of ${old}, with ${guest} as a guest`,
        `${old} handed the lead over to ${who}; ${guest} only visits`,
      ]),
      asks: ["Who leads the meeting now?", "Which person is in charge after the change?"],
      form: "the name",
      answer: who,
      all: [who, guest, old],
    },
    {
      told: d.pick([
        `please use the ${room}, because the ${oldRoom} is being painted`,
        `the ${oldRoom} is too small, hence the ${room}`,
      ]),
      asks: ["Which room should people go to?", "In what room does it take place?"],
      form: "the room",
      answer: room,
      all: words.ROOMS,
    },
    {
      told: d.pick([
        `everybody brings ${gift}, ${otherGift} are there already`,
        `there are enough ${otherGift}; what is missing is ${gift}`,
      ]),
      asks: ["What are people asked to bring?", "Which things are still missing?"],
      form: "the word",
      answer: gift,
      all: [gift, otherGift],
    },
  ];
  const told = d.some(d.between(3, 5), facts);
  const asked = d.pick(told);
  const material = sentences(told.map((fact) => fact.told));
  return {
    material,
    question: d.pick(asked.asks),
    form: asked.form,
    answer: asked.answer,
    check: choice(asked.answer, asked.all),
  };
}

/** A value in a JSON document, identified by record and field. */
function json(d: RandomChoices): QuestionTask {
  const { columns, rows } = rowsOf(d, d.between(4, 6));
  const names = columns.map(({ name }) => name);
  const records = rows.map((row) => Object.fromEntries(row.map((cell, i) => [names[i] as string, cell])));
  const shaped = d.pick<unknown>([
    records,
    { items: records },
    { status: "ok", data: { rows: records } },
    Object.fromEntries(records.map((record, i) => [`entry_${i + 101}`, record])),
  ]);
  const of = d.between(1, names.length - 1);
  const row = d.pick(rows);
  const [key, answer] = [row[0] as string, row[of] as string];
  const question = d.pick([
    `What is the value of "${names[of]}" for ${key}?`,
    `Read out the field "${names[of]}" of the object whose name is ${key}.`,
    `Which ${names[of]} does the JSON give for ${key}?`,
  ]);
  const material = JSON.stringify(shaped, null, d.pick([0, 1, 2]));
  return { material, question, form: "the value", answer, check: choice(answer, (columns[of] as Column).values) };
}

/** Words rewritten: joined, sorted, reversed or in capitals. */
function form(d: RandomChoices): QuestionTask {
  const chosen = d.some(d.between(3, 4), words.SHORT_WORDS);
  const joint = d.pick(["-", ";", "/", "+"]);
  const name = { "-": "hyphens", ";": "semicolons", "/": "slashes", "+": "plus signs" }[joint];
  const [how, result] = d.pick<[string, string[]]>([
    [`in reverse order, from the last to the first, with ${name} between them`, chosen.toReversed()],
    [`in alphabetical order with ${name} between them`, chosen.toSorted()],
  ]);
  const question = d.pick([
    `Write the words ${list(chosen)} ${how}.`,
    `Take these words: ${chosen.join(", ")}. Give them back ${how}.`,
    `Please put ${list(chosen)} ${how}.`,
  ]);
  const answer = result.join(joint);
  return { material: "", question, form: "the result", answer, check: { kind: "text", right: answer } };
}

/** The first letters of some words, or the letters of one word. */
function letters(d: RandomChoices): QuestionTask {
  const word = d.pick(words.SHORT_WORDS);
  const chosen = d.some(d.between(3, 5), words.SHORT_WORDS);
  const initials = chosen.map((each) => each.charAt(0)).join("");
  const [question, answer] = d.pick<[string, string]>([
    [
      `What do you get when you write down the first letters of ${list(chosen)}, in this order and without spaces?`,
      initials,
    ],
    [`Take the initial letter of each word and join them: ${chosen.join(" ")}.`, initials],
    [`Spell the word "${word}" with a hyphen after every letter but the last.`, [...word].join("-")],
    [`Put a hyphen between all letters of ${word}.`, [...word].join("-")],
  ]);
  return { material: "", question, form: "the letters", answer, check: { kind: "text", right: answer } };
}

function backwards(d: RandomChoices): QuestionTask {
  const word = d.pick(words.WORDS_TO_SPELL_BACKWARDS);
  const answer = [...word].reverse().join("");
  const question = d.pick([
    `Write the word "${word}" backwards.`,
    `What is ${word} spelled in reverse?`,
    `Turn the letters of "${word}" round.`,
  ]);
  return { material: "", question, form: "the letters", answer, check: { kind: "text", right: answer } };
}

/** The first or last of several people, from comparisons of two people each. */
function chain(d: RandomChoices): QuestionTask {
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
function elimination(d: RandomChoices): QuestionTask {
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
function moves(d: RandomChoices): QuestionTask {
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

function translation(d: RandomChoices): QuestionTask {
  const row = d.pick(words.TRANSLATIONS);
  const [from, to] = d.some(2, d.percent(50) ? [0, d.between(1, 4)] : [0, 1, 2, 3, 4]) as [number, number];
  const [word, answer] = [row[from] as string, row[to] as string];
  // Skips words that are equal in both languages.
  if (word.toLowerCase() === answer.toLowerCase()) return translation(d);
  const [source, target] = [words.LANGUAGES[from], words.LANGUAGES[to]];
  const question = d.pick([
    `What is the ${source} word "${word}" in ${target}?`,
    `Translate "${word}" from ${source} to ${target}.`,
    `How do you say ${word} (${source}) in ${target}?`,
    `I am labelling a picture book in ${target}. What do I write for the ${source} word "${word}"?`,
  ]);
  // Accepts the word without its accents too.
  const bare = answer.normalize("NFD").replace(/\p{M}/gu, "").replace("œ", "oe").replace("ß", "ss");
  const same = words.TRANSLATIONS.map((other) => other[to] as string).filter(
    (each) => each !== answer && each !== word,
  );
  return {
    material: "",
    question,
    form: "the word",
    answer,
    check: { kind: "choice", right: [answer, bare], wrong: same },
  };
}

/** A date some days or months later or earlier. */
function calendar(d: RandomChoices): QuestionTask {
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

/** The one word of a list that belongs to a category, or the one that does not. */
function category(d: RandomChoices): QuestionTask {
  const [one, other, ...more] = d.some(6, Object.keys(words.WORDS_BY_CATEGORY)) as [string, string, ...string[]];
  const isOdd = d.percent(50);
  const answer = d.pick(words.WORDS_BY_CATEGORY[isOdd ? other : one] as string[]);
  const rest = isOdd
    ? d.some(5, words.WORDS_BY_CATEGORY[one] as string[])
    : [other, ...more].map((each) => d.pick(words.WORDS_BY_CATEGORY[each] as string[]));
  const all = d.some(6, [answer, ...rest]);
  const items = d.pick([all.join(", "), all.map((each) => `"${each}"`).join(" / "), list(all, "or")]);
  const question = isOdd
    ? d.pick([
        `Which of these is not ${one}: ${items}?`,
        `All but one of these words name ${one}. Which is the exception? ${items}.`,
        `Find the word that is not ${one}: ${items}.`,
      ])
    : d.pick([
        `Which of these is ${one}: ${items}?`,
        `Only one of these words names ${one}. Which? ${items}.`,
        `Find the word for ${one}: ${items}.`,
      ]);
  return { material: "", question, form: "the word", answer, check: choice(answer, all) };
}

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
