/** What a run leaves in its directory. */
import { createWriteStream, mkdirSync, readFileSync, type WriteStream } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { HistogramLogWriter } from 'hdr-histogram-js';
import { junit, summary } from '../../reports/ci.ts';
import { renderReport } from '../../reports/render.ts';
import type { Interval, Run } from '../../reports/run.ts';
import type { Times } from './measures.ts';

const TEMPLATE = resolve(import.meta.dirname, '../../reports/dist/index.html');

export class Files {
  readonly #dir: string;
  readonly #template = readFileSync(TEMPLATE, 'utf8');
  readonly #timeline: WriteStream;
  readonly #log: WriteStream;
  readonly #hdr: HistogramLogWriter;
  #failure: Error | undefined;

  /** @param started ms since 1970: t = 0 of the run */
  constructor(dir: string, run: string, started: number) {
    this.#dir = dir;
    mkdirSync(dir, { recursive: true });
    this.#timeline = createWriteStream(join(dir, 'timeline.ndjson'));
    this.#log = createWriteStream(join(dir, 'arrival.hlog'));
    for (const stream of [this.#timeline, this.#log]) {
      stream.on('error', (error) => {
        this.#failure ??= error;
      });
    }
    this.#hdr = new HistogramLogWriter((text) => this.#log.write(text));
    this.#hdr.outputComment(`[arrival ${run}: µs, one interval a second]`);
    this.#hdr.outputLogFormatVersion();
    this.#hdr.outputStartTime(started);
    this.#hdr.outputComment(`[BaseTime: ${(started / 1000).toFixed(3)} (seconds since epoch)]`);
    this.#hdr.baseTime = started;
    this.#hdr.outputLegend();
  }

  /** The first error of a file that grows with the run. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  second(row: Interval, times: Times, started: number): void {
    this.#timeline.write(`${JSON.stringify(row)}\n`);
    for (const tag of ['arrival', 'from_send', 'http'] as const) {
      const { histogram, count } = times[tag];
      if (count === 0) continue;
      histogram.tag = tag;
      histogram.startTimeStampMsec = started + row.t * 1000;
      histogram.endTimeStampMsec = started + (row.t + 1) * 1000;
      this.#hdr.outputIntervalHistogram(histogram);
    }
  }

  async write(run: Run): Promise<void> {
    await this.#replace('run.json', `${JSON.stringify(run)}\n`);
    await this.#replace('junit.xml', junit(run));
    await this.#replace('summary.md', summary(run));
    await this.#replace('index.html', renderReport(run, this.#template));
  }

  async close(): Promise<void> {
    await Promise.all(
      [this.#timeline, this.#log].map((stream) => new Promise<void>((done) => stream.end(() => done()))),
    );
  }

  async #replace(name: string, text: string): Promise<void> {
    const file = join(this.#dir, name);
    await writeFile(`${file}.draft`, text);
    await rename(`${file}.draft`, file);
  }
}
