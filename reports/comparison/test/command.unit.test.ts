/** Comparisons and checks of runs by the command. */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { main } from '../../main.ts';
import { dataOf } from '../../render.ts';
import { ran } from '../../test/command.ts';
import { golden } from '../../test/goldens.ts';
import { comparisonPage, text, texts } from '../../test/rendering.ts';
import { template } from '../../test/template.ts';
import type { Comparison } from '../comparison.ts';
import { readRecording } from '../recording.ts';
import { parseHistograms } from '../seconds.ts';
import { histogramLog, writePair } from './pair.ts';

const report = (...args: string[]) => ran(main, ...args);
let directory: string;
let page: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'arrival-compare-'));
  page = await template('comparison');
  await writePair(directory);
});
after(() => rm(directory, { recursive: true }));

test('compare prints a table, writes a page, and exits 1 when a condition holds', async () => {
  const out = join(directory, 'out/index.html');
  const runs = [join(directory, 'a'), join(directory, 'b'), '--out', out];
  const { code, stdout, stderr } = await report(
    'compare',
    ...runs,
    '--fail-if',
    'arrival.p99 > +10%',
    '--fail-if',
    'account.lost > 0',
  );
  assert.deepEqual({ code, stderr }, { code: 1, stderr: '' });
  assert.match(stdout, /^arrival p99 .* ×1\.20 /m);
  assert.match(stdout, /^fail-if {5}exceeded +B: arrival\.p99 changed by \+20 %, .* \(fails if > \+10%\)$/m);
  assert.match(stdout, /^fail-if {5}ok +B: account\.lost is 0 \(fails if > 0\)$/m);
  assert.equal((await readFile(out, 'utf8')).length > page.length, true);
  assert.equal((await report('compare', ...runs, '--fail-if', 'arrival.p99 > +30%')).code, 0);
});

