/** Questions about words and their letters, their category, or their translation. */
import { choice, list } from "./phrasing.ts";
import type { QuestionTask } from "./question-task.ts";
import type { RandomChoices } from "./random-choices.ts";
import * as words from "./word-lists.ts";

/** Words rewritten: joined, sorted, reversed or in capitals. */
export function form(d: RandomChoices): QuestionTask {
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
export function letters(d: RandomChoices): QuestionTask {
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

export function backwards(d: RandomChoices): QuestionTask {
  const word = d.pick(words.WORDS_TO_SPELL_BACKWARDS);
  const answer = [...word].reverse().join("");
  const question = d.pick([
    `Write the word "${word}" backwards.`,
    `What is ${word} spelled in reverse?`,
    `Turn the letters of "${word}" round.`,
  ]);
  return { material: "", question, form: "the letters", answer, check: { kind: "text", right: answer } };
}

export function translation(d: RandomChoices): QuestionTask {
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

/** The one word of a list that belongs to a category, or the one that does not. */
export function category(d: RandomChoices): QuestionTask {
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
