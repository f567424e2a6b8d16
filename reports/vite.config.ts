/**
 * Builds the report page into one file, reports/dist/index.html:
 *
 *     vite build --config reports/vite.config.ts
 */
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

export default defineConfig({
  root: fileURLToPath(new URL('page', import.meta.url)),
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('dist', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    sourcemap: false,
  },
  plugins: [viteSingleFile(), contentSecurityPolicy()],
});

/** Lets the page run its own script and style, by their hashes, and load nothing. */
function contentSecurityPolicy(): Plugin {
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
