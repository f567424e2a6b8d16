import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob, relative } from 'node:path';
import { test } from 'node:test';
import { asked, programs } from './image.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const DOCKERFILES = ['k6.Dockerfile', 'pipeline/pipeline.Dockerfile'];

/** Instructions without comments, each on one line. */
const instructions = (text: string) =>
  text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line !== '');

const npmPackages = JSON.parse(read('package.json')) as {
  dependencies: Record<string, string>;
};

/** `dev`: `npm ci --omit=dev` leaves it out. */
const locked = JSON.parse(read('package-lock.json')) as { packages: Record<string, { dev?: boolean }> };

for (const file of DOCKERFILES) {
  test(`${file}: each stage begins with an earlier stage or a pinned image`, () => {
    const lines = instructions(read(file));
    const found = (pattern: RegExp) => lines.flatMap((line) => pattern.exec(line)?.[1] ?? []);
    const stages = found(/^FROM \S+ AS (\S+)$/);
    for (const from of found(/^FROM (\S+)/)) {
      const argument = /^\$\{(\w+)\}$/.exec(from)?.[1];
      const pinned = lines.some((line) => new RegExp(`^ARG ${argument}=\\S+:\\d`).test(line));
      assert.ok(from === 'scratch' || stages.includes(from) || pinned, from);
    }
    for (const node of found(/^ARG NODE=node:(\d+)-/))
      assert.equal(node, npmPackages.dependencies.node?.split('.')[0]);
    for (const go of found(/^ARG GO=golang:([\d.]+)-/))
      assert.match(read('extensions/k6/go.mod'), new RegExp(`^go ${go.replace('.', '\\.')}\\.`, 'm'));
  });

  // Regression: .dockerignore lacked labels.js, so the image could not be built.
  test(`${file}: copied files exist and are not ignored`, () => {
    const copies = instructions(read(file)).filter((line) => /^COPY (?!--from)/.test(line));
    assert.ok(copies.length > 0);
    for (const source of copies.flatMap((line) => line.split(' ').slice(1, -1))) {
      assert.ok(globSync(source, { cwd: ROOT }).length > 0, source);
      assert.ok(isKept(source, file), `${source} is ignored`);
    }
  });
}

// Regression: `npm prune` asks the registry too, so behind a mirror the image of the history server could not be built.
test('each step that runs npm sees the registry and the authorities of a mirror', () => {
  const steps = DOCKERFILES.flatMap((file) => instructions(read(file))).filter((line) =>
    /^RUN .*\bnpm /.test(line),
  );
  assert.ok(steps.length >= 3);
  for (const step of steps)
    for (const secret of ['npmrc', 'authorities']) assert.match(step, new RegExp(`id=${secret},`), step);
});

// Regression: labels.js was missing, so each script failed in its first line.
test('the image of k6 has every file that its scripts import', () => {
  const [stage = ''] = /^FROM \S+ AS plain$.*?(?=^FROM )/ms.exec(read('k6.Dockerfile')) ?? [];
  const copied = instructions(stage).flatMap((line) =>
    /^COPY (?!--from)/.test(line) ? line.split(' ').slice(1, -1) : [],
  );
  const scripts = globSync('scenarios/*.{js,ts}', { cwd: ROOT });
  assert.ok(scripts.length > 10);
  const seen = new Set(scripts);
  for (const path of seen) {
    const held = copied.some((source) => covers(source, path));
    assert.ok(held, `${path} is not copied`);
    for (const [, name = ''] of read(path).matchAll(/^(?:import (?!type)|export |\}).*?from '(\.[^']+)'/gm))
      seen.add(join(dirname(path), name));
  }
});

const mains: [dockerfile: string, folders: RegExp, programs: string[]][] = [
  [
    'pipeline/pipeline.Dockerfile',
    /^pipeline\//,
    ['ingest/server.ts', 'relay/main.ts', 'deploy/prepare.ts'].map((name) => `pipeline/${name}`),
  ],
  [
    'k6.Dockerfile',
    /^((pipeline|reports|scenarios)\/|package\.json$)/,
    ['pipeline/deploy/image.ts', ...commandPrograms()],
  ],
];

