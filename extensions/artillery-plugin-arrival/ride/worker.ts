/**
 * What a sending thread of Artillery says to the main thread: that its first phase begins, and that it is done. The
 * plugin lets the latter wait until the last message has arrived, so that Artillery's report has the figures of arrival.
 */
import { parentPort } from 'node:worker_threads';
import type { Store } from '../artillery.ts';

type Message = { event?: string; report?: string; [key: string]: unknown };

/** Figures for Artillery's report. */
export interface Figures {
  counters: Record<string, number>;
  /** By name, ms. */
  histograms: Record<string, number[]>;
}

/**
 * @param store undefined: Artillery's report has no figures of arrival
 * @param done returns the figures, when they are known
 */
export function watchWorker(store: Store | undefined, began: () => void, done: () => Promise<Figures>): void {
  if (parentPort === null) return;
  const port = parentPort;
  const post = port.postMessage.bind(port) as (message: unknown) => void;
  port.postMessage = (message: Message) => {
    if (message.event === 'phaseStarted') began();
    if (message.event !== 'done') return post(message);
    done()
      .then((figures) => (store === undefined ? [message] : withFigures(store, message, figures)))
      .then((messages) => {
        for (const one of messages) post(one);
      });
  };
}

/** The message with these figures in its report, and before it one with them as a period of their own. */
function withFigures(SSMS: Store, message: Message, { counters, histograms }: Figures): Message[] {
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
