/** Run directories for tests. */
import { appendFile, mkdir, mkdtemp, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Run } from '../../contract/run.ts';
import { golden } from '../../test/goldens.ts';
import { wordy } from '../../test/odd.ts';

export function temporaryRuns(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'arrival-runs-'));
}

export async function writeRun(
  root: string,
  name: string,
  run: Run,
  page = '<link rel="icon" href="data:,"><p>report</p>',
): Promise<string> {
  const directory = join(root, name);
  await mkdir(directory);
  const timeline = run.timeline.map((second) => `${JSON.stringify(second)}\n`).join('');
  await Promise.all([
    writeFile(join(directory, 'run.json'), JSON.stringify(run)),
    writeFile(join(directory, 'timeline.ndjson'), timeline),
    writeFile(join(directory, 'index.html'), page),
  ]);
  return directory;
}

/** Appends to a run's timeline, and dates it an hour ahead: a slow machine must not end the run. */
export async function grow(directory: string, text: string): Promise<void> {
  const path = join(directory, 'timeline.ndjson');
  await appendFile(path, text);
  const later = new Date(Date.now() + 3_600_000);
  await utimes(path, later, later);
}

/** Writes runs an hour apart, each hundredth of another build. */
export async function writeMany(root: string, runs: number): Promise<void> {
  const model = { ...golden('incomplete'), steps: [], flows: [], resources: [] };
  model.timeline = model.timeline.slice(0, 12);
  for (let i = 0; i < runs; i += 50) {
    const some = Array.from({ length: Math.min(50, runs - i) }, (_, k) => labelled(model, i + k));
    await Promise.all(some.map((run) => writeRun(root, run.run.name, run)));
  }
}

function labelled(model: Run, i: number): Run {
  const run = { ...model, run: { ...model.run } };
  run.run.name = `run-${String(i).padStart(4, '0')}`;
  run.run.started = new Date(Date.UTC(2026, 0, 1) + i * 3_600_000).toISOString();
  run.run.ended = run.run.started;
  run.run.labels = { build: i % 100 === 0 ? 'round' : 'odd' };
  return run;
}

/** Writes two comparable runs, the second slower, and a run with another profile. */
export async function writeComparable(root: string, names: [string, string, string]): Promise<void> {
  const [first, second, third] = [golden('passing'), golden('passing'), golden('passing')];
  [first, second, third].forEach((run, i) => {
    run.run.name = names[i] as string;
    run.run.started = `2027-01-01T0${i}:00:00Z`;
  });
  second.latency.arrival.p99 = (second.latency.arrival.p99 ?? 0) * 1.5;
  third.run.profile.phases.pop();
  for (const run of [first, second, third]) await writeRun(root, run.run.name, run);
}

/** Writes three runs of one script, each with another verdict. */
export async function writeTrend(root: string): Promise<void> {
  for (const [i, verdict] of (['pass', 'fail', 'invalid'] as const).entries()) {
    const run = golden('passing');
    Object.assign(run.run, { name: `trend-${i}`, method: 'trending', started: `2027-02-01T0${i}:00:00Z` });
    const meaning = verdict === 'fail' ? 'p99 too high' : '';
    run.verdict = { ...run.verdict, result: verdict, meaning };
    await writeRun(root, run.run.name, run);
  }
}

/** Writes 30 runs of one script. From the 21st on, which has another build, they are slower; the eighth is far slower. */
export async function writeChanged(root: string): Promise<void> {
  for (let i = 0; i < 30; i++) {
    const run = golden('passing');
    Object.assign(run.run, {
      name: `turned-${String(i).padStart(2, '0')}`,
      method: 'turned',
      started: new Date(Date.UTC(2027, 2, 1, i)).toISOString(),
      labels: { build: i < 20 ? '17' : '18' },
    });
    const { arrival } = run.latency;
    arrival.p99 = i === 7 ? 900 : (i < 20 ? 5 : 8) * (1 + (i % 3) / 100);
    await writeRun(root, run.run.name, run);
  }
}

/** Writes two runs with long reasons. */
export async function writeWordy(root: string): Promise<void> {
  for (const name of ['wordy-1', 'wordy-2']) {
    const run = wordy();
    run.run.labels = { name };
    await writeRun(root, name, run);
  }
}

/** Writes two sweeps, the second a tenth slower. @returns the VUs of their knee */
export async function writeSweeps(root: string): Promise<number> {
  let knee = 0;
  for (const [i, factor] of [1, 1.1].entries()) {
    const run = golden('closed');
    run.run.name = `sweep-${i}`;
    run.run.labels = { queue: i === 0 ? 'stream' : 'list' };
    knee = run.knee?.vus ?? 0;
    for (const step of run.steps) step.latency.arrival.p50 = factor;
    await writeRun(root, run.run.name, run);
  }
  return knee;
}

/** A run in progress, whose first 20 seconds are written. */
export interface Live {
  run: Run;
  directory: string;
  /** Each second of the run, as a line of its timeline. */
  seconds: string[];
  /** Ends the run. */
  end: () => Promise<void>;
}

/** Writes a run in progress. @param page what its report will be, of the run at its end */
export async function writeLive(root: string, page?: (ended: Run) => string): Promise<Live> {
  const run = golden('passing');
  const seconds = run.timeline.map((second) => `${JSON.stringify(second)}\n`);
  const ended = run.run.ended;
  Object.assign(run.run, { name: 'live', ended: null, started: '2028-01-01T00:00:00Z' });
  run.timeline = run.timeline.slice(0, 20);
  const whole = { ...run, run: { ...run.run, ended } };
  const directory = await writeRun(root, 'live', run, page?.(whole));
  await grow(directory, '');
  const end = () => writeFile(join(directory, 'run.json'), JSON.stringify(whole));
  return { run, directory, seconds, end };
}
