/** Converts node IDs between their public and their database form. */
import { parseId, publicId, type Uuid } from "../../gateway/src/base/ids.ts";
import type { NodeRecord } from "../world/store/nodes.ts";

export const nodeIdOf = (record: NodeRecord): string => publicId("node", record.id);

export const uuidOfNode = (nodeId: string): Uuid => parseId("node", nodeId) as Uuid;
