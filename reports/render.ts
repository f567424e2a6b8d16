import { gunzipSync, gzipSync } from 'node:zlib';
import { type Latencies, type Latency, type Run, STAGES } from './contract/run.ts';

/** Where the data goes; exactly once in a template. */
export const SLOT = '<script id="run" type="application/json">null</script>';

/**
 * Puts a run into the built page.
 * @param template reports/dist/index.html
 * @returns one HTML file that needs nothing else
 * @throws if the template has not exactly one place for the data
 */
export function renderReport(run: Run, template: string): string {
  return fillPage(`"${pack(light(run))}"`, template);
}

/**
 * Puts data into the one place that a built page has for it.
 * @param data JSON in which nothing can end a script element
 */
export function fillPage(data: string, template: string): string {
  const [head, tail, ...more] = template.split(SLOT);
  if (head === undefined || tail === undefined || more.length > 0) {
    throw new Error(`template must contain ${SLOT} exactly once`);
  }
  return head + SLOT.replace('null', () => data) + tail;
}

/** @returns the run that a page holds, as the page reads it */
export function shownRun(html: string): Run {
  const [, text] = html.match(/<script id="run" type="application\/json">(.*?)<\/script>/s) ?? [];
  if (text === undefined || text === 'null') throw new Error('the page holds no run');
  return JSON.parse(gunzipSync(Buffer.from(JSON.parse(text), 'base64')).toString());
}

/** Compressed, so that the page of an hour stays small; in base64, so that nothing can end the element it stands in. */
function pack(run: Run): string {
  return gzipSync(JSON.stringify(run)).toString('base64');
}

/** Without the histograms of its parts: no figure of the page is made from them, and they do not compress. */
function light(run: Run): Run {
  const bare = (latency: Latency): Latency => ({ ...latency, histogram: null });
  return {
    ...run,
    steps: run.steps.map((step) => ({
      ...step,
      latency: {
        arrival: bare(step.latency.arrival),
        from_send: bare(step.latency.from_send),
        http: bare(step.latency.http),
        stages: Object.fromEntries(
          STAGES.map((stage) => [stage, bare(step.latency.stages[stage])]),
        ) as Latencies['stages'],
      },
    })),
    flows: run.flows.map((flow) => ({ ...flow, arrival: bare(flow.arrival) })),
    canary: run.canary && { ...run.canary, latency: bare(run.canary.latency) },
    health: {
      ...run.health,
      ...(run.health.lateness && { lateness: bare(run.health.lateness) }),
      socket_wait: run.health.socket_wait && bare(run.health.socket_wait),
    },
  };
}
