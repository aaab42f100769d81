/**
 * The names of the behaviors that are checked on every engine. An engine lists those that it does not support under
 * these names. The checks are in `behaviours.ts`.
 */
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
