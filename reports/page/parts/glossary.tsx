import { Facts } from '../table.tsx';

/** The words of the page, for readers who have nothing but the page. */
const WORDS: [word: string, meaning: string][] = [
  ['account', 'how every message that was due ended; the ends add up to what was scheduled'],
  ['arrival latency', 'from the time a message was due until it arrived at a subscriber'],
  ['backlog', 'deliveries of accepted messages that have not arrived'],
  ['canary', 'one message a second on a connection of its own, beside the load'],
  ['clock bound', 'the most by which the clocks of two processes can disagree'],
  ['closed model', 'a number of VUs, each of which sends its next request after the last answer'],
  ['delivery', 'one message at one subscriber'],
  ['drain', 'the time after the load, in which the rest arrives'],
  ['due', 'when a message is to be sent, by the profile'],
  ['flow', 'a kind of message in the profile, with its share of the load'],
  ['instance', 'one of several k6 processes of a run'],
  ['knee', 'the last concurrency before arrival p50 stays above 5 times its lowest'],
  ['lateness', 'from the time a message was due until the generator sent it'],
  ['lost', 'accepted, never arrived, and neither in the queue nor a dead letter'],
  ['measured phase', 'a phase whose latencies count; a warm-up is not measured'],
  ['p99', '99 % of the deliveries took no longer'],
  ['rate held', 'accepted and arrived for 5 s with p99 below the limit, and nothing refused or lost'],
  [
    'stage',
    'a part of the way of a message, between two of its stamps; the stages add up to the arrival latency',
  ],
  ['target', 'a message’s recipient'],
  ['unknown', 'the request ended without a known result, and the message never arrived'],
  ['VU', 'virtual user: a sender of the generator'],
];

export function Glossary() {
  return (
    <div class="glossary">
      <h3>Glossary</h3>
      <Facts facts={WORDS} />
    </div>
  );
}
