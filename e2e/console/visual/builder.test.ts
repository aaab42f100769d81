import { testTours } from "./replayed-console.ts";
import { BUILDER_TOURS } from "./tours/builder.ts";

testTours("visual: builder", BUILDER_TOURS);
