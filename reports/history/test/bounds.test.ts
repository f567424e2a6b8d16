/** Files of a run that no run writes. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { mkdir, open, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import limits from '../../contract/limits.json' with { type: 'json' };
import type { Run, Summary } from '../../contract/run.ts';
import { golden } from '../../test/goldens.ts';
import { Catalogue } from '../catalogue.ts';
import { Followed } from '../follow.ts';
import { summarize } from '../summary.ts';
import { Seconds } from '../timeline.ts';
import { temporaryRuns, writeRun } from './runs.ts';

async function runs(t: TestContext): Promise<string> {
  const root = await temporaryRuns();
  t.after(() => rm(root, { recursive: true }));
  return root;
}

/** A run with a summary as k6 writes it. */
async function summarized(root: string, name: string, change = (_: Run) => {}): Promise<string> {
  const run = golden('passing');
  change(run);
  const directory = await writeRun(root, name, run);
  const { size } = await stat(join(directory, 'run.json'));
  const summary = { ...((await summarize(directory)) as Summary), run_bytes: size };
  await writeFile(join(directory, 'summary.json'), JSON.stringify(summary));
  return directory;
}

async function listed(root: string) {
  const { entries, misfits } = await new Catalogue(root).list();
  return { names: entries.map(({ directory }) => directory).sort(), entries, misfits };
}

test('a run is listed by its summary alone', async (t) => {
  const root = await runs(t);
  const directory = await summarized(root, 'one');
  const { size } = await stat(join(directory, 'run.json'));
  await writeFile(join(directory, 'run.json'), 'x'.repeat(size)); // nobody looks into it
  assert.deepEqual((await listed(root)).names, ['one']);
});

test('a summary that is none, or of another run.json, does not count', async (t) => {
  const root = await runs(t);
  const damages: Record<string, (path: string) => Promise<unknown>> = {
    broken: (path) => writeFile(path, '{"schema":'),
    foreign: async (path) =>
      writeFile(path, (await readFile(path, 'utf8')).replace('summary/1', 'summary/2')),
    large: async (path) => writeFile(path, (await readFile(path, 'utf8')).padEnd(limits.summary_bytes + 1)),
    linked: async (path) => {
      await rm(path);
      await symlink('run.json', path);
    },
    piped: async (path) => {
      await rm(path);
      execFileSync('mkfifo', [path]);
    },
    // Something else has written run.json since: another verdict.
    outdated: async (path) => {
      const run = golden('passing');
      run.verdict.result = 'fail';
      run.run.name = 'a longer name than before';
      await writeFile(join(path, '../run.json'), JSON.stringify(run));
    },
  };
  for (const [name, damage] of Object.entries(damages))
    await damage(join(await summarized(root, name), 'summary.json'));
  const { names, entries, misfits } = await listed(root);
  assert.deepEqual(names, Object.keys(damages).sort());
  assert.deepEqual(misfits, []);
  assert.deepEqual(
    entries.filter(({ verdict }) => verdict === 'fail').map(({ directory }) => directory),
    ['outdated'],
  );
});

// Regression: facts came from the last 16 KB of run.json, and were empty where something else was there.
test('the facts of a run do not depend on where they stand in run.json', async (t) => {
  const root = await runs(t);
  const run = golden('real');
  run.environment.arrival = '0.2.0';
  const { environment, ...rest } = run;
  const texts = {
    last: JSON.stringify(run),
    first: JSON.stringify({ environment, ...rest }),
    long: JSON.stringify({ ...run, environment: { ...environment, note: 'x'.repeat(100_000) } }),
    jq: JSON.stringify(run, null, 2),
  };
  for (const [name, text] of Object.entries(texts)) {
    await mkdir(join(root, name));
    await writeFile(join(root, name, 'run.json'), text);
  }
  const { entries, names } = await listed(root);
  assert.deepEqual(names, ['first', 'jq', 'last', 'long']);
  for (const { facts, directory } of entries) {
    assert.equal(facts.arrival, '0.2.0', directory);
    assert.deepEqual(facts, entries[0]?.facts, directory);
  }
});

