/** A run as CI systems and changes show it: junit.xml and summary.md. internal/report writes the same; ci.vectors.json has both. */
import { percentile, protocolOf, scriptFigures, uncertain } from './page/facts.ts';
import { count, fixed, ms as msOf, plural, visible } from './page/format.ts';
import { limited, limitText, rulesOf, withUnit } from './rules.ts';
import { type Account, type Latency, type Run, STAGES, type VerdictResult } from './run.ts';

/**
 * A case for the verdict and one for each rule, in the form that Ant's and Jenkins' schemas have in common. A limit of the pipeline that does
 * not hold is a failure; an instrument that can't be trusted and a run that was cut off are errors.
 */
export function junit(run: Run): string {
  const { verdict } = run;
  const took = fixed(seconds(run), 3);
  const cases = [
    junitCase('verdict', took, verdict.result, verdict.result, verdict.reasons),
    ...rulesOf(run).map((rule) => {
      const worth = rule.ok === null ? null : rule.ok ? 'pass' : rule.result;
      return junitCase(limited(rule), '0.000', worth, rule.reason || 'did not hold');
    }),
  ];
  const all = cases.flat();
  const number = (element: string) => all.filter((line) => line.startsWith(`    <${element}`)).length;
  const { hostname } = run.environment;
  const attributes = {
    name: run.run.name,
    tests: `${cases.length}`,
    failures: `${number('failure')}`,
    errors: `${number('error')}`,
    skipped: `${number('skipped')}`,
    time: took,
    timestamp: localStamp(run.run.started),
    hostname: typeof hostname === 'string' ? hostname : 'localhost',
  };
  const told = Object.entries(attributes).map(([name, value]) => ` ${name}="${escaped(value)}"`);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite${told.join('')}>`,
    '  <properties></properties>',
    ...all,
    `  <system-out>${escaped(equation(run.account))}</system-out>`,
    '  <system-err></system-err>',
    '</testsuite>\n',
  ].join('\n');
}

/** The lines of a case; null: it was not judged. */
function junitCase(
  name: string,
  time: string,
  worth: VerdictResult | null,
  message: string,
  more: readonly string[] = [],
): string[] {
  const open = `  <testcase classname="arrival" name="${escaped(name)}" time="${time}">`;
  if (worth === 'pass') return [`${open}</testcase>`];
  if (worth === null) return [open, '    <skipped></skipped>', '  </testcase>'];
  const element = worth === 'fail' ? 'failure' : 'error';
  const text = more.map((line) => escaped(`${line}\n`)).join('');
  return [
    open,
    `    <${element} message="${escaped(message)}" type="${worth}">${text}</${element}>`,
    '  </testcase>',
  ];
}

/** A UTC time to the second and without a zone, as the schemas want it. */
function localStamp(stamp: string): string {
  const at = Date.parse(stamp);
  return Number.isNaN(at) ? stamp : new Date(at).toISOString().slice(0, 19);
}

/** The run in short, as Markdown. */
export function summary(run: Run): string {
  const { account, latency, verdict, figures = [] } = run;
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
    const figuresOf = (name: string, latency: Latency, within = '') => {
      const percentiles = (['p50', 'p95', 'p99'] as const).map((key) => percentile(latency, key));
      const [mean, p50, ...rest] = [latency.mean, ...percentiles, latency.max].map(ms);
      row(name, `${mean}`, `${p50}${within}`, ...rest, count(latency.count));
    };
    figuresOf('**arrival**', latency.arrival);
    // Where a message is due when it is sent, it is the same figure.
    if (run.run.model !== 'closed') figuresOf('from send', latency.from_send);
    figuresOf(plain(protocolOf(run)), latency.http);
    for (const stage of STAGES) {
      const within = uncertain(run, stage) ? ` ±${ms(run.clock?.bound_ms ?? null)}` : '';
      if (latency.stages[stage].count > 0) figuresOf(`stage ${stage}`, latency.stages[stage], within);
    }
    const turns = turn(run);
    if (turns !== null) lines.push('', `knee: ${turns}`);
  } else {
    lines.push('Latency is not shown: the account does not balance.');
  }
  if (figures.length > 0) lines.push('');
  for (const [name, value] of scriptFigures(figures)) lines.push(`- ${plain(name)}: ${plain(value)}`);
  const rules = rulesOf(run).filter(({ limit }) => limit !== null);
  if (rules.length > 0) {
    lines.push('');
    row('rule', 'limit', 'measured', 'result');
    row('---', '---', '---:', '---');
    for (const rule of rules) {
      const { name, value, unit, ok, result } = rule;
      const held = ok === null ? 'not judged' : ok ? 'held' : `**${result}**`;
      row(plain(name), plain(limitText(rule)), plain(withUnit(value, unit)), held);
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
function turn({ knee }: Run): string | null {
  if (!knee) return null;
  if (knee.vus === 0) {
    const most = knee.stage === '' ? '' : `, and ${knee.stage} takes longest`;
    return `below ${plural(knee.next, 'VU')}: with ${count(knee.next)} a backlog grows already${most}`;
  }
  const grew = knee.stage === '' ? '' : `, and ${knee.stage} has grown most`;
  return `${plural(knee.vus, 'VU')}: with ${count(knee.next)} p50 has taken off for good${grew}`;
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

/** Text that Markdown shows as it is, on one line; its bidi controls are seen, and run.json has what is cut off. */
export function plain(text: string): string {
  const all = [...text.toWellFormed()];
  const shown = all.slice(0, LONGEST).map((c) => {
    if (/[\p{Cc}\u2028\u2029]/u.test(c)) return ' ';
    if (visible(c) !== c) return visible(c).replace(/[[\]]/g, '\\$&');
    if (c === '<') return '&lt;';
    if (c === '&') return '&amp;';
    return /[\\`*_[\]|#>~]/.test(c) ? `\\${c}` : c;
  });
  return shown.join('') + (all.length > LONGEST ? '… (run.json has all of it)' : '');
}
