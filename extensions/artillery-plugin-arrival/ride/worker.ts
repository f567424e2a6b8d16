/**
 * What a sending thread of Artillery says to the main thread: that its first phase begins, and that it is done. The
 * plugin lets the latter wait until the last message has arrived, so that Artillery's report has the figures of arrival.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parentPort } from 'node:worker_threads';

type Message = { event?: string; report?: string; [key: string]: unknown };

/** Figures for Artillery's report. */
export interface Figures {
  counters: Record<string, number>;
  /** By name, ms. */
  histograms: Record<string, number[]>;
}

/** @param done returns the figures, when they are known */
export function watchWorker(began: () => void, done: () => Promise<Figures>): void {
  if (parentPort === null) return;
  const port = parentPort;
  const post = port.postMessage.bind(port) as (message: unknown) => void;
  port.postMessage = (message: Message) => {
    if (message.event === 'phaseStarted') began();
    if (message.event !== 'done') return post(message);
    done()
      .then((figures) => withFigures(message, figures))
      .catch(() => [message])
      .then((messages) => {
        for (const one of messages) post(one);
      });
  };
}

interface Metrics {
  period: number;
  counters: Record<string, number>;
  rates: Record<string, number>;
}

/** Artillery's class of metrics. */
interface Store {
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

/** The message with these figures in its report, and before it one with them as a period of their own. */
async function withFigures(message: Message, { counters, histograms }: Figures): Promise<Message[]> {
  const home = dirname(createRequire(process.argv[1] as string).resolve('artillery/package.json'));
  const file = pathToFileURL(join(home, 'dist/lib/core/ssms.js')).href;
  const { SSMS } = (await import(file)) as { SSMS: Store };
  const more = new SSMS({ pullOnly: true });
  for (const [name, count] of Object.entries(counters)) more.counter(name, count);
  for (const [name, values] of Object.entries(histograms))
    for (const value of values) more.histogram(name, value);
  more.aggregate(true);
  more.stop();
  const report = SSMS.deserializeMetrics(message.report as string);
  const period = Number(report.period) + 10_000; // one that no other figures have
  const periods = more.getBucketIds().map((id) => ({ ...more.getMetrics(id), rates: {}, period }));
  const last = SSMS.pack(periods);
  const whole = { ...SSMS.pack([report, last]), rates: report.rates, period: report.period };
  const { report: _, ...rest } = message;
  return [
    { ...rest, event: 'stats', stats: SSMS.serializeMetrics({ ...last, period }) },
    { ...message, report: SSMS.serializeMetrics(whole) },
  ];
}
