/** The summary of a run: from summary.json, or from a run.json without one. */
import limits from '../contract/limits.json' with { type: 'json' };
import type { Summary } from '../contract/run.ts';
import { validatePart } from '../contract/validate.ts';
import { readJson } from '../files.ts';
import { readMembers } from './members.ts';

const MEMBERS = ['schema', 'run', 'verdict', 'answer', 'facts', 'account', 'latency', 'environment'];

/**
 * @param directory the directory of a run
 * @param bytes the length of its run.json
 * @throws an error of one line if there is no summary, and run.json is not that of a run
 */
export async function readSummary(directory: string, bytes: number): Promise<Summary> {
  const kept = await readJson(directory, 'summary.json', limits.summary_bytes).catch(() => undefined);
  if (isSummary(kept) && kept.run_bytes === bytes) return kept;
  const made = await summarize(directory);
  const [fault] = validatePart('summary', made);
  if (fault !== undefined) throw new Error(`run.json: ${fault}`);
  return made as Summary;
}

function isSummary(data: unknown): data is Summary {
  return validatePart('summary', data).length === 0;
}

/**
 * A summary as Go writes it (internal/runfile/summary.go), of a run.json that may be broken.
 * @throws if it is not JSON, or of another schema
 */
export async function summarize(directory: string): Promise<unknown> {
  const run = await readMembers(directory, 'run.json', MEMBERS);
  if (run === undefined) throw new Error('run.json is not a file that can be read');
  if (run.schema !== 'arrival/run/1')
    throw new Error(`run.json has the schema ${String(run.schema).slice(0, 60)}, not arrival/run/1`);
  const { latency, environment } = run;
  return {
    schema: 'arrival/summary/1' satisfies Summary['schema'],
    run_bytes: 0, // this summary is not stored
    run: run.run,
    verdict: isObject(run.verdict) ? known(run.verdict, ['result', 'meaning', 'reasons']) : run.verdict,
    answer: run.answer,
    facts: known(run.facts, ['not_arrived', 'doubts']),
    account: run.account,
    latency: isObject(latency) ? { arrival: arrivalOf(latency.arrival) } : latency,
    environment: isObject(environment)
      ? Object.fromEntries(
          ['arrival', 'cpu', 'cores', 'calibration_us', 'pipeline', 'git', 'ci'].map((name) => [
            name,
            environment[name] ?? null,
          ]),
        )
      : environment,
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const arrivalOf = (arrival: unknown) =>
  isObject(arrival) ? known(arrival, ['count', 'p50', 'p99']) : arrival;

/** Some members of an object, as far as it has them. */
function known(value: unknown, names: readonly string[]): Record<string, unknown> {
  const has = isObject(value) ? value : {};
  return Object.fromEntries(names.flatMap((name) => (name in has ? [[name, has[name]]] : [])));
}
