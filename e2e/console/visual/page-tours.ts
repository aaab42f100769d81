/**
 * All tours (scripted visits of the console's pages, see page-tour.ts), for the program that records the API's responses
 * to them.
 */
import type { Tour } from "./page-tour.ts";
import { BUILDER_TOURS } from "./tours/builder.ts";
import { HOST_TOURS } from "./tours/host.ts";
import { OPERATOR_TOURS } from "./tours/operator.ts";
import { VISITOR_TOURS } from "./tours/visitor.ts";

export const TOURS: Tour[] = [...VISITOR_TOURS, ...BUILDER_TOURS, ...HOST_TOURS, ...OPERATOR_TOURS];
