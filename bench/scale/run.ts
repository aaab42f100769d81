/** Past one machine, on paper: the tables of bench/scale/README.md, from constants that benches measured. */
import { tables } from "./tables.ts";

for (const { title, text } of tables()) console.log(`${title}\n\n${text}\n`);
