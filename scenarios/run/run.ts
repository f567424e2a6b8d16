import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { commandOf } from '../../pipeline/shared/command.ts';
import { RunConfig, readConfig } from '../../pipeline/shared/config.ts';
import { isEntry } from '../../pipeline/shared/entry.ts';
import { printFolded } from '../../pipeline/shared/fold.ts';
import { trust } from '../../pipeline/shared/trust.ts';
import { shortPath } from '../../pipeline/stack/file.ts';
import type { Run } from '../../reports/contract/run.ts';
import { recover } from '../../reports/k6.ts';
import { against, exitCodeOf, runEnvironment, type SettledRun, settle } from './against.ts';
import { inRunDirectory, runName } from './directory.ts';
import { Instances, MOST, mergeInstances, newRunId, refuseParts, segmentsOf } from './instances.ts';
import { type IO, openPage, print, runProcess, warn } from './io.ts';
import { addressesOf, checkScript, isThere, K6Run, variablesOf, withoutVariables } from './k6.ts';
import { outputsOf } from './outputs.ts';
import { pipelineOf } from './pipeline-file.ts';
import { Progress, terminalOf } from './progress.ts';
import { countFlag, repeated } from './series.ts';
import { checkVariables, leaveOutIgnored, scenariosIn, sharedUsage, usageOf, variablesIn } from './usage.ts';

const ROOT = join(import.meta.dirname, '../..');

const HELP = `Runs a scenario against the pipeline and leaves a report in reports/runs/.

  npm run scenario -- scenarios/<script> [<k6 flags>]
  npm run ramp [-- <k6 flags>]               also smoke, sweep, fixed, spike, soak

  --repeat <n>      n runs, each from the start, a table with the spread of each figure, and a page that compares them
  --wide            adds each process's CPU to the table of phases, which then is wider than 100 characters
  --slowest <n>     the n slowest deliveries by id, with their stages
  --open            opens the report, or with --repeat the comparison, in the browser
  --pipeline <file> a pipeline of your own, by a file (npm run try -- <file> lets one message go round). -e stands before it;
                    a variable of the environment that says something else is refused
  --instances <n>   n k6 share the run by segments, and their runs are merged, as with n hosts

It uses the pipeline that \`npm run pipeline\` has up, else it starts one and stops it afterwards.
The exit code is 0 when the run passes and 99 when it does not, or another one of k6's own; scenarios/README.md has them.

Environment
  INGEST_URL, INGEST_TOKEN, MQTT_URL, REDIS_URL   a pipeline of your own: nothing is started
  MQTT_URL, REDIS_URL without INGEST_URL          servers of your own for the pipeline that is started
  TLS=true                                        the pipeline that is started speaks TLS
  TLS_CA                                          a file of authorities to trust for servers of your own, PEM
  CPU_AFFINITY          which CPUs k6 may run on, k6=1, and the processes of the pipeline that is started
  TOPOLOGY (single)     single, or cluster: nginx before several ingests; with INGEST_URL, any label
  NETWORK (loopback)    how the run is labelled
  NO_COLOR              any value: no colours
The pipeline that is started reads what \`npm run pipeline -- --help\` lists, like QUEUE and RELAY_WINDOW.
`;

/** The help of one scenario, or the list of all. */
function help(script: string | undefined): string {
  const shared = sharedUsage(script);
  if (script !== undefined && isThere(script)) return `${usageOf(script)}\n\n${HELP}\n${shared}`;
  return `${HELP}\n${shared}\nScenarios; --help after a script lists its settings\n${scenariosIn(join(ROOT, 'scenarios'))}\n`;
}

/** Runs a script, and returns the exit code of the command. */
export async function main(argv: readonly string[], env: NodeJS.ProcessEnv, io: IO): Promise<number> {
  const [script, ...given] = argv;
  if (script === undefined || [script, ...given].some((arg) => arg === '--help' || arg === '-h')) {
    printFolded(help([script, ...given].find((arg) => arg !== undefined && !arg.startsWith('-'))), io.stdout);
    return script === undefined ? 1 : 0;
  }
  const { count: times, args: once } = countFlag(
    '--repeat',
    20,
    given.filter((arg) => arg !== '--wide' && arg !== '--open'),
  );
  const { count: instances, args: whole } = countFlag('--instances', MOST, once);
  const asked = whole.some((arg) => arg.startsWith('--slowest'));
  const { count: slowest, args: more } = countFlag('--slowest', 100, whole);
  if (asked) env.ARRIVAL_SLOWEST = String(slowest);
  if (given.includes('--wide')) env.ARRIVAL_WIDE = 'true';
  const opens = given.includes('--open');
  const { args, settings } = await pipelineOf(script, more, env);
  checkVariables(script, args, { ...env, ...settings });
  leaveOutIgnored(script, env, io);
  const command = commandOf(script, given, env.npm_lifecycle_event, {
    env,
    names: variablesIn(script),
  });
  const each = { ...env }; // of several runs, each of which reads the file
  Object.assign(env, settings, variablesOf(args, {})); // k6 and the pipeline both read them
  if (instances > 1) refuseParts(args, env);
  const config = await settle(readConfig(RunConfig, env), env);
  // A pipeline that is started for samples traces one message in a hundred by default.
  if (env.SAMPLED === 'true') env.TRACE_LOG_EVERY ||= '100';
  if (times > 1) {
    const method = runName(script, config, new Date()).replace(/-.*/, '');
    return repeated(script, method, once, times, each, io, opens);
  }
  trust(config.TLS_CA);
  return inRunDirectory(env.RUN_DIR, runName(script, config, new Date()), async (runDir) => {
    const own = runEnvironment(config, env, runDir, command);
    const both = { command: env, k6: own };
    const code = await runScript(script, withoutVariables(args), instances, config, both, runDir, io);
    const page = join(runDir, 'index.html');
    if (opens && existsSync(page)) await openPage(page, env, io);
    return code;
  });
}

