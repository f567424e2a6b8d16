/**
 * `npm run setup`: makes a fresh machine ready, and does nothing on one that is. It runs before node_modules
 * exists, so it uses nothing but Node.
 *
 *     node pipeline/setup/main.mjs [--test] [--bench]
 *
 * npm packages as locked, what `npx artillery` runs, Redis and Mosquitto from the system's package manager (unless REDIS_URL, MQTT_URL or
 * INGEST_URL name others), with TOPOLOGY=cluster nginx, ./k6, and the report's pages. With --test also what only the tests
 * need: a browser, nginx, libfaketime, Toxiproxy and the check of manifests; with --bench what
 * `npm run bench` compares with: wrk.
 */
import { execFile } from 'node:child_process';
import {
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
import { promisify } from 'node:util';
import { aptScript, installCommand, isInstalled, neededPrograms, packagesFor } from './packages.mjs';
import { hashFiles, k6Sources, pageSources } from './sources.mjs';
import { locked, run, StepError, step } from './steps.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const purpose = { forTests: process.argv.includes('--test'), forBench: process.argv.includes('--bench') };
const at = (...path) => join(root, ...path);

const NPM_STAMP = at('node_modules/.arrival-lock.sha256');
const ARTILLERY = at('node_modules/.bin/artillery');
const PAGE_STAMP = at('reports/dist/sources.sha256');
const GO_MINOR = 25;

/** Each step: is there something to do, and how. In this order: the later need the earlier. */
const steps = [
  { name: 'npm packages', due: async () => isStale(), work: installNpmPackages },
  { name: 'npx artillery', due: async () => isStale() || !existsSync(ARTILLERY), work: linkArtillery },
  { name: 'servers and tools', due: async () => missingPrograms().length > 0, work: installPrograms },
  {
    name: 'k6 (the first build takes some minutes)',
    due: async () => (await builtK6()) !== k6Sources(root),
    work: buildK6,
  },
  ...(purpose.forTests
    ? [
        { name: 'Toxiproxy', due: async () => !isNew(TOXIPROXY, TOXIPROXY_MODULE), work: buildToxiproxy },
        { name: 'check of manifests', due: async () => !isNew(CHECK, CHECK_MODULE), work: buildCheck },
      ]
    : []),
  { name: 'report pages', due: async () => read(PAGE_STAMP) !== pageSources(root), work: buildPages },
];

async function main() {
  const [major] = process.versions.node.split('.').map(Number);
  if (major < 20) throw new StepError(`Node ${process.versions.node} is too old: 20 or newer is needed`);
  if (!isInstalled('git')) throw new StepError('git is not installed');
  await requireGo();

  const due = async () => {
    const answers = await Promise.all(steps.map((one) => one.due()));
    return steps.filter((_, i) => answers[i]);
  };
  if ((await due()).length === 0) {
    console.log('setup  nothing to do');
    return;
  }
  await locked(at('.stack/setup.pid'), async () => {
    // Another set-up may have done it meanwhile.
    for (const { name, work } of await due()) await step(name, work);
  });
}

async function requireGo() {
  let version;
  try {
    version = (await promisify(execFile)('go', ['version'])).stdout;
  } catch {
    throw new StepError(`Go is not installed: 1.${GO_MINOR} or newer is needed (https://go.dev/dl)`);
  }
  const [, major, minor] = /go(\d+)\.(\d+)/.exec(version) ?? [];
  if (Number(major) === 1 && Number(minor) < GO_MINOR) {
    throw new StepError(
      `Go ${major}.${minor} is too old: 1.${GO_MINOR} or newer is needed (https://go.dev/dl)`,
    );
  }
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

/** The variable of `cmd/k6` that holds the hash of its sources. */
const HASH = 'main.hash';

/** The sources that the binary says it was built from. */
async function builtK6() {
  if (!existsSync(at('k6'))) return undefined;
  try {
    const { stdout } = await promisify(execFile)('go', ['version', '-m', at('k6')]);
    return new RegExp(`${HASH}=([0-9a-f]{64})`).exec(stdout)?.[1];
  } catch {
    return undefined;
  }
}

async function buildK6() {
  const sources = k6Sources(root);
  const draft = at('.stack/k6.building');
  const args = ['build', '-buildvcs=false', '-ldflags', `-X ${HASH}=${sources}`, '-o', draft, './cmd/k6'];
  await run('go', args, { cwd: at('extensions/k6') });
  // In one step: a k6 that is running goes on with the file it has.
  renameSync(draft, at('k6'));
}

const TOXIPROXY = at('.stack/toxiproxy');
const TOXIPROXY_MODULE = at('scenarios/lab/proxy');

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
  await run('go', ['build', '-buildvcs=false', '-o', CHECK, '.'], { cwd: CHECK_MODULE });
}

/** As `npm run faults` does, which finds the modules fetched then. */
async function buildToxiproxy() {
  const source = 'github.com/Shopify/toxiproxy/v2/cmd/server';
  await run('go', ['build', '-buildvcs=false', '-o', TOXIPROXY, source], { cwd: TOXIPROXY_MODULE });
}

async function buildPages() {
  const sources = pageSources(root);
  const vite = at('node_modules/vite/bin/vite.js');
  // One after the other: the first one clears the folder.
  for (const mode of ['production', 'comparison', 'history']) {
    const args = [vite, 'build', '--config', 'reports/vite.config.ts', '--mode', mode];
    await run(at('node_modules/.bin/node'), args, { cwd: root });
  }
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
