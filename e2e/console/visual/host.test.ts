import { testTours } from "./replayed-console.ts";
import { HOST_TOURS } from "./tours/host.ts";

testTours("visual: host", HOST_TOURS);
