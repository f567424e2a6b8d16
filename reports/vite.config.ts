/**
 * Builds one of the pages into one file each:
 *
 *     vite build --config reports/vite.config.ts                      reports/dist/index.html, of a run
 *     vite build --config reports/vite.config.ts --mode comparison    reports/dist/comparison/index.html
 *     vite build --config reports/vite.config.ts --mode referee       reports/dist/referee/index.html
 *     vite build --config reports/vite.config.ts --mode history       reports/dist/history/index.html
 */
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin, type UserConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

interface PageOptions {
  title: string;
  withoutScript: string;
  /** Further sources that the page may load. */
  loads?: string;
}

const PAGES: Record<string, PageOptions> = {
  production: {
    title: 'Arrival report',
    withoutScript: 'The charts of this report need JavaScript. All of its figures are in run.json beside it.',
  },
  comparison: {
    title: 'Arrival comparison',
    withoutScript: 'This comparison needs JavaScript. Its figures are in the run.json of each run.',
  },
  referee: {
    title: 'Arrival referee',
    withoutScript: 'This page needs JavaScript. Its figures are in referee.json beside it.',
  },
  history: {
    title: 'Arrival runs',
    withoutScript: 'This list needs JavaScript. On the terminal: npm run report -- list',
    loads: "connect-src 'self'",
  },
};

export default defineConfig(({ mode }) => {
  const page = PAGES[mode];
  if (page === undefined) throw new Error(`there is no page ${mode}: ${Object.keys(PAGES).join(', ')}`);
  return config(mode, page);
});

/** All pages share the shell page/index.html; scripts and styles are relative to it. */
function config(mode: string, { title, withoutScript, loads }: PageOptions): UserConfig {
  const report = mode === 'production';
  const words: Record<string, string> = {
    TITLE: title,
    WITHOUT_SCRIPT: withoutScript,
    SCRIPT: report ? './main.tsx' : `../${mode}/page/main.tsx`,
    STYLE: report ? './report.css' : `../${mode}/page/${mode}.css`,
  };
  return {
    root: fileURLToPath(new URL('page', import.meta.url)),
    logLevel: 'warn',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir: fileURLToPath(new URL(report ? 'dist' : `dist/${mode}`, import.meta.url)),
      emptyOutDir: true,
      target: 'es2022',
      modulePreload: false,
      sourcemap: false,
    },
    plugins: [shell(words), viteSingleFile(), contentSecurityPolicy(loads)],
  };
}

/** Fills in the placeholders of the shell. */
function shell(words: Record<string, string>): Plugin {
  return {
    name: 'shell',
    transformIndexHtml: {
      order: 'pre',
      handler: (html) => html.replace(/%([A-Z_]+)%/g, (_, name) => words[name] ?? ''),
    },
  };
}

/** Allows the page its own script and style, by their hashes, and the sources in `loads`. */
function contentSecurityPolicy(loads: string | undefined): Plugin {
  const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const hashes = (html: string, element: RegExp) =>
    [...html.matchAll(element)].map(([, content = '']) => hashOf(content)).join(' ');
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
          ...(loads === undefined ? [] : [loads]),
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
