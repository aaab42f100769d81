import { testTours } from "./replayed-console.ts";
import { OPERATOR_TOURS } from "./tours/operator.ts";

testTours("visual: operator", OPERATOR_TOURS);
