/** Runs that several instances do together: the sum of what each tells in Redis (extensions/k6/arrival/live.go), before reports can be merged. */
import { once } from 'node:events';
import { basename } from 'node:path';
import { decodeFromCompressedBase64, type Histogram } from 'hdr-histogram-js';
import { type Connection, connect } from '../../pipeline/queue/connection.ts';
import { mergeSecond } from '../merge/seconds.ts';
import type { Interval, RunInfo } from '../run.ts';
import { validatePart } from '../validate.ts';
import type { Entry, Second } from './entry.ts';
import { rowOf, type SecondsSource, SILENCE, secondOf } from './timeline.ts';

const RUNS = 'arrival:runs';
/** A run that began longer ago, ms, is not looked for. */
const OLDEST = 24 * 3_600_000;
/** How long the others are waited for once an instance has told a second, ms. */
const PATIENCE = 2000;
const TIMEOUT_MS = 1000;
const AT_ONCE = 500;

/** Where the instances tell their seconds. */
export interface Place {
  url: string;
  cluster?: boolean;
}

interface Announced {
  entry: Entry;
  run: RunInfo;
  of: number;
  /** When it was announced, ms on the clock of Redis. */
  at: number;
}

type Row = [id: string, fields: string[]];

export class Instances {
  readonly #place: () => Promise<Place | undefined>;
  #connection: { redis: Connection; url: string } | undefined;

  /** @param place where they meet now; undefined: nowhere. It is asked again and again */
  constructor(place: () => Promise<Place | undefined>) {
    this.#place = place;
  }

  /** The runs in progress, newest first. None where no Redis answers. */
  async list(): Promise<Entry[]> {
    return (await this.#announced()).map(({ entry }) => entry);
  }

  /** @returns null if it is not in progress */
  async find(directory: string): Promise<Announced | null> {
    return (await this.#announced()).find(({ entry }) => entry.directory === directory) ?? null;
  }

  /** @throws if Redis is gone */
  async open({ run, of, at }: Announced): Promise<SharedSeconds> {
    const redis = await this.#redis();
    if (redis === undefined) throw new Error('Redis is not there any more');
    return new SharedSeconds(redis, timelineOf(run), of, at);
  }

  close(): void {
    this.#connection?.redis.disconnect();
    this.#connection = undefined;
  }

  async #announced(): Promise<Announced[]> {
    try {
      const redis = await this.#redis();
      if (redis === undefined) return [];
      const now = await timeOf(redis);
      const rows = await redis.xrange(RUNS, Math.max(0, now - OLDEST), '+');
      const all = await Promise.all(
        rows
          .flatMap((row) => announcedOf(row) ?? [])
          .map(async (one) => ({ one, last: await lastOf(redis, one) })),
      );
      return all
        .filter(({ last }) => now - last < SILENCE)
        .map(({ one }) => one)
        .reverse();
    } catch {
      return []; // the files are shown all the same
    }
  }

  async #redis(): Promise<Connection | undefined> {
    const place = await this.#place();
    if (place?.url !== this.#connection?.url) this.close();
    if (place === undefined) return undefined;
    if (this.#connection === undefined) {
      this.#connection = { redis: connect({ ...place, timeoutMs: TIMEOUT_MS }, TIMEOUT_MS), url: place.url };
      await once(this.#connection.redis, 'ready', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    }
    return this.#connection.redis;
  }
}

const timelineOf = ({ id }: RunInfo) => `arrival:run:${id}:timeline`;

/** ms. */
async function timeOf(redis: Connection): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

const msOf = (id: string) => Number(id.split('-')[0]);

function fieldsOf(fields: readonly string[]): Map<string, string> {
  return new Map(fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1] ?? '']] : [])));
}

