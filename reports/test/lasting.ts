/** Runs of any length, for tests of page size. */
import type { Interval, Resource, Run } from '../contract/run.ts';
import { mulberry32 } from './samples.ts';

/** The most bins of figures (maxBins of internal/runfile). */
const MOST_BINS = 300;

/** Extends a run to this length by repeating its seconds with small changes; its histograms are large. */
export function lasting(run: Run, seconds: number): Run {
  const random = mulberry32(3);
  const about = (value: number) => Number((value * (0.8 + 0.4 * random())).toPrecision(6));
  const vary = <T>(value: T): T => {
    if (typeof value === 'number')
      return (Number.isInteger(value) ? Math.round(about(value)) : about(value)) as T;
    if (Array.isArray(value)) return value.map(vary) as T;
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, vary(inner)])) as T;
  };
  const pick = <T>(all: T[], i: number) => all[i % all.length] as T;
  const timeline = Array.from({ length: seconds }, (_, t): Interval => {
    const like = pick(run.timeline, t);
    const [first = 0, ...counts] = like.arrival_bins ?? [];
    return { ...vary(like), t, arrival_bins: [first, ...vary(counts)] };
  });
  // The bins of a run of this length; each process gets the figures of the first that has any.
  const bin_s = Math.ceil(seconds / MOST_BINS);
  const bins = Array.from({ length: Math.ceil(seconds / bin_s) }, (_, i) => i * bin_s);
  const own = run.resources.find(({ figures }) => figures != null)?.figures;
  const columns = (of: Record<string, (number | null)[]> = {}) =>
    Object.fromEntries(
      Object.entries(of).map(([name, values]) => [name, bins.map((_, i) => vary(pick(values, i)))]),
    );
  const resources = run.resources.map(
    (resource): Resource => ({
      ...resource,
      figures: { bin_s, t: bins, counts: columns(own?.counts), gauges: columns(own?.gauges) },
      series:
        resource.series.length === 0
          ? []
          : timeline.map(({ t }) => [
              t,
              about(pick(resource.series, t)[1] ?? 0),
              about(pick(resource.series, t)[2] ?? 0),
            ]),
    }),
  );
  // The text is as large and as hard to compress as in a real run.
  const histogram = Array.from({ length: 6000 }, () => Math.floor(random() * 36).toString(36)).join('');
  const whole = { ...run.latency.arrival, histogram };
  const latency = { ...run.latency, arrival: whole, from_send: whole, http: whole };
  const steps = run.steps.map((step) => ({ ...step, latency }));
  const points = run.facts.by_load;
  const facts = { ...run.facts, by_load: points && timeline.map(({ t }) => vary(pick(points, t))) };
  return { ...run, timeline, resources, latency, steps, facts };
}
