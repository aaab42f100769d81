/**
 * Prints the tables of docs/scale.md, which compute from measured constants what a platform on more than one machine
 * needs.
 */
import { renderScaleTables } from "./scale-tables.ts";

for (const { title, text } of renderScaleTables()) console.log(`${title}\n\n${text}\n`);
