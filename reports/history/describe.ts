/** The words of the list about a run, from its summary. Pure. */
import { createHash } from 'node:crypto';
import { isUndecided } from '../comparison/doubts.ts';
import { load, loadText, SAID, settingsOf } from '../comparison/load.ts';
import { NO_SETTINGS } from '../comparison/subjects.ts';
import type { Summary } from '../contract/run.ts';
import { plural } from '../format.ts';
import { supports } from '../page/facts.ts';
import type { Entry } from './entry.ts';

/** The most characters of a reason in the list; the report has all of it. */
const LONGEST_REASON = 300;

/** Known facts as text. */
function texts(values: object): Record<string, string> {
  const known = Object.entries(values).filter(([, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value),
  );
  return Object.fromEntries(known.map(([name, value]) => [name, `${value}`]));
}

export function entryOf(summary: Summary, directory: string): Omit<Entry, 'live'> {
  const { run, account, answer, environment } = summary;
  const { result, meaning, reasons } = summary.verdict;
  const { count, p50, p99 } = summary.latency.arrival;
  const { tool, method, topology, network, labels, generator } = run;
  const { phases } = run.profile;
  const settings = settingsOf(run).filter(([name]) => !SAID.test(name));
  const { git, ci, arrival, cpu = null, cores = null, calibration_us = null } = environment;
  const machine = [cpu, cores === null ? null : plural(cores, 'core')]
    .filter((one) => one !== null)
    .join(', ');
  const pipeline = environment.pipeline ?? {};
  const told = Object.entries(pipeline).filter(([name]) => !NO_SETTINGS.includes(name));
  const commit = git?.commit.slice(0, 8);
  const known = [
    pipeline.queue,
    pipeline.relay_mode,
    git?.branch,
    commit,
    git?.dirty === true && 'uncommitted changes',
  ].filter(Boolean);
  const facts = { ...labels, ...Object.fromEntries(settings), ...texts({ [tool.name]: tool.version }) };
  // A fact of both the command and the pipeline is listed once.
  const own = Object.entries(facts).filter(([name]) => !(name.toLowerCase() in pipeline));
  return {
    directory,
    name: run.name,
    tool: tool.name,
    method,
    topology,
    network,
    profile: run.profile.name,
    labels,
    load: loadText(run),
    conditions: [...settings.map(([name, value]) => `${name}=${value}`), ...Object.values(texts(known))],
    like: createHash('sha256')
      .update(JSON.stringify([tool.name, method, topology, network, load({ run })]))
      .digest('base64url'),
    facts: texts({
      ...Object.fromEntries([...own, ...told]),
      ...(machine !== '' && { machine }),
      arrival,
      commit,
    }),
    planned: phases.some(({ requests }) => requests !== undefined)
      ? null
      : phases.reduce((sum, { duration_s }) => sum + duration_s, 0),
    started: run.started,
    ended: run.ended,
    verdict: result,
    undecided: isUndecided(summary),
    meaning: meaning.slice(0, LONGEST_REASON),
    reason: reasons[0]?.slice(0, LONGEST_REASON) ?? '',
    arrival: account.balanced && count > 0 ? { p50, p99: supports(count, 99) ? p99 : null } : null,
    doubt: summary.facts.doubts.find(({ claim }) => claim === 'arrival')?.direction ?? null,
    limit: answer?.p99_limit_ms ?? null,
    account: { scheduled: account.scheduled, arrived: account.arrived },
    missed: summary.facts.not_arrived,
    job: ci && { name: Object.values(texts([ci.name, ci.job])).join(': '), url: ci.url },
    calibration: calibration_us || null,
    generator: generator ? { number: generator.number, of: generator.of } : null,
  };
}
