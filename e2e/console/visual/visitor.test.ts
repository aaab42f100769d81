import { testTours } from "./replayed-console.ts";
import { VISITOR_TOURS } from "./tours/visitor.ts";

testTours("visual: visitor", VISITOR_TOURS);
