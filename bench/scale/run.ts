/**
 * Prints the tables of bench/scale/README.md, which compute from measured constants what a platform beyond one machine
 * needs.
 */
import { scaleTables } from "./tables.ts";

for (const { title, text } of scaleTables()) console.log(`${title}\n\n${text}\n`);
