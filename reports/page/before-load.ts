/** An image of one transparent pixel. */
const PIXEL = 'data:image/gif;base64,R0lGODlhAQABAIAAAP///wAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==';

/** How long a frame is waited for, ms: a browser that only prints may draw none. */
const FRAME = 50;

const waiting: (() => void)[] = [];
let running = false;
let begun = 0;
let drawn = false;

/**
 * Runs a task after what is there could be painted, and before the window's load event: a browser that only prints or photographs
 * a page does so at that event. The event waits for images, so one is loaded between two tasks. At once where the event has been.
 */
export function beforeLoad(task: () => void): void {
  if (document.readyState === 'complete') {
    task();
    return;
  }
  waiting.push(task);
  if (running) return;
  running = true;
  if (begun === 0) {
    begun = performance.now();
    // A browser that loads no images fires load before the tasks have run, so they run then.
    addEventListener('load', () => {
      for (const late of waiting.splice(0)) late();
    });
    requestAnimationFrame(() => {
      drawn = true;
    });
  }
  next();
}

/** Delays the load event until something has come to its end, as that event waits for no promise. */
export function holdLoad(end: Promise<void>): void {
  let ended = false;
  end.finally(() => {
    ended = true;
  });
  const hold = () => {
    if (ended) return;
    const image = new Image();
    image.onload = hold;
    image.src = PIXEL;
  };
  hold();
}

function next(): void {
  const image = new Image();
  image.onload = image.onerror = () => {
    if (!drawn && performance.now() - begun < FRAME) return next();
    const task = waiting.shift();
    running = task !== undefined;
    if (task === undefined) return;
    // The next image is asked for before the task, which may leave another one: the event has to wait for that too.
    next();
    task();
  };
  image.src = PIXEL;
}
