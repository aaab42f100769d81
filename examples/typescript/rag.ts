/** Answers from a folder of text files, by nearness of meaning: `node rag.ts FOLDER "What does it cost?"`. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import OpenAI from "openai";

const NEAREST = 3;
const PASSAGE_CHARS_MAX = 1_500;
const BATCH = 64;

const [folder, question] = process.argv.slice(2);
if (folder === undefined || question === undefined) throw new Error('usage: node rag.ts FOLDER "QUESTION"');
const client = new OpenAI();

interface Passage {
  file: string;
  text: string;
}

/** Paragraphs, the long ones cut. */
async function readPassages(folder: string): Promise<Passage[]> {
  const files = (await readdir(folder)).filter((name) => /\.(md|txt)$/.test(name)).sort();
  const cut = new RegExp(`[^]{1,${PASSAGE_CHARS_MAX}}`, "g");
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  return texts.flatMap((text, i) => {
    const paragraphs = text.split(/\n\s*\n/).filter((paragraph) => paragraph.trim() !== "");
    return paragraphs.flatMap((paragraph) =>
      (paragraph.match(cut) ?? []).map((text) => ({ file: files[i] ?? "", text })),
    );
  });
}

async function embed(input: string[]): Promise<number[][]> {
  const vectors: number[][] = [];
  for (let at = 0; at < input.length; at += BATCH) {
    const { data } = await client.embeddings.create({
      model: process.env.EMBEDDING_MODEL ?? "embed-m3",
      input: input.slice(at, at + BATCH),
      encoding_format: "float", // older versions of the SDK misread the vectors without it
    });
    vectors.push(...data.map(({ embedding }) => embedding));
  }
  return vectors;
}

/** Vectors have length 1: their product is the cosine. */
const nearness = (a: number[], b: number[]): number => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);

const passages = await readPassages(folder);
if (passages.length === 0) throw new Error(`${folder} holds no .md or .txt files with text`);
const [asked = [], ...vectors] = await embed([question, ...passages.map(({ text }) => text)]);
const nearest = passages
  .map((passage, i) => ({ ...passage, score: nearness(asked, vectors[i] ?? []) }))
  .sort((a, b) => b.score - a.score)
  .slice(0, NEAREST);

const sources = nearest.map(({ file, text }, i) => `[${i + 1}] ${file}\n${text}`).join("\n\n");
const { choices } = await client.chat.completions.create({
  model: process.env.MODEL ?? "tiny-3b",
  messages: [
    { role: "system", content: `Answer from these passages alone and name their numbers.\n\n${sources}` },
    { role: "user", content: question },
  ],
  max_tokens: 300,
});
console.log(choices[0]?.message.content);
for (const [i, { file, score }] of nearest.entries()) console.error(`[${i + 1}] ${file} (${score.toFixed(2)})`);
