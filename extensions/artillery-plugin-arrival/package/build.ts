/** Run by `npm pack`: bundles the plugin with its imports into dist/, and writes its types. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { build } from 'vite';

const PLUGIN = join(import.meta.dirname, '..');
const ROOT = join(PLUGIN, '../..');
const DIST = join(PLUGIN, 'dist');

await build({
  configFile: false,
  root: PLUGIN,
  logLevel: 'warn',
  ssr: { noExternal: true },
  build: {
    ssr: true,
    target: 'node22',
    outDir: DIST,
    emptyOutDir: true,
    minify: false,
    license: { fileName: 'LICENSES.md' },
    rolldownOptions: {
      input: ['index', 'alarm-thread'].map((name) => join(PLUGIN, `${name}.ts`)),
      output: { entryFileNames: '[name].js', chunkFileNames: '[name].js' },
    },
  },
});
// leash.ts runs it from its own folder.
copyFileSync(join(ROOT, 'pipeline/stack/leash.sh'), join(DIST, 'leash.sh'));
copyFileSync(join(ROOT, 'LICENSE'), join(PLUGIN, 'LICENSE'));

const types = mkdtempSync(join(tmpdir(), 'arrival-types-'));
try {
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  execFileSync(tsc, ['-p', import.meta.dirname, '--outDir', types], { stdio: 'inherit' });
  for (const name of ['index.d.ts', 'script.d.ts']) {
    const text = readFileSync(join(types, relative(ROOT, PLUGIN), name), 'utf8');
    writeFileSync(join(DIST, name), text.replaceAll(/(from '\.\/\w+)\.ts'/g, "$1.js'"));
  }
} finally {
  rmSync(types, { recursive: true });
}