/** The address to which a pipeline on this host sends spans, for a run that listens there; undefined: the port is not known. */
function endpointOf(listen = ''): string | undefined {
  const [, host, port] = /^(.*):(\d+)$/.exec(listen) ?? [];
  if (port === undefined || Number(port) === 0) return undefined;
  return `http://${host || '127.0.0.1'}:${port}/v1/traces`;
}

/** @returns the exit code */
async function runScript(
  script: string,
  args: string[],
  instances: number,
  config: SettledRun,
  { command, k6: env }: { command: NodeJS.ProcessEnv; k6: NodeJS.ProcessEnv },
  runDir: string,
  io: IO,
): Promise<number> {
  // The last instance has the smallest share.
  const segment = instances > 1 ? segmentsOf(instances).at(-1) : undefined;
  const each = Array.from({ length: instances }, (_, i) =>
    instances === 1
      ? { args, env: {}, names: [] }
      : outputsOf(args, env, { name: `generator-${i + 1}`, port: i }),
  );
  const isArrival = await checkScript(
    script,
    args,
    { ...addressesOf(script, env), ...env, RUN_ID: newRunId() },
    segment,
  );
  // A pipeline that is started now reads it; k6's own copy, env, may name a collector, to which the run sends them on.
  const spans = endpointOf(env.SPANS);
  if (spans !== undefined) command.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = spans;
  // TRACES samples every request: spans of all would cost a pipeline more than the messages do.
  else if (Number(env.TRACES) > 0) command.OTEL_SDK_DISABLED ||= 'true';
  const shows = isArrival && !args.some((arg) => arg === '-q' || arg === '--quiet');

  const names = each.flatMap((one) => one.names);
  if (names.length > 0) print(io, `outputs  ${names.join(', ')}`);
  return against(config, command, io, async ({ launch }) => {
    const trusting = { ...env, ...authorities(config) };
    const progress = shows ? new Progress(runDir, terminalOf(io, env)) : undefined;
    const ended = await launch(() =>
      instances === 1
        ? new K6Run(script, args, trusting, shows ? 'script' : 'all', [], (line) => warn(io, line))
        : new Instances(script, trusting, each, io),
    ).finally(() => progress?.stop());
    const report = join(runDir, 'index.html');
    const passed = await (instances === 1 ? hasPassed(runDir) : mergeInstances(runDir));
    if (ended.signal !== null) {
      const left = existsSync(report) ? `its report is ${shortPath(report)}` : 'it left no report';
      warn(io, `k6 was killed by ${ended.signal}: the run is incomplete, ${left}`);
    }
    return exitCodeOf(ended) || (passed ? 0 : NOT_PASSED);
  });
}

/** k6's code for a crossed threshold: k6 may judge none, and does not know a merged run. */
const NOT_PASSED = 99;

/** Whether a run passes; true without run.json: another script, or one that keeps its run elsewhere, for which k6's code speaks. */
async function hasPassed(runDir: string): Promise<boolean> {
  await recover(runDir);
  const text = await readFile(join(runDir, 'run.json'), 'utf8').catch(() => undefined);
  return text === undefined || (JSON.parse(text) as Run).verdict.result === 'pass';
}

/**
 * The authority of our running pipeline, if it speaks TLS. k6's own modules trust it instead of the system's authorities.
 */
function authorities({ STACK_DIR, INGEST_URL, REDIS_URL, MQTT_URL }: RunConfig): NodeJS.ProcessEnv {
  const file = join(resolve(STACK_DIR), 'tls/ca.pem');
  const ours = INGEST_URL === undefined && REDIS_URL === undefined && MQTT_URL === undefined;
  return ours && existsSync(file) ? { SSL_CERT_FILE: file } : {};
}

if (isEntry(import.meta)) runProcess(main);