/** The programs of the image's commands in Node, from the repository's root. */
function commandPrograms(): string[] {
  const inNode = programs().filter(([program]) => program === process.execPath);
  const files = inNode.map(([, file = '']) => relative(ROOT, file));
  assert.ok(files.includes('scenarios/run/run.ts'), files.join());
  return [...new Set(files)];
}

for (const [dockerfile, folders, all] of mains)
  test(`${dockerfile}: the image has every file and package that its programs import`, () =>
    holdsAll(dockerfile, folders, all));

function holdsAll(dockerfile: string, folders: RegExp, mains: readonly string[]): void {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const follow = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const [, kind, name = ''] of read(path).matchAll(
      /^(import type|import|export|\} ).*?from '([^']+)'/gm,
    )) {
      if (kind === 'import type') continue;
      if (name.startsWith('.')) follow(relative(ROOT, join(ROOT, dirname(path), name)));
      else if (!name.startsWith('node:'))
        packages.add(name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
    }
  };
  for (const program of mains) follow(program);
  assert.ok(seen.size > 20, [...seen].join());
  for (const path of seen) {
    assert.ok(folders.test(path) && existsSync(join(ROOT, path)), path);
    assert.ok(isKept(path, dockerfile), `${path} is ignored`);
  }
  for (const name of packages) {
    const installed = locked.packages[`node_modules/${name}`];
    assert.ok(installed && !installed.dev, `${name} is for development`);
  }
}

/** Whether a build from the Dockerfile sees a file or folder of the repository. */
function isKept(path: string, dockerfile: string): boolean {
  const own = `${dockerfile}.dockerignore`;
  const rules = read(existsSync(join(ROOT, own)) ? own : '.dockerignore').split('\n');
  const last = rules.findLast((rule) => !/^(#|\*?$)/.test(rule) && covers(rule, path));
  return last?.startsWith('!') ?? false;
}

/** Whether a rule of .dockerignore matches a file or one of its folders. */
function covers(rule: string, path: string): boolean {
  const pattern = rule.replace(/^!/, '');
  return matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`);
}

const writable = () => true;

test('image: a command is its npm script without the set-up, whatever the working directory', () => {
  const script = join(ROOT, 'scenarios/ramp.js');
  const run = join(ROOT, 'scenarios/run/run.ts');
  assert.deepEqual(asked(['ramp', '-e', 'RATE=5'], writable), [
    process.execPath,
    run,
    script,
    '-e',
    'RATE=5',
  ]);
  assert.deepEqual(asked(['compare', 'a', 'b'], writable)?.slice(1), [
    join(ROOT, 'reports/main.ts'),
    ...['compare', 'a', 'b'],
  ]);
  assert.deepEqual(asked(['k6', 'x', 'arrival'], writable), [join(ROOT, 'k6'), 'x', 'arrival']);
  assert.deepEqual(asked(['try', 'my.yml'], writable), [join(ROOT, 'k6'), 'x', 'arrival', 'try', 'my.yml']);
  const example = 'scenarios/own.js';
  assert.equal(
    asked(['scenario', example], writable)?.at(-1),
    example,
    'there is one in the working directory',
  );
  for (const help of [[], ['--help'], ['help']]) assert.equal(asked(help, writable), undefined);
});

test('image: an unknown command, and a folder in which no report would stay, are refused in one line', () => {
  assert.throws(
    () => asked(['rampe'], writable),
    /^Error: rampe is not a command; allowed: try, smoke, .*k6$/,
  );
  const not = () => false;
  assert.throws(() => asked(['ramp'], not), /cannot be written to .*; allowed: --user .*-v "\$PWD:\/data"/);
  assert.ok(asked(['ramp', '--help'], not) && asked(['check', 'a'], not) && asked(['reports'], not));
});
