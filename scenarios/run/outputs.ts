/** What k6 writes and listens on besides its run: several k6 with one command would share it, so each gets its own. */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '../../pipeline/shared/config.ts';
import { type IO, print } from './io.ts';

/** How outputs distinguish one of several k6 from the others. */
interface Nth {
  /** A part that is added to the names of its files. */
  name: string;
  /** They run at the same time: this is added to its ports. Undefined: one after the other, so ports and the output are shared. */
  port?: number;
}

/** One k6's own flags and variables. */
export interface Outputs {
  /** All flags, with those of its outputs in place of the given ones. */
  args: string[];
  /** Variables that replace the given ones. */
  env: Record<string, string>;
  /** Its files and addresses, for people. */
  names: string[];
}

/** The outputs of a campaign's runs, which come one after the other: K6_OUT and what else the environment names. */
export class RunOutputs {
  readonly #io: IO;
  #runs = 0;

  constructor(io: IO) {
    this.#io = io;
  }

  /** Returns the outputs of the next run, and prints their names. */
  next(env: NodeJS.ProcessEnv): Outputs {
    const all = outputsOf([], env, { name: `run-${++this.#runs}` });
    if (all.names.length > 0) print(this.#io, `outputs  ${all.names.join(', ')}`);
    return all;
  }
}

const PORT = 5665;
/** The settings of k6's web dashboard that name a file. */
const DASHBOARD_FILES = ['export', 'report', 'record'];

/**
 * The outputs of one of several k6. Databases stay as they are: a tag distinguishes the generators there.
 * @param args flags without variables
 * @throws where an output can't be divided
 */
export function outputsOf(args: readonly string[], env: NodeJS.ProcessEnv, nth: Nth): Outputs {
  const all: Outputs = { args: [...args], env: {}, names: [] };
  const file = (path: string) => {
    const own = named(path, nth.name);
    all.names.push(own);
    return own;
  };
  const config = configOf(take(all.args, '--config', 'c').at(-1) ?? env.K6_CONFIG, env);
  const given = (flag: string, letter: string, variable: string | undefined) => {
    const values = take(all.args, flag, letter, true);
    return values.length > 0 ? values : variable ? [variable] : [];
  };
  const outs = given('--out', 'o', undefined);
  const written = outs.length > 0 ? outs : env.K6_OUT ? env.K6_OUT.split(',') : (config.out ?? []);
  for (const out of written) {
    all.args.push('--out', outputOf(out, env, nth, file, all.names));
  }
  for (const [flag, variable] of [
    ['--summary-export', env.K6_SUMMARY_EXPORT],
    ['--console-output', env.K6_CONSOLE_OUTPUT],
  ] as const) {
    for (const path of given(flag, '', variable)) all.args.push(flag, file(path));
  }
  for (const log of given('--log-output', '', env.K6_LOG_OUTPUT)) {
    all.args.push(
      '--log-output',
      log.replace(/^(file=)([^,]+)/, (_, key, path) => key + file(path)),
    );
  }
  for (const address of given('--address', 'a', env.K6_ADDRESS)) {
    all.args.push(
      '--address',
      address.replace(/:(\d+)$/, (_, port) => `:${portOf(port, nth)}`),
    );
  }
  const shown = env.K6_WEB_DASHBOARD === 'true' || config.webDashboard === true;
  if (shown || written.some((out) => /^web-dashboard(=|$)/.test(out))) {
    const prefix = 'K6_WEB_DASHBOARD_';
    const port = portOf(env[`${prefix}PORT`] || String(PORT), nth);
    if (nth.port) all.env[`${prefix}PORT`] = port;
    if (shown && Number(port) > 0) all.names.push(`http://${env[`${prefix}HOST`] || '127.0.0.1'}:${port}`);
    for (const one of DASHBOARD_FILES) {
      const path = env[prefix + one.toUpperCase()];
      if (path) all.env[prefix + one.toUpperCase()] = file(path);
    }
  }
  return all;
}

/** A path with a name before its extension: points.json.gz becomes points-run-2.json.gz. */
function named(path: string, name: string): string {
  return path.replace(/(\.[^./]+)?(\.gz)?$/, (extension) => `-${name}${extension}`);
}

function portOf(port: string, nth: Nth): string {
  return Number(port) > 0 ? String(Number(port) + (nth.port ?? 0)) : port;
}

/** One k6's own value of --out. */
function outputOf(
  out: string,
  env: NodeJS.ProcessEnv,
  nth: Nth,
  file: (path: string) => string,
  names: string[],
): string {
  const [kind = '', value = ''] = out.split(/=(.*)/s, 2);
  const at = (path: string) => {
    if (path !== '' && path !== '-') return file(path);
    if (nth.port === undefined) return '-';
    throw new ConfigError(
      `--out ${out} writes to the standard output, which several k6 would share; allowed: ${kind}=<file>, of which each writes its own`,
    );
  };
  switch (kind) {
    case 'json':
      return `json=${at(value)}`;
    case 'csv': {
      const pairs = value.includes('=') ? value.split(',') : value ? [`fileName=${value}`] : [];
      const isFile = (pair: string) => pair.startsWith('fileName=');
      const path = pairs.findLast(isFile)?.slice('fileName='.length) ?? (env.K6_CSV_FILENAME || 'file.csv');
      return `csv=${[...pairs.filter((pair) => !isFile(pair)), `fileName=${at(path)}`].join(',')}`;
    }
    case 'web-dashboard': {
      const query = new URLSearchParams(value);
      for (const one of DASHBOARD_FILES) {
        const path = query.get(one);
        if (path) query.set(one, file(path));
      }
      const port = portOf(query.get('port') || env.K6_WEB_DASHBOARD_PORT || String(PORT), nth);
      if (query.has('port')) query.set('port', port);
      if (Number(port) > 0)
        names.push(`http://${query.get('host') || env.K6_WEB_DASHBOARD_HOST || '127.0.0.1'}:${port}`);
      return query.size === 0 ? kind : `${kind}=${query}`;
    }
    default:
      return out;
  }
}

/**
 * The values of a flag, in k6's forms: --out x, --out=x, -o x, -ox, -o=x, -qo x.
 * @param remove whether they leave the arguments
 */
function take(args: string[], flag: string, letter: string, remove = false): string[] {
  const values: string[] = [];
  const short = letter === '' ? undefined : new RegExp(`^-([qvwlp]*)${letter}(=?)(.*)$`, 's');
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    const [, switches = '', , attached] = short?.exec(arg) ?? [];
    let count = 1;
    if (arg.startsWith(`${flag}=`)) values.push(arg.slice(flag.length + 1));
    else if (attached) values.push(attached);
    else if (arg === flag || attached === '') {
      values.push(args[i + 1] ?? '');
      count = 2;
    } else continue;
    if (!remove) continue;
    args.splice(i, count, ...(switches ? [`-${switches}`] : []));
    i -= switches ? 0 : 1;
  }
  return values;
}

/** The outputs in k6's own file of settings, which k6 checks. */
function configOf(
  path: string | undefined,
  env: NodeJS.ProcessEnv,
): { out?: string[]; webDashboard?: boolean } {
  const folder = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  try {
    return JSON.parse(readFileSync(path || join(folder, 'k6/config.json'), 'utf8')) ?? {};
  } catch {
    return {};
  }
}
