/**
 * Builds one of the pages into one file each:
 *
 *     vite build --config reports/vite.config.ts                      reports/dist/index.html, of a run
 *     vite build --config reports/vite.config.ts --mode comparison    reports/dist/comparison/index.html
 *     vite build --config reports/vite.config.ts --mode history       reports/dist/history/index.html
 */
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin, type UserConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

/** Where the page's sources lie, where it goes, and what it may load beside its own script and style. */
const PAGES: Record<string, { root: string; outDir: string; loads: string[] }> = {
  production: { root: 'page', outDir: 'dist', loads: [] },
  comparison: { root: 'comparison/page', outDir: 'dist/comparison', loads: [] },
  history: { root: 'history/page', outDir: 'dist/history', loads: ["connect-src 'self'"] },
};

export default defineConfig(({ mode }) => {
  const page = PAGES[mode];
  if (page === undefined) throw new Error(`there is no page ${mode}: ${Object.keys(PAGES).join(', ')}`);
  return config(page);
});

const config = ({ root, outDir, loads }: (typeof PAGES)[string]): UserConfig => ({
  root: fileURLToPath(new URL(root, import.meta.url)),
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL(outDir, import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    sourcemap: false,
  },
  plugins: [viteSingleFile(), contentSecurityPolicy(loads)],
});

/** Lets the page run its own script and style, by their hashes, and load nothing else than it says. */
function contentSecurityPolicy(loads: readonly string[]): Plugin {
  const hashes = (html: string, element: RegExp) =>
    [...html.matchAll(element)]
      .map(
        ([, content]) =>
          `'sha256-${createHash('sha256')
            .update(content ?? '')
            .digest('base64')}'`,
      )
      .join(' ');
  return {
    name: 'content-security-policy',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        const page = bundle['index.html'];
        if (page?.type !== 'asset') throw new Error('index.html was not built');
        const html = String(page.source);
        const policy = [
          "default-src 'none'",
          `script-src ${hashes(html, /<script type="module"[^>]*>(.*?)<\/script>/gs)}`,
          `style-src ${hashes(html, /<style[^>]*>(.*?)<\/style>/gs)}`,
          'img-src data:',
          ...loads,
          "base-uri 'none'",
          "form-action 'none'",
        ].join('; ');
        page.source = html.replace(
          '<meta charset="utf-8">',
          (meta) => `${meta}\n<meta http-equiv="Content-Security-Policy" content="${policy}">`,
        );
      },
    },
  };
}
