/** What a run says on the terminal. */
import { printable } from '../../pipeline/printable.ts';
import { balance, percentile } from '../../reports/page/facts.ts';
import { count, ms } from '../../reports/page/format.ts';
import { type Latency, type Run, STAGES } from '../../reports/run.ts';

export function textOf(run: Run): string {
  const { verdict, account: a, clock } = run;
  const sound = balance(a).holds;
  return [
    '',
    `  ${verdict.result.toUpperCase().padEnd(10)}  ${printable(run.run.name)}`,
    ...verdict.reasons.map((reason) => `              ${printable(reason)}`),
    '',
    ...(sound ? latencies(run) : ['  latency     not shown: the account does not balance']),
    '',
    `  account     ${count(a.scheduled)} scheduled ${sound ? '=' : '≠'} ${count(a.dropped)} dropped + ${count(a.rejected)} rejected + ${count(a.unknown)} unknown + ${count(a.arrived)} arrived`,
    `              + ${count(a.dead_lettered)} dead-lettered + ${count(a.queued)} queued + ${count(a.lost)} lost${a.pending > 0 ? ` + ${count(a.pending)} pending` : ''}`,
    `              ${count(a.deliveries.arrived)} of ${count(a.deliveries.due)} deliveries · ${count(a.duplicates)} duplicates · ${count(a.reordered)} reordered · ${count(a.negative)} negative · ${count(a.foreign)} foreign`,
    `  clock       ${clock?.reference}, bound ±${clock?.bound_ms?.toFixed(3)} ms`,
    '',
  ].join('\n');
}

function latencies({ run, latency }: Run): string[] {
  const { arrival, from_send, http, stages } = latency;
  return [
    `  arrival     ${figures(arrival)}   from ${count(arrival.count)} deliveries in the measured phases`,
    // Where a message is due when it is sent, it is the same figure.
    ...(run.model === 'closed' ? [] : [`  from send   ${figures(from_send)}`]),
    `  HTTP        ${figures(http)}   from ${count(http.count)} requests`,
    ...STAGES.map((stage) => `    ${stage.padEnd(10)}${figures(stages[stage])}`),
  ];
}

function figures(latency: Latency): string {
  const at = (['p50', 'p95', 'p99'] as const).map((key) => `${key} ${told(percentile(latency, key))}`);
  return `${at.join(' · ')} · max ${told(latency.max)} ms`;
}

const told = (value: number | null) => (value === null ? 'n/a' : ms(value));
