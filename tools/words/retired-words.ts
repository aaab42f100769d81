/**
 * The list of retired words: words that a newcomer would not understand, or for which the glossary (CONTRIBUTING.md)
 * has another word. Messages are checked by tools/retired-words-in-messages.ts, titles of tests and comments by
 * retired-words.test.ts. The console has a list of its own (tools/console-words.test.ts), because labels need other rules.
 */

type Place = "messages" | "titles" | "comments" | "plain titles" | "plain comments";

const EVERYWHERE: Place[] = ["messages", "titles", "comments"];
/** For words that are retired only in messages to users; developers may use them among themselves. */
const MESSAGES: Place[] = ["messages"];
/**
 * Forms that are hard to read. They are forbidden only in folders whose titles and comments have all been rewritten in
 * plain words (retired-words.test.ts lists these folders).
 */
const PLAIN: Place[] = ["plain titles", "plain comments"];

const RETIRED: [word: RegExp, instead: string, places: Place[]][] = [
  [/\be-mail/i, "email", EVERYWHERE],
  [/\bthe books\b/i, "the ledger", EVERYWHERE],
  [/\bunder way\b/i, "in flight", EVERYWHERE],
  [/\breservations?\b|\btaken aside\b/i, "hold", EVERYWHERE],
  [/\bfree places?\b/i, "slot", EVERYWHERE],
  [/\bthe store\b/i, "the database", EVERYWHERE],
  [/\bis (still )?away\b/i, "is unreachable", EVERYWHERE],
  [/\bon our side\b/i, "internal error", EVERYWHERE],
  [/\bwent quiet\b/i, "stopped responding", EVERYWHERE],
  [/\bmakes? no sense\b/i, "the rule that is broken", EVERYWHERE],
  [/\b(is|are) written to\b/i, "gets an email", MESSAGES],
  [/\bas many as there may be\b|\bmay have no more\b/i, "limit reached", EVERYWHERE],
  [/\bthe (newest|oldest) first\b/i, "newest first", EVERYWHERE],
  [/\bone of a kind\b/i, "unique", EVERYWHERE],
  [/\bfor good\b/i, "permanently", EVERYWHERE],
  [/\b(some|any|every|no)body('s)?\b/i, "someone, anyone, everyone, no one", ["titles", "comments"]],
  [/(?<!lowercase )\bletters?\b/i, "email", MESSAGES],
  [/\b(is|are|was|were|be) told\b/i, "the actor and the action: returns, reports, shows", EVERYWHERE],
  [/\btells?\b/i, "the actor and the action: returns, reports, shows", MESSAGES],
  [/\bwhoever\b/i, "the actor", EVERYWHERE],
  [/\bgave? out\b|\bhalves of characters\b|\bin the way\b/i, "the field's own term", MESSAGES],
  [/\bof yours\b/i, "your", MESSAGES],
  [/(?<!there )\bis no (?!longer\b)\w/i, "is not a", MESSAGES],
  [/\bfor people\b/i, "display name", MESSAGES],
  [/^(what|who|whom|how|nor|so is)\b/i, "a subject: what is tested", ["titles"]],
  [/\banew\b/i, "again", PLAIN],
  [/\bfor ever\b/i, "forever, without end", PLAIN],
  [/\b(as|like) \w+ (has|have) it\b/i, "the format or behaviour by its name", PLAIN],
  [/\b(is|are|was|were) looked at\b/i, "is checked, is read", ["plain titles"]],
  [/\bso (many|much)\b(?! (as|that))/i, 'the number, or "this many"', PLAIN],
  [/^(it|its|they|their|of|as)\b/i, "a subject, or the noun that the pronoun stands for", ["plain comments"]],
  [/\bwhoever\b|\bwhatever (it|they|there) (is|are)\b/i, "the actor, or the case", PLAIN],
];

/** Returns the replacements for the retired words in a text. */
export const findReplacements = (place: Place, text: string): string[] =>
  RETIRED.filter(([word, , places]) => places.includes(place) && word.test(text)).map(([, instead]) => instead);
