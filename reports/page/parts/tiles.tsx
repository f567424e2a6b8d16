import type { Run } from '../../contract/run.ts';
import { glued } from '../../format.ts';

/** The figures that matter most, each beside what it is to be held against. */
export function Tiles({ run: { facts } }: { run: Run }) {
  if (facts.tiles.length === 0) return null;
  return (
    <dl class="tiles">
      {facts.tiles.map(({ name, text, unit, note, doubt, worry, estimator }) => (
        <div key={name} title={estimator}>
          <dt>{name}</dt>
          <dd class={`${worry ? 'worry' : ''} ${doubt === '' ? '' : 'doubt'}`.trim()}>
            {text} {unit && <span class="unit">{unit}</span>}
          </dd>
          <dd class="note">{glued(note)}</dd>
        </div>
      ))}
    </dl>
  );
}
