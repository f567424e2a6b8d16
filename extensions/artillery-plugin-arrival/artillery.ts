/** Inner parts of Artillery, which its documentation does not promise. Each is looked for before a run begins. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { OptionError } from './pipeline.ts';

/** The version that has all of them. */
const TESTED = '2.0.34';

/** Texts that files of Artillery have to have, and what they are for. */
const NEEDED: { file: string; texts: string[]; what: string }[] = [
  {
    file: 'dist/lib/core/engine_http.js',
    texts: ['trace:http:request', 'trace:http:response'],
    what: 'which say when a request is sent and answered',
  },
  {
    file: 'dist/lib/platform/local/worker.js',
    texts: ["event: 'phaseStarted'", "event: 'done', report:"],
    what: 'which say when the load begins and ends',
  },
];

/** A process of Artillery's module `arrivals`, which starts virtual users. */
export interface Process {
  emit(name: string, ...args: unknown[]): boolean;
  start(): unknown;
}
/** Artillery's module `arrivals`: processes by the `mode` of a phase. */
export type Processes = Record<string, { process: (interval: number, duration: number) => Process }>;
/** Artillery's module `driftless`. */
interface Driftless {
  setDriftlessInterval(call: () => void, ms: number): unknown;
}

export interface Metrics {
  period: number;
  counters: Record<string, number>;
  rates: Record<string, number>;
}
/** Artillery's class of metrics. */
export interface Store {
  new (options: {
    pullOnly: boolean;
  }): {
    counter(name: string, value: number): void;
    histogram(name: string, value: number): void;
    aggregate(force: boolean): void;
    getBucketIds(): string[];
    getMetrics(period: string): Metrics;
    stop(): void;
  };
  pack(periods: Metrics[]): Metrics;
  serializeMetrics(metrics: Metrics): string;
  deserializeMetrics(text: string): Metrics;
}

export class Artillery {
  readonly #load: NodeJS.Require;
  /** Its folder; undefined: the program is in none. */
  readonly #home: string | undefined;
  readonly version: string;

  readonly #speaks: boolean;

  /**
   * @param speaks says what this Artillery lacks; of several threads one does
   * @param program a file of Artillery, as a sending thread runs one
   */
  constructor(speaks = true, program = process.argv[1] as string) {
    this.#speaks = speaks;
    this.#load = createRequire(program);
    const about = this.#module<{ version: string }>('artillery/package.json');
    this.#home = about && dirname(this.#load.resolve('artillery/package.json'));
    this.version = about?.version ?? 'unknown';
  }

  /** @throws {OptionError} in one line, where a run can't be measured without what this Artillery lacks */
  require(): void {
    const home = this.#home;
    if (home === undefined) return;
    for (const { file, texts, what } of NEEDED) {
      const text = read(join(home, file));
      const missing = texts.find((one) => !text.includes(one));
      if (missing === undefined) continue;
      throw new OptionError(
        `Artillery ${this.version} has no ${missing} in ${file}, ${what}; allowed: Artillery ${TESTED}`,
      );
    }
  }

  /**
   * The processes that start virtual users; undefined: this Artillery has others, and a line says so.
   * @param without what a run has without them
   */
  processes(without: string): Processes | undefined {
    const of = this.#module<Processes>('arrivals');
    if (typeof of?.uniform?.process === 'function') return of;
    return this.#lacks(`module arrivals: ${without}`);
  }

  /** The timers of its ramps; undefined: this Artillery has others, and a line says so. */
  driftless(): Driftless | undefined {
    const of = this.#module<Driftless>('driftless');
    if (typeof of?.setDriftlessInterval === 'function') return of;
    return this.#lacks('module driftless: virtual users of ramps are due when they come');
  }

  /** The class of its metrics; undefined: this Artillery has another one, and a line says so. */
  store(): Store | undefined {
    const { SSMS: of } =
      this.#module<{ SSMS?: Store }>(join(this.#home ?? '', 'dist/lib/core/ssms.js')) ?? {};
    const names = ['counter', 'histogram', 'aggregate', 'getBucketIds', 'getMetrics', 'stop'];
    const its = [
      of?.pack,
      of?.serializeMetrics,
      of?.deserializeMetrics,
      ...names.map((name) => of?.prototype[name]),
    ];
    if (its.every((one) => typeof one === 'function')) return of;
    return this.#lacks('class SSMS in dist/lib/core/ssms.js: its own report has no figures of arrival');
  }

  #lacks(what: string): undefined {
    if (this.#speaks)
      console.error(`arrival: Artillery ${this.version} lacks the ${what} (Artillery ${TESTED} has it)`);
  }

  #module<T>(name: string): T | undefined {
    try {
      return this.#load(name) as T;
    } catch {
      return undefined;
    }
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
