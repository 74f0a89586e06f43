// ONNX Runtime in JavaScript behind the process protocol: node javascript.mjs PACKAGE FOLDER
//
// PACKAGE, onnxruntime-node or onnxruntime-web, is found as a program in FOLDER finds it. Each request
// brings its model under `native`, as docs/protocol.md says.
import { readSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [PACKAGE, FOLDER] = process.argv.slice(2);
const PROVIDER = PACKAGE === "onnxruntime-web" ? "wasm" : "cpu";
console.log = console.error; // what a runtime prints is no answer

// TensorProto.DataType -> the type of a Tensor, and the array of its data
const TENSORS = {
  1: ["float32", Float32Array], 2: ["uint8", Uint8Array], 3: ["int8", Int8Array],
  4: ["uint16", Uint16Array], 5: ["int16", Int16Array], 6: ["int32", Int32Array],
  7: ["int64", BigInt64Array], 8: ["string", null], 9: ["bool", Uint8Array],
  10: ["float16", Uint16Array], 11: ["float64", Float64Array], 12: ["uint32", Uint32Array],
  13: ["uint64", BigUint64Array],
};
const NUMBERS = Object.fromEntries(Object.entries(TENSORS).map(([n, [type]]) => [type, Number(n)]));

class Told extends Error {
  constructor(answer) {
    super();
    this.answer = answer;
  }
}

function declined(why, missing) {
  return new Told({ declined: why, missing });
}

function read(size) {
  const all = Buffer.alloc(size);
  for (let at = 0; at < size; ) {
    const count = readSync(0, all, at, size - at, null);
    if (!count) process.exit(0);
    at += count;
  }
  return all;
}

function readLine() {
  const bytes = [];
  for (;;) {
    const [byte] = read(1);
    if (byte === 10) return JSON.parse(Buffer.from(bytes).toString());
    bytes.push(byte);
  }
}

function write(header, payloads = []) {
  for (const part of [Buffer.from(JSON.stringify(header) + "\n"), ...payloads])
    for (let at = 0; at < part.length; ) at += writeSync(1, part, at);
}

// Returns the type and the array of a type of convcheck's. Of others, not even an output can be had:
// the add-on aborts.
function tensorType(name, types) {
  const known = TENSORS[types[name]?.own];
  if (!known) throw declined(`${PACKAGE} has no tensors of ${name}`, true);
  return known;
}

function tensor(ort, entry, payload, types) {
  const [type, Data] = tensorType(entry.type, types);
  if (!Data) return new ort.Tensor(type, entry.values, entry.shape);
  // a copy, aligned as the array wants it
  return new ort.Tensor(type, new Data(new Uint8Array(payload).buffer), entry.shape);
}

let kept = { model: null, session: null };

async function session(ort, model) {
  if (kept.model === model) return kept.session;
  await kept.session?.release();
  kept = { model: null, session: null };
  try {
    const made = await ort.InferenceSession.create(new Uint8Array(Buffer.from(model, "base64")), {
      executionProviders: [PROVIDER], graphOptimizationLevel: "disabled", intraOpNumThreads: 1,
      interOpNumThreads: 1, enableMemPattern: false, enableCpuMemArena: false, logSeverityLevel: 4,
    });
    kept = { model, session: made };
  } catch (error) {
    throw declined(String(error.message ?? error), lacks(error));
  }
  return kept.session;
}

function lacks(error) {
  return /NOT_IMPLEMENTED|Could not find an implementation/.test(String(error.message ?? error));
}

function entry(result, types) {
  const own = NUMBERS[result.type];
  const name = Object.keys(types).find((type) => types[type].own === own) ?? result.type;
  const found = { type: name, shape: [...result.dims], bytes: 0 };
  if (result.type === "string") return [{ ...found, values: [...result.data] }, null];
  const { buffer, byteOffset, byteLength } = result.data;
  return [{ ...found, bytes: byteLength }, Buffer.from(buffer, byteOffset, byteLength)];
}

async function answered(ort, request, payloads) {
  const { model, types, limit } = request.native;
  request.outputs.forEach((name) => tensorType(name, types));
  const made = await session(ort, model);
  const feeds = {};
  request.inputs.forEach((one, index) => {
    feeds[made.inputNames[index]] = tensor(ort, one, payloads[index], types);
  });
  let results;
  try {
    results = await made.run(feeds);
  } catch (error) {
    const why = String(error.message ?? error);
    throw lacks(error) ? declined(why, true) : new Told({ refused: why });
  }
  const outputs = made.outputNames.map((name) => results[name]);
  const most = Math.max(limit, ...Object.values(feeds).map((feed) => feed.size));
  const found = outputs.map((result) => entry(result, types));
  if (outputs.some((result) => result.size > most))
    throw new Told({ oversized: found.map(([{ type, shape }]) => ({ type, shape })) });
  return found;
}

async function started() {
  try {
    const ort = createRequire(resolve(FOLDER, "package.json"))(PACKAGE);
    if (PROVIDER === "wasm") ort.env.wasm.numThreads = 1;
    const version = ort.env.versions[PROVIDER === "wasm" ? "web" : "node"];
    const how = `${PROVIDER}, graph inputs, optimisation off, 1 thread, Node ${process.versions.node}`;
    return [ort, { hello: 1, name: PACKAGE, version: `${version}, ${how}`, native: "ort" }];
  } catch (error) {
    const why = String(error.message ?? error).split("\n")[0];
    return [null, { hello: 1, unavailable: `${PACKAGE} cannot be used there: ${why}` }];
  }
}

const [ort, welcome] = await started();
for (;;) {
  const request = readLine();
  if ("hello" in request) {
    write(welcome);
    continue;
  }
  const payloads = request.inputs.map(({ bytes }) => read(bytes));
  try {
    const found = await answered(ort, request, payloads);
    const bytes = found.map(([, data]) => data).filter(Boolean);
    write({ run: request.run, outputs: found.map(([one]) => one) }, bytes);
  } catch (error) {
    const told = error instanceof Told ? error.answer : { error: String(error) };
    write({ run: request.run, ...told });
  }
}
