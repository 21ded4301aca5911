// Validates SARIF logs (one JSON file per argument) against the schema of the standard, the first argument.
// Prints one line per log: "valid", or what is wrong.
import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import formats from "ajv-formats";

const [schema, ...logs] = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, "utf8")));
const ajv = new Ajv({ allErrors: true, strict: false, unicodeRegExp: false }); // the schema has a pattern that is none under /u
formats.default(ajv);
const validate = ajv.compile(schema);
for (const log of logs) {
  console.log(validate(log) ? "valid" : ajv.errorsText(validate.errors));
}
