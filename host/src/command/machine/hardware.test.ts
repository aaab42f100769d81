import assert from "node:assert/strict";
import { test } from "node:test";
import { BYTES_PER_GIB, fakeMachine } from "../testing/fake-machine.ts";
import {
  computeMemoryForModelsBytes,
  describeHardware,
  findGpus,
  findHardware,
  parseAmdGpus,
  parseMetalGpus,
  parseNvidiaGpus,
} from "./hardware.ts";

/** The output of nvidia-smi (driver 580) on a machine with an H200. */
const NVIDIA = "NVIDIA H200, 143771, 580.159.04\n";
/** The output of rocm-smi 6 for a Radeon RX 7900 XT; earlier releases wrote `Card series`. */
const ROCM = JSON.stringify({
  card0: {
    "VRAM Total Memory (B)": "21458059264",
    "VRAM Total Used Memory (B)": "27856896",
    "Card Series": "Radeon RX 7900 XT",
    "Card Model": "0x744c",
    "GFX Version": "gfx1100",
  },
  system: { "Driver version": "6.8.0" },
});
const METAL = JSON.stringify({
  SPDisplaysDataType: [
    { _name: "Apple M4 Pro", sppci_model: "Apple M4 Pro", sppci_cores: "20", spdisplays_ndrvs: [{}] },
    { _name: "Intel UHD", sppci_model: "Intel UHD Graphics 630" },
  ],
});

test("parses the output of each vendor's GPU tool", () => {
  assert.deepEqual(parseNvidiaGpus(NVIDIA), [
    { maker: "nvidia", name: "NVIDIA H200", memoryBytes: 143771 * 1024 ** 2, driver: "580.159.04" },
  ]);
  assert.equal(parseNvidiaGpus(NVIDIA + NVIDIA).length, 2);
  assert.deepEqual(parseNvidiaGpus("NVIDIA GB10, [N/A], 580.1\n")[0]?.memoryBytes, undefined);
  const radeon = { maker: "amd", name: "Radeon RX 7900 XT", memoryBytes: 21458059264, driver: "6.8.0" };
  assert.deepEqual(parseAmdGpus(ROCM), [radeon]);
  assert.deepEqual(parseAmdGpus(`WARNING: low power\n${ROCM.replace("Card Series", "Card series")}`), [radeon]);
  assert.deepEqual(parseMetalGpus(METAL), [
    { maker: "apple", name: "Apple M4 Pro (20 cores)", memoryBytes: undefined, driver: undefined },
  ]);
});

test("reports no GPU if the tool's output cannot be parsed", () => {
  for (const text of ["", "\n", "No devices were found", "{}", "[]", "{", '{"card0": 7}']) {
    assert.deepEqual(parseNvidiaGpus(text.includes(",") ? "" : text), []);
    assert.deepEqual(parseAmdGpus(text), []);
    assert.deepEqual(parseMetalGpus(text), []);
  }
});

test("runs only the GPU tools of the platform, and ignores tools that fail", async () => {
  const linux = fakeMachine({ programs: { "nvidia-smi": NVIDIA, "rocm-smi": ROCM } });
  assert.deepEqual(
    (await findGpus(linux)).map(({ maker }) => maker),
    ["nvidia", "amd"],
  );
  const mac = fakeMachine({ platform: "darwin", programs: { system_profiler: METAL, "nvidia-smi": NVIDIA } });
  assert.deepEqual(
    (await findGpus(mac)).map(({ maker }) => maker),
    ["apple"],
  );
  assert.deepEqual(mac.ran, ["system_profiler SPDisplaysDataType -json"]);
  const broken = fakeMachine({ programs: { "nvidia-smi": { code: 9, output: NVIDIA, errors: "" } } });
  assert.deepEqual(await findGpus(broken), []);
});

test("models may use the GPUs' memory, a part of memory shared with the GPU, or the machine's memory without a GPU", async () => {
  const memory = async (options: Parameters<typeof fakeMachine>[0]): Promise<number> =>
    computeMemoryForModelsBytes(await findHardware(fakeMachine(options)));
  assert.equal(await memory({}), 16 * BYTES_PER_GIB);
  assert.equal(await memory({ programs: { "nvidia-smi": NVIDIA + NVIDIA } }), 2 * 143771 * 1024 ** 2);
  assert.equal(await memory({ platform: "darwin", programs: { system_profiler: METAL } }), 12 * BYTES_PER_GIB);
  const mac = await findHardware(fakeMachine({ platform: "darwin", programs: { system_profiler: METAL } }));
  assert.deepEqual(describeHardware(mac).at(-1), ["gpu", "Apple M4 Pro (20 cores), shares the machine's memory"]);
});