test('a run.json that no run writes is named, and the others are listed', async (t) => {
  const root = await runs(t);
  await summarized(root, 'whole');
  const passing = JSON.stringify(golden('passing'));
  const texts: Record<string, [string, RegExp]> = {
    deep: ['['.repeat(1e6) + ']'.repeat(1e6), /not an object/],
    'deep inside': [
      passing.replace('"labels":{', `"labels":{"x":${'['.repeat(1e5)}${']'.repeat(1e5)}`),
      /labels/,
    ],
    infinite: [passing.replace(/"lost":\d+/, '"lost":1e999'), /account\.lost/],
    'not a number': [passing.replace(/"lost":\d+/, '"lost":NaN'), /not JSON/],
    null: ['null', /not an object/],
    empty: ['', /not JSON/],
    many: [','.repeat(limits.member_bytes + 1), /more than 1048576 bytes where a name should be/],
    wide: [passing.replace('"labels":{', `"labels":{"x":"${'x'.repeat(limits.member_bytes)}",`), /of "run"/],
    cut: [passing.slice(0, -1), /ends too early/],
    'two objects': [passing + passing, /not an object/],
    'two accounts': [passing.replace('"account":', '"account":{},"account":'), /"account" twice/],
    'an escaped name': [passing.replace('"account":', '"account":{},"acc\\u006funt":'), /"account" twice/],
    'byte order mark': [`\ufeff${passing}`, /not an object/],
    nul: [`${passing}\0`, /not an object/],
    'names alone': ['{"schema"}', /no name/],
    'wrong brackets': ['{"schema":"arrival/run/1"]', /bracket/],
    phases: [passing.replace('"phases":[', `"phases":[${'{},'.repeat(2e5)}`), /phases\[0\]/],
  };
  for (const [name, [text]] of Object.entries(texts)) {
    await mkdir(join(root, name));
    await writeFile(join(root, name, 'run.json'), text);
  }
  await mkdir(join(root, 'UTF-16'));
  await writeFile(join(root, 'UTF-16/run.json'), Buffer.from(passing, 'utf16le'));
  await mkdir(join(root, 'long'));
  await writeFile(join(root, 'long/run.json'), '{');
  await truncate(join(root, 'long/run.json'), limits.file_bytes + 1);
  const { names, misfits } = await listed(root);
  assert.deepEqual(names, ['whole']);
  const others = { long: ['', /bytes or more; up to/], 'UTF-16': ['', /not JSON|not an object/] } as const;
  for (const [name, [, fault]] of Object.entries({ ...texts, ...others }))
    assert.match(misfits.find(({ directory }) => directory === name)?.error ?? '', fault, name);
});

// Regression: all of a run.json was parsed for a line of the list. 44 MB took 9 s and 1.7 GB.
test('what the list does not show of a run.json is not parsed', async (t) => {
  const root = await runs(t);
  const { account, ...rest } = golden('passing');
  await mkdir(join(root, 'many'));
  const many = '{},'.repeat(limits.json_values + 1);
  const head = JSON.stringify({ text: '"}],\\', ...rest }).slice(0, -1);
  const text = `${head},\r\n"more": [${many}0], "account": ${JSON.stringify(account, null, 2)}\r\n}\n`;
  await writeFile(join(root, 'many/run.json'), text);
  const { entries, misfits } = await listed(root);
  assert.deepEqual(misfits, []);
  assert.equal(entries[0]?.account.scheduled, account.scheduled);
});

test('a large run.json without a summary is listed', async (t) => {
  const root = await runs(t);
  const run = golden('passing');
  run.timeline = Array.from(
    { length: 9000 },
    (_, t) => ({ ...run.timeline[20], t }) as Run['timeline'][number],
  );
  const directory = await writeRun(root, 'long', run);
  assert.ok((await stat(join(directory, 'run.json'))).size > 4e6);
  const patient = new Catalogue(root);
  const impatient = new Catalogue(root, 0);
  assert.match((await impatient.list()).misfits[0]?.error ?? '', /still being read/);
  assert.equal((await patient.list()).entries[0]?.arrival?.p99, run.latency.arrival.p99);
  while ((await impatient.list()).entries.length === 0) await new Promise(setImmediate);
});

test('something that is not a plain file is not a run', async (t) => {
  const root = await runs(t);
  const make: Record<string, (path: string) => unknown> = {
    directory: (path) => mkdir(path),
    pipe: (path) => execFileSync('mkfifo', [path]),
    loop: (path) => symlink('run.json', path),
    device: (path) => symlink('/dev/zero', path),
    socket: (path) => {
      const server = createServer();
      t.after(() => server.close());
      return new Promise<void>((resolve) => server.listen(path, resolve));
    },
  };
  for (const [name, place] of Object.entries(make)) {
    await mkdir(join(root, name));
    await place(join(root, name, 'run.json'));
  }
  assert.deepEqual(await listed(root), { names: [], entries: [], misfits: [] });
});

