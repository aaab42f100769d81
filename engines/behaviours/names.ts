/** What the behaviours are called, for lists of what an engine cannot do. `behaviours.ts` has one function for each. */
export type BehaviourName =
  | "chat"
  | "stream"
  | "completion"
  | "embeddings"
  | "stop"
  | "seed"
  | "cap"
  | "long prompt"
  | "context end"
  | "json_object"
  | "json_schema"
  | "parallel"
  | "cancel"
  | "restart";
