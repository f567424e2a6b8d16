/** What a run says on the terminal. */
import { type Latency, type Run, STAGES } from '../../reports/run.ts';

export function textOf(run: Run): string {
  const { verdict, latency, account, clock } = run;
  const a = account;
  return [
    '',
    `  ${verdict.result.toUpperCase().padEnd(10)}  ${run.run.name}`,
    ...verdict.reasons.map((reason) => `              ${reason}`),
    '',
    `  arrival     ${percentiles(latency.arrival)}   from ${latency.arrival.count} deliveries in the measured phases`,
    `  from send   ${percentiles(latency.from_send)}`,
    `  HTTP        ${percentiles(latency.http)}   from ${latency.http.count} requests`,
    ...STAGES.map((stage) => `    ${stage.padEnd(10)}${percentiles(latency.stages[stage])}`),
    '',
    `  account     ${a.scheduled} scheduled = ${a.dropped} dropped + ${a.rejected} rejected + ${a.unknown} unknown + ${a.arrived} arrived`,
    `              + ${a.dead_lettered} dead-lettered + ${a.queued} queued + ${a.lost} lost${a.pending > 0 ? ` + ${a.pending} pending` : ''}`,
    `              ${a.deliveries.arrived} of ${a.deliveries.due} deliveries · ${a.duplicates} duplicates · ${a.reordered} reordered · ${a.negative} negative · ${a.foreign} foreign`,
    `  clock       ${clock?.reference}, bound ±${clock?.bound_ms?.toFixed(3)} ms`,
    '',
  ].join('\n');
}

function percentiles({ p50, p95, p99, max }: Latency): string {
  const ms = (value: number | null) => (value === null ? 'n/a' : value.toPrecision(3));
  return `p50 ${ms(p50)} · p95 ${ms(p95)} · p99 ${ms(p99)} · max ${ms(max)} ms`;
}
