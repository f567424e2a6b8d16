/** A merged run on the terminal. */
import { printable } from '../../pipeline/printable.ts';
import { balance, percentile, scriptFigures } from '../page/facts.ts';
import { count, figure, ms } from '../page/format.ts';
import type { Run } from '../run.ts';

export function mergedText(run: Run): string {
  const { account, latency, generators = [] } = run;
  const lines: [label: string, text: string][] = [[run.verdict.result.toUpperCase(), run.run.name]];
  for (const reason of run.verdict.reasons) lines.push(['', reason]);
  if (balance(account).holds) {
    const { arrival } = latency;
    const quantiles = (['p50', 'p90', 'p99'] as const).map((key) => `${key} ${ms(percentile(arrival, key))}`);
    lines.push([
      'arrival',
      `${quantiles.join(' · ')} · max ${ms(arrival.max)} ms   from ${count(arrival.count)} deliveries`,
    ]);
  } else {
    lines.push(['latency', 'not shown: the account does not balance']);
  }
  lines.push([
    'account',
    `${count(account.scheduled)} scheduled ${balance(account).holds ? '=' : '≠'} ${count(account.dropped)} dropped + ${count(account.rejected)} rejected + ` +
      `${count(account.unknown)} unknown + ${count(account.arrived)} arrived`,
  ]);
  const pending = account.pending > 0 ? ` + ${count(account.pending)} pending` : '';
  lines.push([
    '',
    `+ ${count(account.dead_lettered)} dead-lettered + ${count(account.queued)} queued + ${count(account.lost)} lost${pending}`,
  ]);
  lines.push(['', `${count(account.deliveries.arrived)} of ${count(account.deliveries.due)} deliveries`]);
  for (const [name, value] of scriptFigures(run.figures ?? [])) lines.push(['figure', `${name}: ${value}`]);
  for (const {
    number,
    segment,
    result,
    scheduled,
    arrived,
    schedule_p99_ms,
    cpu_percent_max,
  } of generators) {
    const own =
      scheduled === null
        ? ''
        : ` · ${count(scheduled)} scheduled · ${count(arrived ?? 0)} arrived · lateness p99 ${ms(schedule_p99_ms)} ms` +
          ` · CPU max ${figure(cpu_percent_max)} %`;
    lines.push([`generator ${number}`, `${segment} · ${result}${own}`]);
  }
  return lines.map(([label, text]) => `  ${label.padEnd(12)}${printable(text)}`.trimEnd()).join('\n');
}
