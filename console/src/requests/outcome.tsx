/** The outcome of a request as a colored word. */
import { Badge } from "../ui/badge.tsx";
import { outcomeMeaning } from "./outcome-names.ts";

export const Outcome = ({ of }: { of: string }) => <Badge tone={outcomeMeaning(of).tone}>{of}</Badge>;
