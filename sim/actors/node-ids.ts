/** Converts between the database IDs of nodes and their public IDs. */
import { parseId, publicId, type Uuid } from "../../gateway/src/base/ids.ts";
import type { NodeRecord } from "../world/store/node-table.ts";

export const publicNodeId = (record: NodeRecord): string => publicId("node", record.id);

export const parseNodeUuid = (nodeId: string): Uuid => parseId("node", nodeId) as Uuid;