/** What somebody has written there that is no run is left aside. */
function announcedOf([id, fields]: Row): Announced | null {
  const told = fieldsOf(fields);
  const directory = told.get('directory') ?? '';
  let run: RunInfo;
  try {
    run = JSON.parse(told.get('run') ?? '');
  } catch {
    return null;
  }
  const of = run?.generator?.of;
  if (of === undefined || validatePart('run', run).length > 0) return null;
  // It stands in paths.
  if (['', '.', '..'].includes(directory) || basename(directory) !== directory) return null;
  const { tool, method, topology, network, profile, labels, started } = run;
  const entry: Entry = {
    directory,
    name: directory,
    tool: tool.name,
    method,
    topology,
    network,
    profile: profile.name,
    labels,
    started,
    ended: null,
    verdict: 'incomplete',
    arrival: null,
    account: null,
    live: true,
    generators: of,
  };
  return { entry, run, of, at: msOf(id) };
}

/** When something was last told of a run, ms. */
async function lastOf(redis: Connection, { run, at }: Announced): Promise<number> {
  const info = (await redis.xinfo('STREAM', timelineOf(run)).catch(() => [])) as unknown[];
  const id = info[info.indexOf('last-generated-id') + 1];
  return typeof id === 'string' ? Math.max(at, msOf(id)) : at;
}

/** The seconds of all instances. One is told when each has told its own, or without those that have not after a while. */
class SharedSeconds implements SecondsSource {
  readonly #redis: Connection;
  readonly #key: string;
  readonly #numbers: number[];
  readonly #ended = new Set<number>();
  /** By their t: when the first instance told it, ms, and what each did. */
  readonly #waiting = new Map<number, { since: number; told: Map<number, Told> }>();
  #id = '0-0';
  #last: number;
  #next = 0;
  #over = false;

  constructor(redis: Connection, key: string, of: number, at: number) {
    this.#redis = redis;
    this.#key = key;
    this.#numbers = Array.from({ length: of }, (_, i) => i + 1);
    this.#last = at;
  }

  /** All instances have ended, or are silent. */
  ended = async () => this.#over;

  async read(): Promise<Second[] | null> {
    // Asked first: what comes later can only make a second wait for longer.
    const now = await timeOf(this.#redis);
    for (;;) {
      const rows = await this.#redis.xrange(this.#key, `(${this.#id}`, '+', 'COUNT', AT_ONCE);
      for (const row of rows) this.#take(row);
      if (rows.length < AT_ONCE) break;
    }
    const seconds: Second[] = [];
    for (const t of [...this.#waiting.keys()].sort((a, b) => a - b)) {
      const { since, told } = this.#waiting.get(t) as { since: number; told: Map<number, Told> };
      const missing = this.#numbers.filter((number) => !told.has(number) && !this.#ended.has(number));
      if (missing.length > 0 && now - since < PATIENCE) break;
      seconds.push(together(t, [...told.values()], this.#numbers.length, missing));
      this.#waiting.delete(t);
      this.#next = t + 1;
    }
    this.#over = this.#ended.size === this.#numbers.length || now - this.#last > SILENCE;
    return seconds.length > 0 ? seconds : null;
  }

  async close(): Promise<void> {}

  #take([id, fields]: Row): void {
    this.#id = id;
    this.#last = Math.max(this.#last, msOf(id));
    const told = fieldsOf(fields);
    const number = Number(told.get('number'));
    if (!this.#numbers.includes(number)) return;
    if (told.has('end')) this.#ended.add(number);
    const row = toldOf(told);
    if (row === null || row.second.t < this.#next) return; // it came too late
    const { t } = row.second;
    const waiting = this.#waiting.get(t) ?? { since: msOf(id), told: new Map() };
    this.#waiting.set(t, waiting);
    waiting.told.set(number, row);
  }
}

interface Told {
  second: Interval;
  arrival: Histogram | null;
}

function toldOf(fields: Map<string, string>): Told | null {
  const second = rowOf(fields.get('second') ?? '');
  if (second === null) return null;
  const arrival = fields.get('arrival');
  try {
    return { second, arrival: arrival === undefined ? null : decodeFromCompressedBase64(arrival) };
  } catch {
    return null;
  }
}

function together(t: number, told: readonly Told[], of: number, missing: number[]): Second {
  const [first, ...others] = told.flatMap(({ arrival }) => arrival ?? []);
  for (const other of others) first?.add(other);
  const row = mergeSecond(
    t,
    told.map(({ second }) => second),
    new Map(first === undefined ? [] : [['arrival', first]]),
  );
  return { ...secondOf(row), generators: { of, missing } };
}
