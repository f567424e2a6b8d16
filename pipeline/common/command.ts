/** The command that does a run again. */
import { IngestConfig, RelayConfig, RunConfig, StackConfig } from './config.ts';

/** What the pipeline reads of the environment. */
export const SETTINGS = [RunConfig, StackConfig, IngestConfig, RelayConfig].flatMap(({ properties }) =>
  Object.keys(properties),
);
/** Made anew for each run, or the machine's own. */
export const NOT_TOLD = new Set(['ARRIVAL_COMMAND', 'PROCESS_NAME', 'RUN_DIR', 'RUN_ID', 'SSL_CERT_FILE']);
/** The npm script that runs any scenario. */
const SCENARIO = 'scenario';
/** A variable whose name says that its value is secret, as k6's -e and --env take it. k6's extension has the same. */
const SECRET_VARIABLE =
  /^((?:--env=|-e)?\w*(?:TOKEN|PASS|SECRET|CREDENTIAL|API_?KEY|AUTH|HEADER|_URL)\w*=).*/is;

export interface CommandEnvironment {
  env: NodeJS.ProcessEnv;
  /** What it reads of the environment, beside what the pipeline does. */
  names?: readonly string[];
}

/**
 * What a person types to do this run again, with the settings that came by the environment; what may be secret is left out.
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
  const settings = known.flatMap((name) =>
    env[name] && !NOT_TOLD.has(name) ? [`${name}=${env[name]}`] : [],
  );
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
  return text.replace(SECRET_VARIABLE, '$1…').replace(/:\/\/[^/\s]*@/g, '://…@');
}

function word(text: string): string {
  return quoted(masked(text));
}

/** A shell takes a quoted name for a command. */
function assignment(text: string): string {
  const [name, value = ''] = masked(text).split(/=(.*)/s, 2);
  return `${name}=${quoted(value)}`;
}

function quoted(text: string): string {
  return /^[\w@%+=:,./…-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
