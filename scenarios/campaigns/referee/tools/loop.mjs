// The known-bad one: a closed loop, as it is often written. Usage: loop.mjs URL SECONDS TIMEOUT
import http from 'node:http';

const [url, seconds, timeout] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true });
const times = [];
let failed = 0;
const end = performance.now() + 1000 * seconds;
while (performance.now() < end) {
  const start = performance.now();
  await new Promise((resolve) => {
    const request = http.get(url, { agent, timeout: 1000 * timeout }, (answer) =>
      answer.resume().on('end', resolve),
    );
    request.on('timeout', () => request.destroy()).on('close', resolve);
    request.on('error', () => failed++);
  });
  times.push(performance.now() - start);
}
agent.destroy();
times.sort((a, b) => a - b);
const at = (q) => times[Math.ceil(q * times.length) - 1];
const [p50_ms, p90_ms, p99_ms, p999_ms, max_ms] = [0.5, 0.9, 0.99, 0.999, 1].map(at);
console.log(JSON.stringify({ p50_ms, p90_ms, p99_ms, p999_ms, max_ms, done: times.length - failed, failed }));
