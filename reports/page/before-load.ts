/** An image of one transparent pixel. */
const PIXEL = 'data:image/gif;base64,R0lGODlhAQABAIAAAP///wAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==';

const waiting: (() => void)[] = [];
let running = false;

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
  next();
}

function next(): void {
  const image = new Image();
  image.onload = image.onerror = () => {
    const task = waiting.shift();
    running = task !== undefined;
    if (task === undefined) return;
    // The next image is asked for before the task, which may leave another one: the event has to wait for that too.
    next();
    task();
  };
  image.src = PIXEL;
}

// Where the reader's browser loads no images, the event is not late, and the tasks are.
addEventListener('load', () => {
  for (const task of waiting.splice(0)) task();
});
