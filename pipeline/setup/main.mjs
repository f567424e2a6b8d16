/**
 * `npm run setup`: makes a fresh machine ready, and does nothing on one that is. It runs before node_modules
 * exists, so it uses nothing but Node.
 *
 *     node pipeline/setup/main.mjs [--test] [--bench]
 *
 * npm packages as locked, what `npx artillery` runs, Redis and Mosquitto from the system's package manager (unless REDIS_URL, MQTT_URL or
 * INGEST_URL name others), with TOPOLOGY=cluster nginx, ./k6, and the report's pages. With --test also what only the tests
 * need: a browser, a C compiler, nginx, promtool, libfaketime, Toxiproxy, the check of manifests and what scenarios/pipelines need;
 * with --bench what `npm run bench` compares with: wrk.
 */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { aptScript, installCommand, isInstalled, neededPrograms, packagesFor } from './packages.mjs';
import { builtFrom, HASH, hashFiles, k6Sources, pageSources } from './sources.mjs';
import { buildGo, locked, run, StepError, step } from './steps.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const flags = process.argv.slice(2);
const purpose = { forTests: flags.includes('--test'), forBench: flags.includes('--bench') };
const at = (...path) => join(root, ...path);

const NPM_STAMP = at('node_modules/.arrival-lock.sha256');
const ARTILLERY = at('node_modules/.bin/artillery');
const PAGE_STAMP = at('reports/dist/sources.sha256');
const PAGE = at('reports/dist/index.html');
/** The same in the Go module, which is whole without Node: it is committed. */
const EMBEDDED_PAGE = at('extensions/k6/internal/render/page.gen.html');

/** Each step: is there something to do, and how. In this order: the later need the earlier. */
const steps = [
  { name: 'npm packages', due: isStale, work: installNpmPackages },
  // Few want it, and it takes no time.
  {
    name: 'npx artillery',
    silent: true,
    due: () => isStale() || !existsSync(ARTILLERY),
    work: linkArtillery,
  },
  { name: 'servers and tools', due: () => missingPrograms().length > 0, work: installPrograms },
  {
    name: 'report pages',
    due: () => read(PAGE_STAMP) !== pageSources(root) || read(PAGE) !== read(EMBEDDED_PAGE),
    work: buildPages,
  },
  {
    name: 'k6 (the first build takes some minutes)',
    due: () => builtFrom(at('k6')) !== k6Sources(root),
    work: buildK6,
  },
  ...(purpose.forTests
    ? [
        { name: 'Toxiproxy', due: () => !isNew(TOXIPROXY, TOXIPROXY_MODULE), work: buildToxiproxy },
        { name: 'check of manifests', due: () => !isNew(CHECK, CHECK_MODULE), work: buildCheck },
        { name: 'nats-server', due: () => !isNew(NATS, NATS_MODULE), work: buildNats },
        { name: 'Python packages', due: lacksPython, work: installPython },
        { name: 'BullMQ', due: lacksBullmq, work: installBullmq },
      ]
    : []),
];

async function main() {
  const [major] = process.versions.node.split('.').map(Number);
  if (major < 20) throw new StepError(`Node ${process.versions.node} is too old: 20 or newer is needed`);
  const unknown = flags.find((flag) => flag !== '--test' && flag !== '--bench');
  if (unknown !== undefined) throw new StepError(`${unknown} is not known; allowed: --test, --bench`);

  if (!steps.some(({ due }) => due())) {
    console.log('setup  nothing to do');
    return;
  }
  await locked(at('.stack/setup.pid'), async () => {
    // Another set-up may have done it meanwhile, and an earlier step may make a later one due: k6 holds the page.
    for (const { name, silent, due, work } of steps) if (due()) await (silent ? work() : step(name, work));
  });
}

/** Whether the npm packages are others than those that are locked. */
function isStale() {
  return read(NPM_STAMP) !== lockHash();
}

function lockHash() {
  return hashFiles(root, ['package-lock.json']);
}

async function installNpmPackages() {
  const env = {
    ...process.env,
    // npm removes node_modules first: it must not run on the Node that lies in there.
    PATH: (process.env.PATH ?? '')
      .split(delimiter)
      .filter((f) => !f.endsWith('node_modules/.bin'))
      .join(delimiter),
    // `npm run -s` would silence its errors too.
    npm_config_loglevel: 'warn',
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  };
  await run('npm', ['ci'], { cwd: root, env });
  writeFileSync(NPM_STAMP, lockHash());
}

/** Artillery itself is not among the packages: it is large, and few want it. */
function linkArtillery() {
  rmSync(ARTILLERY, { force: true });
  symlinkSync('../../scenarios/run/npx-artillery.ts', ARTILLERY);
}

function missingPrograms() {
  return neededPrograms(process.env, purpose).filter((program) => !isInstalled(program));
}

