import { writeFileSync } from 'node:fs';
import { SCHEMA_FILES, schemaText } from './schemas.ts';

/** `npm run schemas`: writes the JSON Schemas of `docs/schemas` from the schemas that validate. */
for (const [name, file] of SCHEMA_FILES) {
  writeFileSync(new URL(`../../${file}`, import.meta.url), schemaText(name));
  console.log(file);
}
