/**
 * `npm run release`: packs artillery-plugin-arrival, and its recorder as one package for each platform (npm installs the one whose `os`
 * and `cpu` fit). publint and arethetypeswrong check the plugin's; what they find ends it.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ConfigError } from '../../../pipeline/shared/config.ts';
import { readFlags } from '../../../pipeline/shared/flags.ts';
import { printFolded } from '../../../pipeline/shared/fold.ts';
import { exitAfter } from '../../../pipeline/stack/explain.ts';
import manifest from '../package.json' with { type: 'json' };

const PLUGIN = join(import.meta.dirname, '..');
const ROOT = join(PLUGIN, '../..');
const USAGE = `Packs artillery-plugin-arrival and its recorder for npm, checks the plugin, and publishes nothing.

  npm run release -- [--to <folder>] [<platform>=<k6> …]

  --to <folder>  of the packages (.stack/packages)

Without a platform it packs ./k6 for this one. A k6 for others is built with CGO_ENABLED=0 GOOS=… GOARCH=… go build ./cmd/k6.`;

async function main(): Promise<number> {
  const flags = { to: { type: 'string', default: join(ROOT, '.stack/packages') } } as const;
  const { values, positionals } = readFlags(process.argv.slice(2), flags, true);
  if (values.help) {
    printFolded(USAGE);
    return 0;
  }
  const to = resolve(values.to);
  mkdirSync(to, { recursive: true });
  const recorders = positionals.length > 0 ? positionals : [`${process.platform}-${process.arch}=${ROOT}/k6`];
  for (const recorder of recorders) packRecorder(to, ...(recorder.split('=', 2) as [string, string]));
  const plugin = pack(to, PLUGIN);
  npx('publint@0.3.25', 'run', plugin, '--strict');
  // Without require(): the package is ESM, and Artillery imports it.
  npx('@arethetypeswrong/cli@0.18.5', plugin, '--profile', 'esm-only');
  return 0;
}

exitAfter(main());

function packRecorder(to: string, platform: string, k6: string): void {
  const name = `@arrival-bench/k6-${platform}`;
  if (!(name in manifest.optionalDependencies))
    throw new ConfigError(
      `${name} is not an optional dependency of the plugin; allowed: those of its package.json`,
    );
  const [os, cpu] = platform.split('-');
  const { version, homepage, repository, bugs } = manifest;
  const folder = mkdtempSync(join(tmpdir(), 'arrival-recorder-'));
  try {
    const description = `k6 with the extension k6/x/arrival for ${platform}, the recorder of artillery-plugin-arrival`;
    const license = 'AGPL-3.0-only';
    const text = {
      name,
      version,
      description,
      keywords: ['k6', 'artillery-plugin-arrival', 'load-testing'],
      homepage,
      repository,
      bugs,
      license,
      os: [os],
      cpu: [cpu],
      files: ['k6'],
      preferUnplugged: true, // Yarn: a program does not run out of an archive
      publishConfig: { access: 'public' }, // a scope's packages are private by default
    };
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(text, null, 2)}\n`);
    writeFileSync(
      join(folder, 'README.md'),
      `# ${name}\n\n${description}. Its sources: ${homepage}, and https://github.com/grafana/k6.\n`,
    );
    // The AGPL requires its text beside the binary.
    const find = ['list', '-m', '-f', '{{.Dir}}', 'go.k6.io/k6/v2'];
    const module = execFileSync('go', find, { cwd: join(ROOT, 'extensions/k6'), encoding: 'utf8' }).trim();
    copyFileSync(join(module, 'LICENSE.md'), join(folder, 'LICENSE.md'));
    copyFileSync(k6, join(folder, 'k6'));
    pack(to, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function pack(to: string, folder: string): string {
  const args = ['pack', '--silent', '--pack-destination', to];
  const tarball = join(to, execFileSync('npm', args, { cwd: folder, encoding: 'utf8' }).trim());
  console.log(`packed  ${tarball}`);
  return tarball;
}

function npx(tool: string, ...args: string[]): void {
  execFileSync('npx', ['--yes', tool, ...args], { stdio: 'inherit' });
}
