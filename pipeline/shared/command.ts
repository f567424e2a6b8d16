/** The command that repeats a run. */
import { IngestConfig, RelayConfig, RunConfig, StackConfig } from './config.ts';

/** Variables of the environment that the pipeline reads. */
export const SETTINGS = [RunConfig, StackConfig, IngestConfig, RelayConfig].flatMap(({ properties }) =>
  Object.keys(properties),
);
/** Variables of one run or one machine, which a command leaves out. */
export const OMITTED = new Set(['ARRIVAL_COMMAND', 'PROCESS_NAME', 'RUN_DIR', 'RUN_ID', 'SSL_CERT_FILE']);
/** The npm script that runs any scenario. */
const SCENARIO = 'scenario';
/** Names of secret variables, in k6's -e and --env too. k6's extension has the same. */
const SECRET_VARIABLE =
  /^((?:--env=|-e=?)?(?:\w*(?:TOKEN|PASS|SECRET|CREDENTIAL|API_?KEY|AUTH|HEADER|_URL|_SEND)\w*|BODY)=).*/is;
/** A path with its query, whose values may be secret. */
const WITH_QUERY = /^([^?]*\/[^?]*\?)(.*)$/s;

interface CommandEnvironment {
  env: NodeJS.ProcessEnv;
  /** Variables that it reads beside the pipeline's. */
  names?: readonly string[];
}

/**
 * The command that repeats this run, with the settings of the environment but without secrets.
 * @param script empty: none
 * @param npmScript undefined: it was run without npm
 */
export function commandOf(
  script: string,
  args: readonly string[],
  npmScript: string | undefined,
  { env, names = [] }: CommandEnvironment = { env: process.env },
): string {
  const known = [...new Set([...SETTINGS, ...names])].sort();
  const settings = known.flatMap((name) => (env[name] && !OMITTED.has(name) ? [`${name}=${env[name]}`] : []));
  const scenario = npmScript === undefined || npmScript === SCENARIO;
  const words = scenario ? [script, ...args] : args;
  const command = [
    'npm',
    'run',
    scenario ? SCENARIO : npmScript,
    ...(words.length > 0 ? ['--', ...words] : []),
  ];
  return [...settings.map(assignment), ...command.map(word)].join(' ');
}

function masked(text: string): string {
  const shown = text.replace(SECRET_VARIABLE, '$1…').replace(/:\/\/[^/\s]*@/g, '://…@');
  return shown.replace(
    WITH_QUERY,
    (_, path: string, query: string) => path + query.replace(/(^|&)([^=&]*=)?[^&]*/g, '$1$2…'),
  );
}

function word(text: string): string {
  return quoted(masked(text));
}

/** An assignment for a shell, with the value quoted: a shell takes a quoted name for a command. */
function assignment(text: string): string {
  const [name, value = ''] = masked(text).split(/=(.*)/s, 2);
  return `${name}=${quoted(value)}`;
}

function quoted(text: string): string {
  return /^[\w@%+=:,./…-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
