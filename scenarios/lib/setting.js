// The setting of a run: addresses of the pipeline and its load, from the environment and files.

/** @import { RunOptions } from 'k6/x/arrival' */
/** @import { every, ownPipeline } from './declarations.js' */
/** @import { Values } from './env.js' */
import { labelsOf } from '../../pipeline/shared/labels.js';
import { KINDS } from './arrive.js';
import { cannotMeasure, settingsOf, withoutBroker } from './declarations.js';
import { read } from './env.js';
import { ownOptions } from './own.js';
import { columnsIn } from './rows.js';
import { at, readStack } from './stack.js';

/**
 * A profile with its name for the report.
 * @param {string} path absolute, or seen from scenarios/
 * @param {string[]} [instead] settings that it stands for
 */
export function openProfile(path, instead = []) {
  const other = instead.find((name) => __ENV[name]);
  if (other) throw new Error(`${other} is set, and PROFILE says it: leave out one of them`);
  const file = at('..', path);
  try {
    return { name: path, text: open(file) };
  } catch {
    throw new Error(`PROFILE is ${path}, and ${file} cannot be read; allowed: a file, seen from scenarios/`);
  }
}

/** @typedef {Required<Pick<RunOptions, 'ingest' | 'mqtt' | 'redis' | 'ca' | 'facts'>> & Pick<RunOptions, 'oneHost'>} Reached */

/** @returns {Reached} the pipeline's options of new Run() */
export function pipeline() {
  const own = Boolean(__ENV.INGEST_URL); // a pipeline of the user's own: use nothing of ours
  const stack = own ? {} : readStack();
  /** @type {<T extends { url: string }>(name: string, ours: T | undefined) => T | { url: string }} */
  const from = (name, ours) => (__ENV[name] ? { url: __ENV[name] } : own ? { url: '' } : ours || { url: '' });
  const redis = from('REDIS_URL', stack.redis);
  const prefix = __ENV.QUEUE_PREFIX || (!own && !__ENV.REDIS_URL && stack.division?.prefix) || '';
  return {
    ingest: { ...from('INGEST_URL', stack.ingest), ...(__ENV.INGEST_TOKEN && { token: __ENV.INGEST_TOKEN }) },
    mqtt: { ...from('MQTT_URL', stack.mqtt), more: [] }, // relays use the first broker; see stages()
    // Scripts that fill or empty the queue pass it there.
    redis: prefix && (redis.url || !__ENV.QUEUE_URL) ? { ...redis, prefix } : redis,
    ca: `${(!own && stack.ca) || ''}${__ENV.TLS_CA ? open(at('../..', __ENV.TLS_CA)) : ''}`,
    facts: (!own && stack.facts) || {},
    ...(!own && stack.oneHost && { oneHost: true }),
  };
}

/**
 * The targets of each flow: their number or their names, and the columns of a file of CSV, of which `target` or else the
 * first one has the names.
 * @param {{ TARGETS?: number | string[], TARGETS_FILE?: string }} set
 * @returns {{ targets?: number | string[], rows?: Record<string, string[]> }}
 */
function targetsOf({ TARGETS, TARGETS_FILE }) {
  const named = TARGETS_FILE ? 'TARGETS_FILE' : 'TARGETS';
  if (TARGETS && TARGETS_FILE) throw new Error('TARGETS and TARGETS_FILE are set: leave out one of them');
  if (__ENV.TARGET && (TARGETS_FILE || Array.isArray(TARGETS)))
    throw new Error(`TARGET is the beginning of numbered targets, and ${named} has names: leave it out`);
  if (!TARGETS_FILE) return { targets: TARGETS };
  const text = open(at('../..', TARGETS_FILE));
  const lines = text.split(/\r?\n/);
  if (!/[,;\t|]/.test(lines[0])) return { targets: lines.map((line) => line.trim()).filter(Boolean) };
  const rows = columnsIn(TARGETS_FILE, text);
  return { targets: rows.target ?? Object.values(rows)[0], rows };
}

/** @param {{ SPANS?: string, SPANS_ONE_IN?: number, SPANS_MARKS?: string }} set */
function spansOf({ SPANS = '', SPANS_ONE_IN, SPANS_MARKS }) {
  const marks = SPANS_MARKS ? JSON.parse(open(at('../..', SPANS_MARKS))) : [];
  return { listen: SPANS === 'files' ? '' : SPANS, oneIn: SPANS_ONE_IN, marks };
}

/**
 * What all scripts share: the pipeline, and the directory of the run.
 * @param {string} [script] its name, by which it is known what it can measure
 */
export function setting(script = '') {
  const reached = pipeline();
  const set = /** @type {Values<ReturnType<typeof every> & ReturnType<typeof ownPipeline>>} */ (
    read(settingsOf(script))
  );
  const canary = ['true', 'on'].includes(set.CANARY);
  const { targets, rows } = targetsOf(set);
  const shared = {
    ...reached,
    mqtt: { ...reached.mqtt, ...(set.SESSION === 'persistent' && { session: set.SESSION }) },
    canary,
  };
  const own = cannotMeasure(script) ? undefined : ownOptions(set, shared);
  return {
    id: set.ID_KEY,
    ...shared,
    ...own,
    ...(own?.body?.includes('row.') && { rows }),
    topology: __ENV.TOPOLOGY || String(reached.facts.topology ?? 'single'),
    network: __ENV.NETWORK || 'loopback',
    traces: set.TRACES,
    ...(set.SPANS && { spans: spansOf(set) }),
    verify: set.VERIFY ?? '',
    labels: labelsOf(set.LABELS ?? ''),
    clock: set.CLOCK_LIMIT ? { limit: set.CLOCK_LIMIT } : {},
    ...(httpAlone(script) && answersOnly(script, reached.mqtt, canary)),
    everyFlow: { payloadBytes: set.PAYLOAD_BYTES, targets },
    dir: set.RUN_DIR ?? '',
    runId: set.RUN_ID ?? '',
    gather: set.GATHER,
    runs: at('../..', 'reports/runs'),
    command: __ENV.ARRIVAL_COMMAND || '',
  };
}

/** @param {string} script */
const httpAlone = (script) =>
  Boolean(__ENV.INGEST_URL && !__ENV.MQTT_URL && !__ENV.ARRIVE) && withoutBroker.includes(script);

/**
 * The options of a script that measures HTTP alone, as an unanswered message never arrives.
 * @param {string} script
 * @param {Reached['mqtt']} mqtt
 * @param {boolean} canary
 */
function answersOnly(script, mqtt, canary) {
  const other = Object.keys(KINDS).find((name) => __ENV[name]);
  if (other)
    throw new Error(
      `${other} says where messages arrive, and without MQTT_URL and ARRIVE ${script} measures HTTP alone: set one of them`,
    );
  return { mqtt, answers: true, drain: 0.1, idle: 0.1, greet: canary, canary: false };
}
