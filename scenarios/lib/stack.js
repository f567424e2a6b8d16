// What is known of the pipeline that `npm run pipeline` has up.

/** A path as k6's open() takes it, which decodes no URL: an absolute one as it is, any other seen from `base`. */
export function at(base, path) {
  if (path.startsWith('/')) return path;
  return decodeURIComponent(import.meta.resolve(`${base}/`).slice('file://'.length)) + path;
}

/** What `npm run pipeline` wrote; empty when it is not up. */
export function readStack() {
  const path = at('../..', `${__ENV.STACK_DIR || '.stack'}/stack.json`);
  let text;
  try {
    text = open(path);
  } catch (error) {
    if (/no such file|does not exist|cannot find/.test(String(error))) return {};
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON: ${error.message}; it is what the pipeline writes when it starts`);
  }
}
