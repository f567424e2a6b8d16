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

/** All pages have one shell, page/index.html. Paths are relative to it, or to this file for `outDir`. */
interface PageOptions {
  outDir: string;
  title: string;
  withoutScript: string;
  script: string;
  style: string;
  /** What it may load beside its own script and style. */
  loads: string[];
}

const PAGES: Record<string, PageOptions> = {
  production: {
    outDir: 'dist',
    title: 'Arrival report',
    withoutScript: 'This report needs JavaScript. All of its figures are in run.json beside it.',
    script: './main.tsx',
    style: './report.css',
    loads: [],
  },
  comparison: {
    outDir: 'dist/comparison',
    title: 'Arrival comparison',
    withoutScript: 'This comparison needs JavaScript. Its figures are in the run.json of each run.',
    script: '../comparison/page/main.tsx',
    style: '../comparison/page/comparison.css',
    loads: [],
  },
  history: {
    outDir: 'dist/history',
    title: 'Arrival runs',
    withoutScript: 'This list needs JavaScript. On the terminal: npm run report -- list',
    script: '../history/page/main.tsx',
    style: '../history/page/history.css',
    loads: ["connect-src 'self'"],
  },
};

export default defineConfig(({ mode }) => {
  const page = PAGES[mode];
  if (page === undefined) throw new Error(`there is no page ${mode}: ${Object.keys(PAGES).join(', ')}`);
  return config(page);
});

const config = ({ outDir, loads, ...page }: PageOptions): UserConfig => ({
  root: fileURLToPath(new URL('page', import.meta.url)),
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL(outDir, import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    sourcemap: false,
  },
  plugins: [shell(page), viteSingleFile(), contentSecurityPolicy(loads)],
});

/** Fills in what the pages' shell leaves open. */
function shell({ title, withoutScript, script, style }: Omit<PageOptions, 'outDir' | 'loads'>): Plugin {
  const words: Record<string, string> = {
    TITLE: title,
    WITHOUT_SCRIPT: withoutScript,
    SCRIPT: script,
    STYLE: style,
  };
  return {
    name: 'shell',
    transformIndexHtml: {
      order: 'pre',
      handler: (html) => html.replace(/%([A-Z_]+)%/g, (_, name) => words[name] ?? ''),
    },
  };
}

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
