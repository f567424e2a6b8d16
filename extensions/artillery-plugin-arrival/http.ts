/** Settings of Artillery's HTTP client: config.http, config.defaults and config.timeout of the script. */
import { seconds } from './phases.ts';
import { OptionError } from './pipeline.ts';
import { checkHeaders } from './steps.ts';
import { checkKeys, isMap, type Table } from './table.ts';

/** Keys of config.http that Artillery uses. It has maxSockets too, and ignores it. */
const HTTP_KEYS = [
  ...['timeout', 'pool', 'extendedMetrics', 'defaults'],
  ...['cookieJarOptions', 'distributedTracing'],
];

/** Keys of defaults that Artillery has. */
const DEFAULTS_KEYS = ['headers', 'cookie', 'think', 'strictCapture'];

function defaultsOf(defaults: unknown, where: string): Table {
  if (defaults === undefined) return {};
  if (!isMap(defaults)) throw new OptionError(`${where} is not a map; allowed: ${DEFAULTS_KEYS.join(', ')}`);
  checkKeys(defaults, where, DEFAULTS_KEYS);
  return defaults;
}

/** Reads the settings of config.http that apply to each request. */
export function httpOf(
  config: Table,
  closed: boolean,
  env: NodeJS.ProcessEnv,
): { timeout: number; headers: Record<string, string> } {
  const http = (config.http ?? {}) as Table;
  if (http.maxSockets !== undefined) throw new OptionError('config.http has maxSockets; allowed: pool');
  checkKeys(http, 'config.http', HTTP_KEYS);
  if (http.pool !== undefined && !(Number.isInteger(Number(http.pool)) && Number(http.pool) > 0))
    throw new OptionError(
      `config.http.pool is ${JSON.stringify(http.pool)}; allowed: a number of connections, 1 or more`,
    );
  const defaults = defaultsOf(http.defaults, 'config.http.defaults');
  const others = defaultsOf(config.defaults, 'config.defaults');
  if (!closed && (defaults.cookie ?? others.cookie) !== undefined) {
    throw new OptionError('config.http.defaults has cookie; allowed: headers with Cookie');
  }
  if (http.distributedTracing && env.TRACES) {
    throw new OptionError(
      'config.http.distributedTracing and TRACES write the same header; allowed: one of them',
    );
  }
  const given = config.timeout ?? http.timeout ?? 10;
  const timeout = seconds(given);
  if (!(timeout > 0)) {
    const name = config.timeout === undefined ? 'config.http.timeout' : 'config.timeout';
    throw new OptionError(
      `${name} is ${JSON.stringify(given)}; allowed: a time above 0, like 10, 5s or 500ms`,
    );
  }
  return { timeout, headers: headersIn('config.http.defaults.headers', defaults.headers ?? others.headers) };
}

/** @throws {OptionError} for what no request can have */
export function headersIn(where: string, headers: unknown = {}): Record<string, string> {
  checkHeaders(headers, where);
  return headers as Record<string, string>;
}
