/** A run as CI systems and changes show it: junit.xml and summary.md. internal/report writes the same; ci.vectors.json has both. */
import { percentile, protocolOf, scriptFigures } from './page/facts.ts';
import { count, fixed, ms as msOf, plural } from './page/format.ts';
import { type Account, type Latency, type Run, STAGES } from './run.ts';
import { grown, knee, pointOf, sweepSteps } from './sweep.ts';

/** A case for the verdict, one for the account and one for each threshold. */
export function junit(run: Run): string {
  const time = ` time="${fixed(seconds(run), 3)}"`;
  const cases = [
    {
      name: 'verdict',
      ok: run.verdict.result === 'pass',
      message: run.verdict.result,
      more: run.verdict.reasons,
    },
    { name: 'account balances', ok: run.account.balanced, message: equation(run.account), more: [] },
    ...run.thresholds.map(({ metric, expression, ok }) => ({
      name: `${metric}: ${expression}`,
      ok: ok === true,
      message: ok === null ? 'not judged' : 'the threshold was crossed',
      more: [],
    })),
  ];
  const failures = cases.filter(({ ok }) => !ok).length;
  const lines = cases.flatMap(({ name, ok, message, more }, i) => {
    // Once: what reads it adds up the cases.
    const took = i === 0 ? time : '';
    const open = `  <testcase classname="arrival" name="${escaped(name)}"${took}>`;
    if (ok) return `${open}</testcase>`;
    const text = more.map((line) => escaped(`${line}\n`)).join('');
    return [open, `    <failure message="${escaped(message)}">${text}</failure>`, '  </testcase>'];
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="${escaped(run.run.name)}" tests="${cases.length}" failures="${failures}"${time} timestamp="${escaped(run.run.started)}">`,
    ...lines,
    '</testsuite>\n',
  ].join('\n');
}

/** The run in short, as Markdown. */
export function summary(run: Run): string {
  const { account, latency, verdict, figures = [], thresholds } = run;
  const lines = [`## ${verdict.result.toUpperCase()}: ${plain(run.run.name)}`, ''];
  const row = (...cells: string[]) => lines.push(`| ${cells.join(' | ')} |`);
  for (const reason of verdict.reasons) lines.push(`- ${plain(reason)}`);
  if (verdict.reasons.length > 0) lines.push('');
  const { deliveries, duplicates, reordered } = account;
  lines.push(
    `${equation(account)}  `,
    `${count(deliveries.arrived)} of ${count(deliveries.due)} deliveries, ${count(duplicates)} duplicates, ${count(reordered)} reordered`,
    '',
  );
  if (account.balanced) {
    row('ms', 'mean', 'p50', 'p95', 'p99', 'max', 'samples');
    row('---', '---:', '---:', '---:', '---:', '---:', '---:');
    const figuresOf = (name: string, latency: Latency) => {
      const percentiles = (['p50', 'p95', 'p99'] as const).map((key) => percentile(latency, key));
      row(name, ...[latency.mean, ...percentiles, latency.max].map(ms), count(latency.count));
    };
    figuresOf('**arrival**', latency.arrival);
    // Where a message is due when it is sent, it is the same figure.
    if (run.run.model !== 'closed') figuresOf('from send', latency.from_send);
    figuresOf(plain(protocolOf(run)), latency.http);
    for (const stage of STAGES) {
      if (latency.stages[stage].count > 0) figuresOf(`stage ${stage}`, latency.stages[stage]);
    }
    const turns = turn(run);
    if (turns !== null) lines.push('', `knee: ${turns}`);
  } else {
    lines.push('Latency is not shown: the account does not balance.');
  }
  if (figures.length > 0) lines.push('');
  for (const [name, value] of scriptFigures(figures)) lines.push(`- ${plain(name)}: ${plain(value)}`);
  if (thresholds.length > 0) {
    lines.push('');
    row('threshold', 'required', 'result');
    row('---', '---', '---');
    for (const { metric, expression, ok } of thresholds) {
      row(plain(metric), plain(expression), ok === null ? 'not judged' : ok ? 'held' : '**crossed**');
    }
  }
  return `${lines.join('\n')}\n`;
}

/** The account in one line. */
function equation(account: Account): string {
  const ends = ['dropped', 'rejected', 'unknown', 'arrived', 'dead_lettered', 'queued', 'lost'] as const;
  const told = ends.map((end) => `${count(account[end])} ${end.replace('_', '-')}`);
  if (account.pending > 0) told.push(`${count(account.pending)} pending`);
  return `${count(account.scheduled)} scheduled ${account.balanced ? '=' : '≠'} ${told.join(' + ')}`;
}

/** Where a sweep turns; null: it is none, or does not. */
function turn(run: Run): string | null {
  const steps = sweepSteps(run);
  const at = knee(steps.map((step) => pointOf(step)));
  const [last, next] = [steps[at ?? -1], steps[(at ?? -1) + 1]];
  if (at === -1 && next !== undefined) {
    const longest = grown(null, next.latency);
    const most = longest === null ? '' : `, and ${longest} takes longest`;
    return `below ${plural(next.vus, 'VU')}: with ${count(next.vus)} a backlog grows already${most}`;
  }
  if (at === null || last === undefined || next === undefined) return null;
  const stage = grown(last.latency, next.latency);
  const grew = stage === null ? '' : `, and ${stage} has grown most`;
  return `${plural(last.vus, 'VU')}: with ${count(next.vus)} p50 has taken off for good${grew}`;
}

/** That the run took; 0 if it has not ended. */
function seconds({ run: { started, ended } }: Run): number {
  const took = ended === null ? 0 : (Date.parse(ended) - Date.parse(started)) / 1000;
  return Number.isNaN(took) ? 0 : took;
}

function ms(value: number | null): string {
  return value === null ? 'n/a' : msOf(value);
}

/** As Go's encoding/xml writes text and attributes. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/["'&<>\t\n\r]/g, (c) => ENTITIES[c] as string);
}
const ENTITIES: Record<string, string> = {
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '\t': '&#x9;',
  '\n': '&#xA;',
  '\r': '&#xD;',
};

/** In characters, of a name or a reason in Markdown. */
const LONGEST = 500;

/** Text that Markdown shows as it is, on one line. */
export function plain(text: string): string {
  const all = [...text.toWellFormed()];
  const shown = all.slice(0, LONGEST).map((c) => {
    if (/[\p{Cc}\u2028\u2029]/u.test(c)) return ' ';
    if (c === '<') return '&lt;';
    if (c === '&') return '&amp;';
    return /[\\`*_[\]|#>~]/.test(c) ? `\\${c}` : c;
  });
  return shown.join('') + (all.length > LONGEST ? '…' : '');
}
