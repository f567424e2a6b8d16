/** The runs in a directory. Only the beginning of each run.json is read, and that only once as long as it does not change. */
import { createHash } from 'node:crypto';
import { type FileHandle, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { load, NO_SETTINGS } from '../comparison/subjects.ts';
import type { Account, Answer, Latency, Run, RunInfo } from '../contract/run.ts';
import { type PartName, validatePart } from '../contract/validate.ts';
import { OF_GENERATOR, openFile } from '../files.ts';
import { supports, verdict } from '../page/facts.ts';
import { figure, plural } from '../page/format.ts';
import type { Entry, Misfit } from './entry.ts';
import { members } from './members.ts';

/** run, verdict, account, clock, health and the beginning of latency fit in here, up to dozens of processes. */
const HEAD_BYTES = 65_536;
/** A run whose figures are not in the head is read up to here. */
const MOST_BYTES = 1_048_576;
/** The environment fits in here. */
const TAIL_BYTES = 16_384;
/** A run writes a line a second: one that has written none for this long, ms, is not in progress. */
const SILENCE = 10_000;
const AT_ONCE = 16;
/** In characters; the report has all of it. */
const LONGEST_REASON = 300;

interface Known {
  stamp: string;
  entry: Omit<Entry, 'live'> | Misfit;
}

export class Catalogue {
  readonly root: string;
  #known = new Map<string, Known>();

  /** @param root the directory of the runs */
  constructor(root: string) {
    this.root = root;
  }

  /** Newest first. A directory without a run.json is no run, but each of the instances' runs that it holds is one. */
  async list(): Promise<{ entries: Entry[]; misfits: Misfit[] }> {
    const names = await directoriesIn(this.root);
    const entries: Entry[] = [];
    const misfits: Misfit[] = [];
    for (let i = 0; i < names.length; i += AT_ONCE) {
      const found = await Promise.all(names.slice(i, i + AT_ONCE).map((name) => this.#runsOf(name)));
      for (const one of found.flat()) {
        if ('error' in one) misfits.push(one);
        else entries.push(one);
      }
    }
    const listed = new Set([...entries, ...misfits].map(({ directory }) => directory));
    for (const directory of this.#known.keys()) if (!listed.has(directory)) this.#known.delete(directory);
    entries.sort((a, b) => compare(b.started, a.started) || compare(b.directory, a.directory));
    return { entries, misfits };
  }

  /**
   * @param directory `<run>`, or `<run>/generator-<number>`
   * @returns null if there is no such run
   */
  async find(directory: string): Promise<Entry | null> {
    const [name = ''] = directory.split('/');
    if (!(await directoriesIn(this.root)).includes(name)) return null;
    if (directory !== name && !(await this.#parts(name)).includes(directory)) return null;
    const found = await this.#look(directory);
    return found === null || 'error' in found ? null : found;
  }

  /** The run in a directory, or what its instances have left until that is merged. */
  async #runsOf(name: string): Promise<(Entry | Misfit)[]> {
    const whole = await this.#look(name);
    if (whole !== null) return [whole];
    const parts = await Promise.all((await this.#parts(name)).map((part) => this.#look(part)));
    return parts.filter((part) => part !== null);
  }

  /** The directories of a run's instances. */
  async #parts(name: string): Promise<string[]> {
    const inside = await directoriesIn(join(this.root, name));
    return inside.filter((one) => OF_GENERATOR.test(one)).map((one) => `${name}/${one}`);
  }

  async #look(directory: string): Promise<Entry | Misfit | null> {
    const file = await openFile(join(this.root, directory), 'run.json');
    if (file === null) return null;
    try {
      const info = await file.stat();
      const stamp = `${info.mtimeMs} ${info.size} ${info.ino}`;
      let known = this.#known.get(directory);
      if (known?.stamp !== stamp) {
        known = { stamp, entry: await readEntry(file, directory, info.size) };
        this.#known.set(directory, known);
      }
      const { entry } = known;
      if ('error' in entry) return entry;
      return { ...entry, live: entry.ended === null && (await this.#grows(directory)) };
    } finally {
      await file.close();
    }
  }

  async #grows(directory: string): Promise<boolean> {
    const info = await lstat(join(this.root, directory, 'timeline.ndjson')).catch(() => null);
    return info?.isFile() === true && Date.now() - info.mtimeMs < SILENCE;
  }
}

/** Real ones: a link may lead anywhere. */
async function directoriesIn(directory: string): Promise<string[]> {
  const all = await readdir(directory, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'EACCES'].includes(error.code ?? '')) return [];
    throw error;
  });
  return all.filter((one) => one.isDirectory()).map(({ name }) => name);
}

async function readEntry(
  file: FileHandle,
  directory: string,
  size: number,
): Promise<Omit<Entry, 'live'> | Misfit> {
  for (const bytes of [HEAD_BYTES, MOST_BYTES]) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
    try {
      const entry = entryOf(buffer.toString('utf8', 0, bytesRead), directory);
      if (entry !== null) {
        const { pipeline, git, ci, arrival } = await environmentOf(file, size);
        const told = Object.entries(pipeline).filter(([name]) => !NO_SETTINGS.includes(name));
        const commit = git.commit?.slice(0, 8);
        const known = [
          pipeline.queue,
          pipeline.relay_mode,
          git.branch,
          commit,
          git.dirty === true && 'uncommitted changes',
        ].filter(Boolean);
        // What both the command and the pipeline say is said once.
        const own = Object.entries(entry.facts).filter(([name]) => !(name.toLowerCase() in pipeline));
        const facts = texts({ ...Object.fromEntries([...own, ...told]), arrival, commit });
        const conditions = [...entry.conditions, ...Object.values(texts(known))];
        return { ...entry, conditions, facts, job: jobOf(ci) };
      }
    } catch (error) {
      return { directory, error: `run.json: ${(error as Error).message.split('\n')[0]}` };
    }
    if (bytesRead < bytes) break;
  }
  return { directory, error: 'run.json has no run, verdict, account and latency in its first MB' };
}

interface Environment {
  pipeline: Record<string, unknown>;
  git: { branch?: string; commit?: string; dirty?: boolean };
  ci: { name?: string; job?: string | null; url?: string | null };
  arrival?: string;
}

/** The environment stands last in run.json. */
async function environmentOf(file: FileHandle, size: number): Promise<Environment> {
  const length = Math.min(size, TAIL_BYTES);
  const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
  const [, environment] = /.*"environment":(\{.*\})\s*\}\s*$/s.exec(buffer.toString()) ?? [];
  try {
    const { pipeline, git, ci, arrival } = JSON.parse(environment as string);
    return { pipeline: { ...pipeline }, git: { ...git }, ci: { ...ci }, arrival };
  } catch {
    return { pipeline: {}, git: {}, ci: {} };
  }
}

/** The CI job of a run. An address may be anything, like a script: only one of the web counts. */
function jobOf({ name: system, job, url }: Environment['ci']): Entry['job'] {
  const name = Object.values(texts([system, job])).join(': ');
  return name === '' ? null : { name, url: url?.match(/^https?:.*/)?.[0] ?? null };
}

/** What is known, as text. */
function texts(values: object): Record<string, string> {
  const known = Object.entries(values).filter(([, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value),
  );
  return Object.fromEntries(known.map(([name, value]) => [name, `${value}`]));
}

/** Settings that the load and the labels say, and ports, which explain no latency. */
const SAID = /^(RATE|LABELS|\w*DURATION|\w+_PORT)$/;
const SETTING = /(?<!\S)(?:-e ?)?(?:'([A-Z]\w*)=([^']*)'|([A-Z]\w*)=((?:'[^']*'|[^\s'])*))/g;

/** What a command sets: `P99=0.1 npm run ramp -- -e 'SALT=a b'`. */
function settingsOf({ command }: RunInfo): [name: string, value: string][] {
  return [...(command ?? '').matchAll(SETTING)].map(([, whole, text, name, value]) =>
    whole === undefined ? [name ?? '', (value ?? '').replaceAll("'", '')] : [whole, text ?? ''],
  );
}

/** @returns null if the text does not go far enough */
function entryOf(text: string, directory: string): Omit<Entry, 'live'> | null {
  const { complete, rest } = members(text);
  const schema = complete.get('schema');
  if (schema !== undefined && schema !== '"arrival/run/1"')
    throw new Error(`schema ${schema} is not arrival/run/1`);
  const [run, judged, answered, account] = ['run', 'verdict', 'answer', 'account'].map((name) =>
    complete.get(name),
  );
  const latencies = complete.get('latency') ?? (rest?.[0] === 'latency' ? rest[1] : undefined);
  const arrival = latencies === undefined ? undefined : members(latencies).complete.get('arrival');
  if (run === undefined || judged === undefined || account === undefined || arrival === undefined)
    return null;
  const info: RunInfo = part('run', run);
  const accounted: Account = part('account', account);
  const { scheduled, arrived, lost, balanced } = accounted;
  const { result, reasons } = verdict({ verdict: part('verdict', judged), account: accounted } as Run);
  const answer: Answer | null = answered === undefined ? null : part('answer', answered);
  const { count, p50, p99 }: Latency = part('latency', arrival);
  const { tool, method, topology, network, labels, generator } = info;
  const { phases } = info.profile;
  const rate = Math.max(0, ...phases.flatMap((one) => [one.arrival_rate ?? 0, one.ramp_to ?? 0]));
  const vus = Math.max(0, ...phases.map((one) => one.vus ?? 0));
  const settings = settingsOf(info).filter(([name]) => !SAID.test(name));
  return {
    directory,
    name: info.name,
    tool: tool.name,
    method,
    topology,
    network,
    profile: info.profile.name,
    labels,
    load: rate > 0 ? `${figure(rate)} requests/s` : vus > 0 ? plural(vus, 'VU') : '',
    conditions: settings.map(([name, value]) => `${name}=${value}`),
    like: createHash('sha256')
      .update(JSON.stringify([tool.name, method, topology, network, load({ run: info })]))
      .digest('base64url'),
    facts: { ...labels, ...Object.fromEntries(settings), ...texts({ [tool.name]: tool.version }) },
    planned: phases.some(({ requests }) => requests !== undefined)
      ? null
      : phases.reduce((sum, { duration_s }) => sum + duration_s, 0),
    started: info.started,
    ended: info.ended,
    verdict: result,
    reason: reasons[0]?.slice(0, LONGEST_REASON) ?? '',
    arrival: balanced && count > 0 ? { p50, p99: supports(count, 99) ? p99 : null } : null,
    limit: answer?.p99_limit_ms ?? null,
    account: { scheduled, arrived, lost },
    job: null,
    generator: generator ? { number: generator.number, of: generator.of } : null,
  };
}

/** @throws if it is not what the schema has by this name */
function part<T>(name: PartName, text: string): T {
  const data = JSON.parse(text);
  const [fault] = validatePart(name, data);
  if (fault !== undefined) throw new Error(`${name}: ${fault}`);
  return data;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
