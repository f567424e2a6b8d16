/** The runs in a directory. Each is read only once, as long as it does not change. */
import type { Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../../pipeline/shared/config.ts';
import { OF_GENERATOR } from '../files.ts';
import { LATEST, recover } from '../k6.ts';
import { entryOf } from './describe.ts';
import type { Entry, Misfit } from './entry.ts';
import { readSummary } from './summary.ts';
import { scriptOf } from './text.ts';

/** A run writes a line a second: one that has written none for this long, ms, is not in progress. */
const SILENCE = 10_000;
const AT_ONCE = 16;
/** A list looks into so many directories: each costs some reads of the disk, each time. */
const MOST_LISTED = 10_000;
/** The end of a run's name. */
const TIME = /\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d$/;
/** The name of a directory, as a path has it. */
const NAME = /^(?!\.{1,2}$)[^/\0]+$/;

interface Found {
  entries: Entry[];
  misfits: Misfit[];
}

interface Known {
  stamp: string;
  entry: Promise<Omit<Entry, 'live'> | Misfit>;
}

export class Catalogue {
  readonly root: string;
  #patience: number;
  #known = new Map<string, Known>();
  #listing: Promise<Found> | undefined;

  /**
   * @param root the directory of the runs
   * @param patience how long a list waits for large runs without a summary, ms
   */
  constructor(root: string, patience: number = Number.POSITIVE_INFINITY) {
    this.root = root;
    this.#patience = patience;
  }

  /**
   * Newest first. A directory without a run.json is not a run, but each of the instances' runs that it holds is one. Who asks while
   * somebody else is being answered gets the same.
   */
  list(): Promise<Found> {
    this.#listing ??= this.#list().finally(() => {
      this.#listing = undefined;
    });
    return this.#listing;
  }

  async #list(): Promise<Found> {
    const { names, more } = newest(await directoriesIn(this.root));
    const deadline = performance.now() + this.#patience;
    const entries: Entry[] = [];
    const misfits: Misfit[] = [];
    if (more > 0) {
      const error = `${more} more directories are not looked into: a list takes ${MOST_LISTED}, the newest by their names`;
      misfits.push({ directory: '…', error });
    }
    for (let i = 0; i < names.length; i += AT_ONCE) {
      const found = await Promise.all(
        names.slice(i, i + AT_ONCE).map((name) => this.#runsOf(name, deadline)),
      );
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
    const [name = '', part, ...more] = directory.split('/');
    if (!NAME.test(name) || (part !== undefined && !OF_GENERATOR.test(part)) || more.length > 0) return null;
    if (!(await isDirectory(join(this.root, name)))) return null;
    if (part !== undefined && !(await isDirectory(join(this.root, directory)))) return null;
    const found = await this.#look(directory, performance.now() + this.#patience);
    return found === null || 'error' in found ? null : found;
  }

  /** The run in a directory, or what its instances have left until that is merged. */
  async #runsOf(name: string, deadline: number): Promise<(Entry | Misfit)[]> {
    const whole = await this.#look(name, deadline);
    if (whole !== null) return [whole];
    const parts = await Promise.all((await this.#parts(name)).map((part) => this.#look(part, deadline)));
    return parts.filter((part) => part !== null);
  }

  /** The directories of a run's instances. */
  async #parts(name: string): Promise<string[]> {
    const inside = await directoriesIn(join(this.root, name));
    return inside.filter((one) => OF_GENERATOR.test(one)).map((one) => `${name}/${one}`);
  }

  async #look(directory: string, deadline: number): Promise<Entry | Misfit | null> {
    const path = join(this.root, directory);
    const [run, summary, latest] = await Promise.all([
      plainFile(path, 'run.json'),
      plainFile(path, 'summary.json'),
      plainFile(path, LATEST),
    ]);
    if (!run) return null;
    const grows = await this.#grows(directory);
    const killed = latest !== null && !grows;
    const stamp = [run, summary, killed ? latest : null]
      .map((one) => one && `${one.mtimeMs} ${one.size} ${one.ino}`)
      .join();
    let known = this.#known.get(directory);
    if (known?.stamp !== stamp) {
      known = { stamp, entry: this.#read(directory, killed) };
      this.#known.set(directory, known);
    }
    const reading = { directory, error: 'run.json is large, without a summary.json, and still being read' };
    const entry = await within(known.entry, deadline, reading);
    if ('error' in entry) return entry;
    return { ...entry, live: entry.ended === null && grows };
  }

  /** @param killed it has written more than its report holds */
  async #read(directory: string, killed: boolean): Promise<Omit<Entry, 'live'> | Misfit> {
    const path = join(this.root, directory);
    try {
      if (killed) await recover(path);
      const { size = 0 } = (await plainFile(path, 'run.json')) ?? {};
      return entryOf(await readSummary(path, size), directory);
    } catch (error) {
      return { directory, error: (error as Error).message.split('\n')[0] as string };
    }
  }

  async #grows(directory: string): Promise<boolean> {
    const info = await plainFile(join(this.root, directory), 'timeline.ndjson');
    return info !== null && Date.now() - info.mtimeMs < SILENCE;
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

/** The newest by the time at the end of their names; those without one count as the oldest. */
function newest(all: string[]): { names: string[]; more: number } {
  if (all.length <= MOST_LISTED) return { names: all, more: 0 };
  const timed = all.map((name) => [TIME.exec(name)?.[0] ?? '', name] as const);
  timed.sort(([a], [b]) => compare(b, a));
  return { names: timed.slice(0, MOST_LISTED).map(([, name]) => name), more: all.length - MOST_LISTED };
}

/** @returns null if there is no such file, or something else in its place */
async function plainFile(directory: string, name: string): Promise<Stats | null> {
  const info = await lstat(join(directory, name)).catch(() => null);
  return info?.isFile() ? info : null;
}

/** A real one: a link may lead anywhere. */
async function isDirectory(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null))?.isDirectory() ?? false;
}

/** The value of a promise, or another one if it has none by a moment. */
async function within<T>(promise: Promise<T>, deadline: number, otherwise: T): Promise<T> {
  if (deadline === Number.POSITIVE_INFINITY) return promise;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, deadline - performance.now()), otherwise);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * The newest run that has ended, of all or of one method. An instance's part of one is none.
 * @param name `latest`, `latest:<method>`, which is one of k6's, or `latest:<method>:<tool>`
 * @param root the directory of the runs
 * @returns its directory; undefined: it is another name
 * @throws {ConfigError} where there is no such run
 */
export async function latest(name: string, root: string): Promise<string | undefined> {
  const [, asked] = /^latest(?::(.+))?$/.exec(name) ?? [name, null];
  if (asked === null) return undefined;
  const { entries } = await new Catalogue(root).list();
  const whole = entries.filter(({ live, generator }) => !live && generator === null);
  const found = whole.find((entry) => asked === undefined || scriptOf(entry) === asked);
  if (found !== undefined) return join(root, found.directory);
  const methods = [...new Set(entries.map(scriptOf))].sort().join(', ');
  throw new ConfigError(
    `there is no run${asked === undefined ? '' : ` of ${asked}`} that has ended in reports/runs; there are runs of: ${methods || 'nothing'}`,
  );
}
