/**
 * What every client is asked, in the order of the table. Each throws when it is not so. What a client does not offer, or does in
 * its own way, is asserted and returned as the reason for a `no`.
 */
import { answers } from "./answers.ts";
import { refusals } from "./refusals.ts";

export const behaviours = [...answers, ...refusals];
