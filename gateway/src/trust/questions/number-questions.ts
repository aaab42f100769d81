/** Questions whose answer is a number that follows from several facts: stories with sums, prices, counting. */
import { capital, number, sentences } from "./phrasing.ts";
import type { QuestionTask } from "./question-task.ts";
import type { RandomChoices } from "./random-choices.ts";
import * as words from "./word-lists.ts";

/** A story with a sum: a person has, gets and loses things, among other people's things. */
export function story(d: RandomChoices): QuestionTask {
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
export function shop(d: RandomChoices): QuestionTask {
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
export function tally(d: RandomChoices): QuestionTask {
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