test('--json and --markdown write the comparison with its conditions', async () => {
  const [json, markdown, out] = ['out/c.json', 'out/c.md', 'out/p.html'].map((name) => join(directory, name));
  const { code, stderr } = await report(
    ...['compare', join(directory, 'a'), join(directory, 'b'), '--out', out as string],
    ...['--json', json as string, '--markdown', markdown as string, '--fail-if', 'arrival.p99 > +10%'],
  );
  assert.deepEqual({ code, stderr }, { code: 1, stderr: '' });
  const read = JSON.parse(await readFile(json as string, 'utf8'));
  assert.equal(read.schema, 'arrival/comparison/2');
  const row = read.rows.find(({ name }: { name: string }) => name === 'arrival.p99');
  assert.ok(Math.abs(row.differences[1].relative - 0.2) < 0.001);
  const share = read.rows.find(({ name }: { name: string }) => name === 'arrival.within(250ms)');
  assert.deepEqual([share.kind, share.values], ['share', [0.9999, 0.995]]);
  assert.match(read.conditions[0].detail, /^\+20 %/);
  assert.deepEqual(
    { ...read.conditions[0], detail: '' },
    { condition: 'arrival.p99 > +10%', subject: 'B', result: 'exceeded', detail: '' },
  );
  const text = await readFile(markdown as string, 'utf8');
  const [gate, answer] = text.split('\n').filter((line) => line !== '');
  assert.match(gate ?? '', /exceeded.*arrival\.p99 .*\+20 %/, 'the gate comes first');
  assert.match(answer ?? '', /B \(.* is slower: .*p99 [\d.]+ → [\d.]+ ms, ×1\.20/, 'the answer comes second');
  assert.match(text, /^\| arrival p99 \| [\d.]+ \| [\d.]+ \| \+0\.878 \| ×1\.20 \| .* \| worse \| {2}\|$/m);
  assert.match(text, /^\| arrival within 250 ms \| 99\.99 % \| 99\.5 % \| {2}\| ×0\.9951 \|/m);
  assert.match(text, /^\| arrival\.p99 \\> \+10% \| B \| \*\*exceeded\*\* \| \+20/m);
  assert.match(text, /^- accounts: [\d,]+ scheduled = /m);
});

test('compare refuses failed messages without --allow-failed, and no gate passes them', async () => {
  const refusing = join(directory, 'refusing');
  await mkdir(refusing);
  await writeFile(join(refusing, 'run.json'), JSON.stringify(golden('refusing')));
  const [a, out, json] = ['a', 'out/failed.html', 'out/failed.json'].map((name) => join(directory, name)) as [
    ...[string, string, string],
  ];
  const refused = await report('compare', a, refusing, '--out', out);
  assert.equal(refused.code, 2);
  assert.match(
    refused.stderr,
    /^report: [^\n]*78,751 rejected \+ 10,549 arrived[^\n]*--allow-failed[^\n]*\n$/,
  );
  assert.equal(refused.stdout, '');
  const args = ['compare', a, refusing, '--allow-failed', '--out', out, '--json', json];
  const allowed = await report(...args);
  assert.deepEqual([allowed.code, allowed.stderr], [0, '']);
  assert.match(allowed.stdout, /^account B .* = 78,751 rejected \+ /m);
  assert.doesNotMatch(allowed.stdout, /better(?! run)|worse/);
  const { subjects } = JSON.parse(await readFile(json, 'utf8'));
  assert.deepEqual([subjects[0].failed, subjects[1].failed], [null, '78,751 rejected']);
  const shown = comparisonPage(dataOf(await readFile(out, 'utf8')) as Comparison);
  assert.deepEqual(texts(shown, 'h2').slice(0, 2), ['Accounts', 'Differences']);
  assert.match(text(shown, 'header'), /78,751 rejected/);
  const gate = ['--fail-if', 'arrival.p99 > 1000ms'];
  const judged = await report(...args, ...gate);
  assert.equal(judged.code, 1);
  assert.match(judged.stdout, /^fail-if {5}messages failed +B: .*; but 78,751 rejected \(fails if .*\)$/m);
});

// Regression: two runs, one of them listed twice, had the intervals of three.
test('a run is compared once', async () => {
  const [a, b, copy] = ['a', 'b', 'copy'].map((name) => join(directory, name)) as [string, string, string];
  await cp(a, copy, { recursive: true });
  const twice = await report('compare', a, b, a);
  assert.deepEqual(twice, { code: 2, stdout: '', stderr: `report: ${a} is listed twice\n` });
  const copied = await report('compare', a, b, copy);
  assert.equal(copied.code, 2);
  assert.match(copied.stderr, /^report: \S+a and \S+copy are the same run, paira\n$/);
});

test('a damaged histogram log is reported in one line with exit code 1', async () => {
  const damaged = join(directory, 'damaged');
  await cp(join(directory, 'a'), damaged, { recursive: true });
  await writeFile(join(damaged, 'arrival.hlog'), '#[BaseTime: 1 (x)]\nTag=arrival,0.0,1.0,1.0,HISTxxxx\n');
  const { code, stderr } = await report('compare', join(directory, 'a'), damaged);
  assert.equal(code, 1);
  assert.match(stderr, /^report: .*arrival\.hlog is not a histogram log: [^\n]+\n$/);
});

test('histograms are read per second, without a partial last line; a missing log has none', async () => {
  const text = histogramLog([1, 2.5, null, 4]);
  const arrival = parseHistograms(text).get('arrival');
  assert.deepEqual(
    [...(arrival ?? [])].map(([t, { values, counts }]) => [t, values[0], counts[0]]),
    [
      [0, 1, 1],
      [1, 2.5, 1],
      [3, 4, 1],
    ],
  );
  assert.equal(parseHistograms(text.slice(0, -20)).get('arrival')?.size, 2);
  const bare = join(directory, 'bare');
  await mkdir(bare);
  await cp(join(directory, 'a/run.json'), join(bare, 'run.json'));
  assert.equal((await readRecording(bare)).histograms.get('arrival')?.size, 0);
});
