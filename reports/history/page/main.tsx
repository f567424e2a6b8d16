import { render } from 'preact';
import { List } from './list.tsx';
import { Live } from './live.tsx';

/** `/` is the list, `/live/<run>` a run in progress. */
const [, live] = location.pathname.match(/^\/live\/([^/]+)$/) ?? [];
render(
  live === undefined ? <List /> : <Live run={decodeURIComponent(live)} />,
  document.getElementById('report') as HTMLElement,
);