async function installPrograms() {
  const missing = missingPrograms();
  if (process.platform !== 'linux' || !isInstalled('apt-get')) {
    throw new StepError(`${missing.join(', ')} missing. Type: ${installCommand(missing)}`);
  }
  const script = aptScript(packagesFor(missing, 'debian'));
  const isRoot = process.getuid() === 0;
  if (!isRoot && !isInstalled('sudo')) {
    const packages = packagesFor(missing, 'debian').join(' ');
    throw new StepError(`${missing.join(', ')} missing. Type, as root: apt-get install ${packages}`);
  }
  await run(isRoot ? 'sh' : 'sudo', isRoot ? ['-c', script] : ['sh', '-c', script]);
  const still = missingPrograms();
  if (still.length > 0)
    throw new StepError(`apt-get succeeded, and yet these are missing: ${still.join(', ')}`);
}

async function buildK6() {
  const sources = k6Sources(root);
  const draft = at('.stack/k6.building');
  await buildGo(at('extensions/k6'), draft, './cmd/k6', ['-ldflags', `-X ${HASH}=${sources}`]);
  // The rename is atomic: a k6 that is running goes on with the file it has.
  renameSync(draft, at('k6'));
}

const TOXIPROXY = at('.stack/toxiproxy');
const TOXIPROXY_MODULE = at('pipeline/test/proxy');

/** Whether a program was built after all that is in the folder of its module. */
function isNew(program, module) {
  const built = statSync(program, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return readdirSync(module).every((file) => statSync(join(module, file)).mtimeMs < built);
}

const CHECK = at('.stack/deploy-check');
const CHECK_MODULE = at('pipeline/deploy/check');

/** What the manifests in pipeline/deploy are checked with. */
async function buildCheck() {
  // Go leaves a program as old as it is when nothing in it would change.
  rmSync(CHECK, { force: true });
  await buildGo(CHECK_MODULE, CHECK, '.');
}

/** Builds toxiproxy as `npm run faults` does, so that its modules are fetched already then. */
function buildToxiproxy() {
  return buildGo(TOXIPROXY_MODULE, TOXIPROXY, 'github.com/Shopify/toxiproxy/v2/cmd/server');
}

const NATS = at('.stack/nats-server');
const NATS_MODULE = at('scenarios/pipelines/nats');

async function buildNats() {
  rmSync(NATS, { force: true });
  await buildGo(NATS_MODULE, NATS, 'github.com/nats-io/nats-server/v2');
}

const PYTHON = at('.stack/python');
const PYTHON_STAMP = join(PYTHON, '.installed');
/** The pipeline's own, and OpenTelemetry beside it. */
const REQUIREMENTS = ['requirements.txt', 'opentelemetry.txt'].map((name) =>
  at('scenarios/pipelines/flask', name),
);

/** The tests of a pipeline in Python are skipped where there is no pip. */
function lacksPython() {
  if (read(PYTHON_STAMP) === REQUIREMENTS.map(read).join('')) return false;
  return spawnSync('python3', ['-m', 'pip', '--version']).status === 0;
}

async function installPython() {
  rmSync(PYTHON, { recursive: true, force: true });
  const files = REQUIREMENTS.flatMap((path) => ['-r', path]);
  await run('python3', ['-m', 'pip', 'install', '-q', '--target', PYTHON, ...files]);
  writeFileSync(PYTHON_STAMP, REQUIREMENTS.map(read).join(''));
}

const BULLMQ = at('scenarios/pipelines/bullmq');
const BULLMQ_LOCK = join(BULLMQ, 'package-lock.json');
const BULLMQ_STAMP = join(BULLMQ, 'node_modules/.installed');

function lacksBullmq() {
  return read(BULLMQ_STAMP) !== read(BULLMQ_LOCK);
}

async function installBullmq() {
  await run('npm', ['ci', '--ignore-scripts'], { cwd: BULLMQ });
  copyFileSync(BULLMQ_LOCK, BULLMQ_STAMP);
}

async function buildPages() {
  const sources = pageSources(root);
  const vite = at('node_modules/vite/bin/vite.js');
  // One after the other: the first one clears the folder.
  for (const mode of ['production', 'comparison', 'referee', 'history']) {
    const args = [vite, 'build', '--config', 'reports/vite.config.ts', '--mode', mode];
    await run(at('node_modules/.bin/node'), args, { cwd: root });
  }
  if (read(PAGE) !== read(EMBEDDED_PAGE)) copyFileSync(PAGE, EMBEDDED_PAGE);
  writeFileSync(PAGE_STAMP, sources);
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

main().catch((error) => {
  if (!(error instanceof StepError)) throw error;
  if (error.output) console.error(error.output);
  console.error(`setup  ${error.message}`);
  process.exit(1);
});