test('of more directories than a list looks into, it takes the newest, and says so', async (t) => {
  const root = await runs(t);
  await summarized(root, 'ramp-2026-11-25T10-00-00');
  for (let i = 0; i < 10_000; i++) mkdirSync(join(root, i % 2 ? `a${i}` : `smoke-2026-11-24T10-00-00-${i}`));
  const { names, misfits } = await listed(root);
  assert.deepEqual(names, ['ramp-2026-11-25T10-00-00']);
  assert.match(misfits[0]?.error ?? '', /^1 more directories are not looked into/);
});

test('a run is found by its name alone', async (t) => {
  const root = await runs(t);
  await summarized(root, 'one');
  await symlink('one', join(root, 'link'));
  const catalogue = new Catalogue(root);
  assert.equal((await catalogue.find('one'))?.directory, 'one');
  for (const name of [
    '',
    '.',
    '..',
    'two',
    'link',
    'one/',
    'one/..',
    'one/generator-1',
    '../one',
    'one/x/y',
    '\0',
  ])
    assert.equal(await catalogue.find(name), null, name);
});

// Regression: a line of 200 MB was copied once for each of its pieces, which took 149 s.
test('a line that is longer than any second is left out, and kept nowhere', async (t) => {
  const root = await runs(t);
  const path = join(root, 'timeline.ndjson');
  const row = JSON.stringify(golden('passing').timeline[20]);
  const long = limits.timeline_line_bytes * 9;
  await writeFile(path, `${row}\n${'x'.repeat(long)}\n${row}\n${row.slice(0, 20)}`);
  let copied = 0;
  const concat = Buffer.concat;
  t.mock.method(Buffer, 'concat', (list: Uint8Array[]) => {
    copied += list.reduce((sum, { length }) => sum + length, 0);
    return concat(list);
  });
  const file = await open(path);
  try {
    const seconds = new Seconds(file);
    const found = [];
    for (let more = await seconds.read(); more !== null; more = await seconds.read()) found.push(...more);
    assert.equal(found.length, 2);
    assert.ok(copied < limits.timeline_line_bytes, `${copied} bytes`);
  } finally {
    await file.close();
  }
});

// Regression: each of 500 followers read the timeline, and asked for the end, for itself.
test('a timeline is read once for all who follow it', async (t) => {
  const root = await runs(t);
  const path = join(root, 'timeline.ndjson');
  const { timeline } = golden('passing');
  await writeFile(path, timeline.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const asked = { open: 0, ended: 0, read: 0 };
  let over = false;
  const source = {
    plan: { planned: 50, limit: 250 },
    open: async () => {
      asked.open++;
      const file = await open(path);
      const read = file.read.bind(file) as (...args: unknown[]) => unknown;
      Object.assign(file, {
        read: (...args: unknown[]) => {
          asked.read++;
          return read(...args);
        },
      });
      return file;
    },
    ended: async () => {
      asked.ended++;
      return over ? { verdict: 'pass' as const, reason: '' } : null;
    },
  };
  const followed = new Followed();
  const gone = new AbortController();
  const all = await Promise.all(
    Array.from({ length: 500 }, () => followed.follow('run', source, gone.signal)),
  );
  const told = all.map(async (events) => {
    let text = '';
    for await (const event of events ?? []) {
      text += event;
      over ||= event.startsWith('event: seconds');
    }
    return text;
  });
  const texts = new Set(await Promise.all(told));
  assert.equal(texts.size, 1, 'all are told the same');
  const [text = ''] = texts;
  assert.equal(text.match(/"t":/g)?.length, timeline.length);
  assert.match(text, /event: end\ndata: \{"verdict":"pass","reason":""\}\n\n$/);
  assert.ok(asked.ended <= 3 && asked.read <= 8, JSON.stringify(asked));

  // Who comes later gets it anew, and the last to leave closes the file.
  over = false;
  const later = new AbortController();
  const events = await followed.follow('run', source, later.signal);
  const first = await events?.next();
  assert.match(first?.value ?? '', /event: plan/);
  later.abort();
  for await (const _ of events ?? []) assert.fail('it has left');
});
