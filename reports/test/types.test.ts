import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import schema from '../contract/run.schema.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '../..');

interface Schema {
  type?: string | string[];
  $ref?: string;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
}
const defs = schema.$defs as Record<string, Schema>;

/** How run.ts calls a part of the schema, where that is not the part's name. */
const NAMES: Record<string, string> = {
  run: 'Types.RunInfo',
  profile: "Types.RunInfo['profile']",
  threshold: "NonNullable<Types.Run['thresholds']>[number]",
  error: "Types.Run['errors'][number]",
};
const typeOf = (name: string) => NAMES[name] ?? `Types.${name[0]?.toUpperCase()}${name.slice(1)}`;

function resolved({ $ref, ...own }: Schema): Schema {
  return $ref === undefined ? own : resolved(defs[$ref.slice('#/$defs/'.length)] as Schema);
}

function maybeNull(one: Schema): boolean {
  const { type, anyOf = [] } = resolved(one);
  return [type].flat().includes('null') || anyOf.some(maybeNull);
}

/** The object that a part is, or is where it is not null. */
function objectOf(one: Schema): Schema | undefined {
  const { properties, anyOf = [], ...rest } = resolved(one);
  return properties ? { properties, ...rest } : anyOf.map(objectOf).find((found) => found !== undefined);
}

const union = (names: string[]) => names.map((name) => JSON.stringify(name)).join(' | ') || 'never';

test('run.ts has the fields of run.schema.json, and knows which may be absent or null', async (t) => {
  const objects = Object.entries({ ...defs, Run: schema as Schema }).flatMap(([name, part]) => {
    const { properties, required = [] } = objectOf(part) ?? {};
    return properties ? [{ type: typeOf(name), properties, required }] : [];
  });
  assert.ok(objects.length > 20);
  const checks = objects.flatMap(({ type, properties, required }) => {
    const names = Object.keys(properties);
    return [
      `same<Known<${type}>, ${union(names)}>(true);`,
      `same<Absent<${type}>, ${union(names.filter((name) => !required.includes(name)))}>(true);`,
      `same<Null<${type}>, ${union(names.filter((name) => maybeNull(properties[name] as Schema)))}>(true);`,
    ];
  });
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const text = `import type * as Types from ${JSON.stringify(join(ROOT, 'reports/contract/run.ts'))};
type Known<T> = keyof { [K in keyof T as string extends K ? never : K]: T[K] };
type Absent<T> = { [K in Known<T>]-?: object extends Pick<T, K> ? K : never }[Known<T>];
type Null<T> = { [K in Known<T>]-?: null extends T[K] ? K : never }[Known<T>];
declare function same<A, B>(yes: [A] extends [B] ? ([B] extends [A] ? true : never) : never): void;
${checks.join('\n')}
`;
  await writeFile(join(dir, 'check.ts'), text);
  await writeFile(
    join(dir, 'tsconfig.json'),
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { types: [] },
      files: ['check.ts'],
      include: [],
    }),
  );
  const { exitCode, stdout } = await execa('tsc', ['--noEmit', '-p', dir], {
    reject: false,
    preferLocal: true,
    localDir: ROOT,
  });
  assert.equal(exitCode, 0, `${stdout}\n${text}`);
});
