// Read a pack. `node reader.js FILE...` prints id, input, rule and expected values of each vector.
"use strict";
const fs = require("fs");

/** Return a case: its head, and its vectors as {id, input, rule, expected}. */
function readCase(file) {
  const head = JSON.parse(fs.readFileSync(file, "utf8"));
  const vectors = head.vectors.map((one) => {
    const { input, rule, expected } = Array.isArray(one)
      ? { input: one[0], rule: one[1], expected: one.slice(2) }
      : one; // a whole call
    return { id: vectorId(head.case, input), input, rule, expected };
  });
  return { head, vectors };
}

/** Return FNV-1a (64 bits) of the case, a blank, and the input as JSON without blanks. */
function vectorId(name, input) {
  let code = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(`${name} ${JSON.stringify(input)}`)) {
    code = BigInt.asUintN(64, (code ^ BigInt(byte)) * 0x100000001b3n);
  }
  return code.toString(16).padStart(16, "0");
}

module.exports = { readCase, vectorId };

if (require.main === module) {
  for (const file of process.argv.slice(2)) {
    for (const { id, input, rule, expected } of readCase(file).vectors) {
      console.log([id, JSON.stringify(input), rule, JSON.stringify(expected)].join("\t"));
    }
  }
}
