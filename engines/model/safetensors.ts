/**
 * Writes weights in the format safetensors, which transformers, vLLM and MLX read: a JSON header with offsets, then the
 * numbers.
 */
import type { Tensor } from "./weights.ts";

export function encodeSafetensors(tensors: readonly Tensor[]): Buffer {
  const header: Record<string, object> = { __metadata__: { format: "pt" } };
  const parts: Buffer[] = [];
  let end = 0;
  for (const { name, shape, values } of tensors) {
    const halves = encodeHalfFloats(values);
    header[name] = { dtype: "F16", shape, data_offsets: [end, end + halves.length] };
    end += halves.length;
    parts.push(halves);
  }
  const text = JSON.stringify(header);
  const head = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(head.length));
  return Buffer.concat([size, head, ...parts]);
}

export function encodeHalfFloats(values: Float32Array): Buffer {
  const halves = new Float16Array(values);
  return Buffer.from(halves.buffer);
}
