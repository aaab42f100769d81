/** Questions for one of many facts: in a table, a list of figures, a note, a JSON document. */
import { choice, number, sentences } from "./phrasing.ts";
import type { QuestionTask } from "./question-task.ts";
import type { RandomChoices } from "./random-choices.ts";
import * as words from "./word-lists.ts";

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
export function table(d: RandomChoices): QuestionTask {
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
export function ranking(d: RandomChoices): QuestionTask {
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
export function note(d: RandomChoices): QuestionTask {
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
export function json(d: RandomChoices): QuestionTask {
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
