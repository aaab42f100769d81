/**
 * Writes the parts of Llama's tokenizer that bench/gpu/make_model.py needs. Run as `node engines/tokenizer-file.ts
 * FILE`.
 */
import { writeFileSync } from "node:fs";
import { computeLikelihood } from "./model/token-likelihoods.ts";
import { fetchTokenizer } from "./model/tokenizer.ts";

const [file = ""] = process.argv.slice(2);
const { tokens, merges, specialFrom, chatTemplate } = fetchTokenizer();
const { scores, moved, smileyStart } = computeLikelihood({
  tokens,
  merges,
  specialFrom,
  chatTemplate,
  files: {} as never,
});
// Makes smileys unlikely, so that answers consist of words: the number of spaces is then the number of tokens.
scores[smileyStart] = -30;
moved.delete(smileyStart);
const model = { tokens, merges, specialFrom, chatTemplate, scores: [...scores], moved: [...moved] };
writeFileSync(file, JSON.stringify(model));
